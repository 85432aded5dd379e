package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"coleo.dev"
)

// work adds the data of an event of work. The event must belong to a run.
func (w *writer) work() {
	if w.e.Kind == coleo.EventTurn {
		w.turn()
		return
	}
	if len(w.e.Payload) == 0 {
		w.fault("the payload of %s is missing or unreadable", w.e.Kind)
		return
	}
	work, err := coleo.DecodeWork(w.e)
	if err != nil {
		w.fault("the payload of %s is missing or unreadable", w.e.Kind)
		return
	}
	if w.e.Turn > 0 {
		w.turnNode() // create the turn's node before the nodes in it, so that the turn gets its id first
	}
	switch work := work.(type) {
	case coleo.AssistantText:
		w.text(KindText, work.Block)
	case coleo.Thinking:
		w.text(KindThinking, work.Block)
	case coleo.ToolCall:
		w.call(work)
	case coleo.ToolProgress:
		if id, ok := w.begunCall(work.ID); ok {
			w.change(id, func(n *Node) { n.Call.Progress += len(work.Output) })
		}
	case coleo.ToolEnd:
		w.callEnd(work)
	case coleo.SubagentStart:
		w.subagent(work)
	case coleo.SubagentEnd:
		w.subagentEnd(work)
	case coleo.FileChanged:
		w.file(work)
	case coleo.ReplyUsage:
		w.change(w.run.node, func(n *Node) {
			sum := coleo.SumUsage(slices.Values([]coleo.Usage{usageOf(n.Prompt), work.Usage}))
			n.Prompt.Usage = &sum
		})
	case coleo.Problem:
		w.change(w.run.node, func(n *Node) {
			n.Prompt.Errors = appendUpTo(n.Prompt.Errors, cutText(work.Text, MaxOutput), mostErrors)
		})
	case coleo.ShellInput, coleo.ShellProgress, coleo.ShellOutput:
		w.shell(work)
	default: // all other events have no node of their own
	}
}

// mostErrors is the largest number of errors in a run's node. It is small because an agent CLI that
// retries reports the same error many times.
const mostErrors = 10

func usageOf(p *Prompt) coleo.Usage {
	if p.Usage == nil {
		return coleo.Usage{}
	}
	return *p.Usage
}

// shell adds to the graph what an event reports about a command that the user has given to the shell.
func (w *writer) shell(work coleo.Work) {
	id, raw := "", ""
	switch s := work.(type) {
	case coleo.ShellInput:
		id = w.ownID(KindShell, "shell:"+s.ID)
		if s.ID == "" || w.has(id) {
			w.fault("command %q of the user begins again, or has no id", s.ID)
			return
		}
		w.add(id, Node{Kind: KindShell, Shell: &Shell{Command: s.Command}})
		return
	case coleo.ShellProgress:
		raw = s.ID
	case coleo.ShellOutput:
		raw = s.ID
	}
	if id = w.ownID(KindShell, "shell:"+raw); !w.has(id) || w.node(id).Shell.Done {
		w.fault("%s of command %q of the user, which does not run", w.e.Kind, raw)
		return
	}
	w.change(id, func(n *Node) {
		switch s := work.(type) {
		case coleo.ShellProgress:
			n.Shell.Progress += len(s.Output)
		case coleo.ShellOutput:
			n.End, n.Shell.Done, n.Shell.ExitCode, n.Shell.Millis = w.e.Time, true, s.ExitCode, s.Millis
			n.Shell.Output, n.Shell.Errors = cutText(s.Output, MaxOutput), cutText(s.Errors, MaxOutput)
			n.Shell.Truncated = s.Truncated || len(s.Output)+len(s.Errors) > len(n.Shell.Output)+len(n.Shell.Errors)
		}
	})
}

func (w *writer) turn() {
	n := w.e.Turn
	switch {
	case n <= 0:
		w.fault("a turn without a number")
		return
	case n <= w.run.turn:
		w.fault("turn %d begins again", n)
		return
	case n != w.run.turn+1:
		w.fault("turn %d follows turn %d", n, w.run.turn)
	}
	if id := w.ownID(KindTurn, fmt.Sprintf("turn:%d", w.run.turn)); w.run.turn > 0 && w.has(id) {
		w.finish(id, w.e.Time)
	}
	w.run.turn = n
	turn, _ := decode[coleo.Turn](w)
	w.change(w.turnNode(), func(n *Node) { n.Model = turn.Model })
}

func (w *writer) text(kind Kind, b coleo.Block) {
	if b.ID == "" {
		w.fault("a %s without an id", kind)
		return
	}
	id := w.ownID(kind, b.ID)
	w.add(id, Node{Kind: kind, Text: &Text{}})
	if w.node(id).Text.Done {
		w.fault("text %s goes on after its last piece", b.ID)
		return
	}
	w.change(id, func(n *Node) {
		t := n.Text
		t.last = &piece{b.Text, t.last}
		t.Pieces, t.Done, t.Truncated = t.Pieces+1, b.Done, t.Truncated || b.Truncated
		if b.Done {
			n.End = w.e.Time
		}
	})
}

