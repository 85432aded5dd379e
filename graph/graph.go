package graph

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

// Kind is the kind of a node.
type Kind string

// The kinds of nodes.
const (
	KindArm        Kind = "arm"
	KindRun        Kind = "run"
	KindTurn       Kind = "turn"
	KindText       Kind = "text"
	KindThinking   Kind = "thinking"
	KindCall       Kind = "call"
	KindApproval   Kind = "approval"
	KindSuspension Kind = "suspension"
	KindFile       Kind = "file"
	KindSubagent   Kind = "subagent"
	KindShell      Kind = "shell" // a command that the user gave to the shell
)

// EdgeKind is the kind of an edge. The package comment explains each kind.
type EdgeKind string

// The kinds of edges.
const (
	EdgeParent   EdgeKind = "parent"
	EdgeCaused   EdgeKind = "caused"
	EdgeAnswered EdgeKind = "answered"
	EdgeChanged  EdgeKind = "changed"
)

// Match is how an approval was matched with a call.
type Match string

// These are the ways to match an approval with a call. Matching is necessary because no event names
// the call of an approval.
const (
	MatchSubject Match = "subject" // the dialog showed the command or the file of the call
	MatchOrder   Match = "order"   // the call is the oldest undecided call of the run; the match can be wrong
)

// Graph is the graph of a log. The zero Graph is the graph of an empty log. A Graph
// never changes, and can be copied.
type Graph struct {
	nodes     tree[*Node]
	edges     tree[*Edge]
	runs      tree[*runState]
	open      tree[string] // the newest open run of each arm
	logs      tree[uint64] // the last sequence number of each host and epoch
	madeCount int          // how many nodes and edges have been made
}

// Node is a node of a graph. Only the pointer for the node's kind can be set.
type Node struct {
	ID     string       `json:"id"`
	Kind   Kind         `json:"kind"`
	Run    string       `json:"run,omitempty"`
	Arm    string       `json:"arm"`
	Turn   int          `json:"turn,omitempty"`
	Start  time.Time    `json:"start"`
	End    time.Time    `json:"end,omitzero"` // when the node ended; zero if it has not ended
	Source coleo.Source `json:"source,omitempty"`
	Event  Key          `json:"event"` // the event that created the node

	Prompt     *Prompt     `json:"prompt,omitempty"` // of a run
	Text       *Text       `json:"text,omitempty"`   // set only in a node of the kind text or thinking
	Call       *Call       `json:"call,omitempty"`
	Approval   *Approval   `json:"approval,omitempty"`
	Suspension *OpenDialog `json:"suspension,omitempty"`
	Path       string      `json:"path,omitempty"` // the path of a file as the model gave it; only for a file
	Subagent   *Subagent   `json:"subagent,omitempty"`
	Shell      *Shell      `json:"shell,omitempty"`
	Model      string      `json:"model,omitempty"` // of a turn

	number int
}

// Key identifies an event.
type Key struct {
	Host  string `json:"host"`
	Epoch string `json:"epoch,omitempty"`
	Seq   uint64 `json:"seq"`
}

// Prompt describes the prompt of a run, and how the run ended.
type Prompt struct {
	Text    string        `json:"text"`
	Origin  coleo.Origin  `json:"origin,omitempty"`
	Offset  int64         `json:"offset"` // the byte offset in the terminal's recording, just before the prompt was typed
	Outcome coleo.Outcome `json:"outcome,omitempty"`
	Answer  string        `json:"answer,omitempty"`
	Orphans []string      `json:"orphans,omitempty"` // ids of the nodes of calls that have no end
	Usage   *coleo.Usage  `json:"usage,omitempty"`   // the tokens of all replies of the run
	Errors  []string      `json:"errors,omitempty"`  // the last errors that the agent CLI has reported, oldest first
	// Foreign means that no event of this run is in the graph. The run has a node only because
	// another run names it as its parent.
	Foreign bool `json:"foreign,omitempty"`
}

// Text is a text that the model has written. The agent CLI reports it in pieces.
type Text struct {
	Text      string `json:"text"` // the whole text; only Document, Nodes and Node set it
	Pieces    int    `json:"pieces"`
	Done      bool   `json:"done"`
	Truncated bool   `json:"truncated,omitempty"`

	last *piece
}

// piece is one piece of a text, with a pointer to the piece before it.
type piece struct {
	text   string
	before *piece
}

func (p *piece) whole() string {
	var parts []string
	for ; p != nil; p = p.before {
		parts = append(parts, p.text)
	}
	slices.Reverse(parts)
	return strings.Join(parts, "")
}

// Call is a tool call.
type Call struct {
	Name    string         `json:"name"`
	Kind    coleo.ToolKind `json:"kind,omitempty"`
	Command string         `json:"command,omitempty"`
	Files   []string       `json:"files,omitempty"`
	// Arguments are the arguments of the call. If the arguments are malformed, the value is an
	// object with the fields __toolParseError, parseError and rawArguments.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Malformed bool            `json:"malformed,omitempty"`
	Result    *Result         `json:"result,omitempty"`   // how the call ended; nil if it has no end
	Progress  int             `json:"progress,omitempty"` // size of the output before the call ended, in bytes
	// Orphan means that the run has ended, but the call has not.
	Orphan bool `json:"orphan,omitempty"`
}