// openKey returns the key of a call in runState.open. The keys are in the order in which
// the calls began.
func openKey(n *Node) string { return fmt.Sprintf("%019d", n.number) }

func (w *writer) call(c coleo.ToolCall) {
	if c.ID == "" {
		w.fault("a call without an id")
		return
	}
	id := w.ownID(KindCall, c.ID)
	if w.has(id) {
		w.fault("call %s begins again", c.ID)
		return
	}
	call := &Call{Name: c.Name, Kind: c.Kind, Command: c.Command, Files: c.Files, Arguments: c.Arguments,
		Malformed: c.Malformed != nil}
	if c.Malformed != nil {
		call.Arguments = malformedJSON(*c.Malformed)
	}
	if len(call.Arguments) > MaxArguments {
		call.Arguments = nil
	}
	w.add(id, Node{Kind: KindCall, Call: call})
	if w.e.Turn > 0 {
		w.connect(Edge{Kind: EdgeCaused, From: w.turnNode(), To: id})
	} else {
		w.connect(Edge{Kind: EdgeCaused, From: w.run.node, To: id})
	}
	w.run.open = w.run.open.with(openKey(w.node(id)), id)
	w.askedEarlier(id)
}

// malformedJSON returns a JSON object that describes arguments that are not JSON.
func malformedJSON(m coleo.Malformed) json.RawMessage {
	raw, err := json.Marshal(struct {
		Malformed bool   `json:"__toolParseError"`
		Error     string `json:"parseError"`
		Raw       string `json:"rawArguments"`
	}{true, m.Error, cutText(m.Raw, MaxArguments/2)})
	if err != nil {
		return nil
	}
	return raw
}

// cutText returns at most the first n bytes of s. It does not split a character.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// begunCall returns the node of a call. If no event has reported the beginning of the call,
// begunCall records a fault and returns false.
func (w *writer) begunCall(raw string) (string, bool) {
	id := w.ownID(KindCall, raw)
	if raw == "" || !w.has(id) {
		w.fault("%s of call %q, which has not begun", w.e.Kind, raw)
		return "", false
	}
	return id, true
}

func (w *writer) callEnd(end coleo.ToolEnd) {
	id, ok := w.begunCall(end.ID)
	if !ok {
		return
	}
	if w.node(id).Call.Result != nil {
		w.fault("call %s ends again", end.ID)
		return
	}
	result := &Result{Status: end.Outcome, ExitCode: end.ExitCode, Output: cutText(end.Output, MaxOutput)}
	result.Truncated = end.Truncated || len(result.Output) < len(end.Output)
	switch reason := cutText(end.Reason, MaxOutput); end.Outcome {
	case coleo.ToolDenied:
		result.Reason = reason
	case coleo.ToolError:
		result.Error = reason
	case coleo.ToolSuccess:
	default:
		w.fault("call %s ends with the outcome %q", end.ID, end.Outcome)
	}
	w.change(id, func(n *Node) { n.End, n.Call.Result, n.Call.Orphan = w.e.Time, result, false })
	w.endedCall(id)
}

func (w *writer) subagent(s coleo.SubagentStart) {
	if s.ID == "" {
		w.fault("a subagent without an id")
		return
	}
	id := w.ownID(KindSubagent, "subagent:"+s.ID)
	if w.has(id) {
		w.fault("subagent %s begins again", s.ID)
		return
	}
	w.add(id, Node{Kind: KindSubagent, Subagent: &Subagent{Type: s.Type, Task: s.Task}})
	if call := w.ownID(KindCall, s.ID); w.has(call) {
		w.connect(Edge{Kind: EdgeCaused, From: call, To: id})
	}
}

func (w *writer) subagentEnd(s coleo.SubagentEnd) {
	id := w.ownID(KindSubagent, "subagent:"+s.ID)
	if !w.has(id) {
		w.fault("subagent %q ends, which has not begun", s.ID)
		return
	}
	w.change(id, func(n *Node) { n.End, n.Subagent.Outcome = w.e.Time, s.Outcome })
}

func (w *writer) file(f coleo.FileChanged) {
	if strings.TrimSpace(f.Path) == "" {
		w.fault("a changed file without a path")
		return
	}
	id := w.ownID(KindFile, "file:"+f.Path)
	w.add(id, Node{Kind: KindFile, Path: f.Path})
	if call, ok := w.begunCall(f.Call); ok {
		w.connect(Edge{Kind: EdgeChanged, From: call, To: id})
	}
}