// Result is how a call ended.
type Result struct {
	Status    coleo.ToolOutcome `json:"status"`
	Reason    string            `json:"reason,omitempty"` // with status denied
	Error     string            `json:"error,omitempty"`  // with status error
	ExitCode  *int              `json:"exit_code,omitempty"`
	Output    string            `json:"output,omitempty"` // at most MaxOutput bytes; the event contains all of it
	Truncated bool              `json:"truncated,omitempty"`
}

// MaxOutput is the largest size of a call's output in a graph, in bytes. It is small because a run
// can have 100,000 calls, and the events contain the whole output.
const MaxOutput = 2 << 10

// MaxArguments is the largest size in bytes of a call's arguments in a graph. Longer arguments are
// left out, because the event contains them.
const MaxArguments = 16 << 10

// Approval describes how a dialog was answered.
type Approval struct {
	Kind        coleo.DialogKind  `json:"kind,omitempty"`
	Title       string            `json:"title"`
	Subject     string            `json:"subject,omitempty"`
	Truncated   bool              `json:"truncated,omitempty"`
	Fingerprint coleo.Fingerprint `json:"fingerprint,omitempty"`
	Choice      coleo.Choice      `json:"choice"`
	Words       string            `json:"words,omitempty"`
	Policy      string            `json:"policy,omitempty"` // the rule of the policy that answered; "" for a person
	Call        string            `json:"call,omitempty"`   // id of the node of the decided call
	Matched     Match             `json:"matched,omitempty"`
}

// OpenDialog is a dialog that a run waits for.
type OpenDialog struct {
	Kind        coleo.DialogKind  `json:"kind,omitempty"`
	Title       string            `json:"title"`
	Subject     string            `json:"subject,omitempty"`
	Options     []string          `json:"options,omitempty"`
	Fingerprint coleo.Fingerprint `json:"fingerprint,omitempty"`
	// Answered means that Coleo has answered the dialog. A dialog can also end without an answer
	// from Coleo: a person answered it by hand, or the agent CLI withdrew it.
	Answered bool `json:"answered"`
}

// Subagent is a subagent of a run. Its own work is not in the graph.
type Subagent struct {
	Type    string            `json:"type,omitempty"`
	Task    string            `json:"task,omitempty"`
	Outcome coleo.ToolOutcome `json:"outcome,omitempty"` // "" if the subagent has not ended
}

// Shell is a command that the user gave directly to the shell, and not to the model.
type Shell struct {
	Command   string `json:"command"`
	Progress  int    `json:"progress,omitempty"` // size of the output before the command ended, in bytes
	Done      bool   `json:"done"`
	Output    string `json:"output,omitempty"` // at most MaxOutput bytes
	Errors    string `json:"errors,omitempty"` // at most MaxOutput bytes
	ExitCode  *int   `json:"exit_code,omitempty"`
	Millis    int64  `json:"duration_ms,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// Edge connects two nodes.
type Edge struct {
	Kind    EdgeKind `json:"kind"`
	From    string   `json:"from"` // the id of a node
	To      string   `json:"to"`   // the id of a node
	Matched Match    `json:"matched,omitempty"`

	number int
}

// Document is the JSON form of a graph. The nodes and edges are in the order of the events that
// created them.
type Document struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
	// Partial means that only a part of the log's events was read.
	Partial bool `json:"partial,omitempty"`
}

// Document returns the nodes and edges of a graph. A caller may change the lists and the nodes, but
// not the data behind the pointers in the nodes.
func (g Graph) Document() Document {
	d := Document{Nodes: make([]Node, 0, g.nodes.size), Edges: make([]Edge, 0, g.edges.size)}
	for _, n := range g.nodes.sortedEntries() {
		d.Nodes = append(d.Nodes, n.withFullText())
	}
	for _, e := range g.edges.sortedEntries() {
		d.Edges = append(d.Edges, *e)
	}
	slices.SortFunc(d.Nodes, func(a, b Node) int { return a.number - b.number })
	slices.SortFunc(d.Edges, func(a, b Edge) int { return a.number - b.number })
	return d
}

// MarshalJSON returns the JSON of g's Document.
func (g Graph) MarshalJSON() ([]byte, error) { return json.Marshal(g.Document()) }

// Node returns the node with the given id, or false if there is no such node.
func (g Graph) Node(id string) (Node, bool) {
	n, ok := g.nodes.get(id)
	if !ok {
		return Node{}, false
	}
	return n.withFullText(), true
}

// withFullText returns a copy of the node with the whole text.
func (n *Node) withFullText() Node {
	out := *n
	if n.Text != nil {
		text := *n.Text
		text.Text, text.last = n.Text.last.whole(), nil
		out.Text = &text
	}
	return out
}

// Of returns the part of g that belongs to one run: the run's nodes, its arm and its parent run.
func (g Graph) Of(run string) Graph {
	out := Graph{madeCount: g.madeCount, logs: g.logs}
	state, ok := g.runs.get(run)
	if !ok {
		return out
	}
	out.runs = out.runs.with(run, state)
	for id, n := range g.nodes.sortedEntries() {
		if n.Run == run {
			out.nodes = out.nodes.with(id, n)
		}
	}
	for _, id := range []string{state.armNode, state.parentNode} {
		if n, ok := g.nodes.get(id); ok {
			out.nodes = out.nodes.with(id, n)
		}
	}
	for key, e := range g.edges.sortedEntries() {
		_, from := out.nodes.get(e.From)
		if _, to := out.nodes.get(e.To); from && to {
			out.edges = out.edges.with(key, e)
		}
	}
	return out
}
