package graph

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

// Question asks which call wrote a line of a file.
type Question struct {
	Paths   []string          // absolute paths of the file: as given, and without symbolic links
	Line    int               // the number of the line, from 1; only shown to people
	Text    string            // the text of the line, without its end
	Folders map[string]string // the work folder of each arm, by the arm's id; relative paths of calls begin there
}

// Certainty is how sure an answer is.
type Certainty string

// These are the certainties, from the surest to the least sure.
const (
	Wrote    Certainty = "wrote"    // this call wrote exactly this line
	Changed  Certainty = "changed"  // this call changed the file, but its arguments do not contain the line
	Possible Certainty = "possible" // no call is known to have changed the file, but shell commands name it
	Nothing  Certainty = "nothing"  // no known call changed the file
)

// Finding describes the newest call that wrote a line. If no call wrote the line, it describes the
// newest call that changed the file.
type Finding struct {
	Certainty  Certainty
	Run, Arm   string
	Call       string // the agent CLI's id of the call
	Generation int    // the generation of the arm; 0 if the events do not name it
	// Unread means that the text of the call is unknown. The text was too long to keep, or has a
	// form that Coleo cannot read.
	Unread bool
}

// mostMentions is the largest number of commands in an answer. A person would not read more.
const mostMentions = 5

// Mention is a shell command that names the file, and that may have changed the file.
type Mention struct {
	Run     string    `json:"run"`
	Arm     string    `json:"arm"`
	Command string    `json:"command"`
	Time    time.Time `json:"time"`
}

// search holds the state of Search while Search reads a log.
type search struct {
	Question
	found      Finding
	changed    Finding
	calls      map[string]coleo.ToolCall // calls that may change the file and have not ended
	generation map[string]int
}

// Search finds the call that wrote the line. It considers only calls that ended with success. The
// events belong to one or several runs, and must be in the order of the log.
func Search(q Question, events []coleo.Event) Finding {
	s := search{Question: q, calls: map[string]coleo.ToolCall{}, generation: map[string]int{},
		found: Finding{Certainty: Nothing}, changed: Finding{Certainty: Nothing}}
	s.Folders = map[string]string{}
	for arm, folder := range q.Folders {
		s.Folders[arm] = folder
	}
	for _, e := range events {
		s.read(e)
	}
	if s.found.Certainty == Nothing {
		return s.changed
	}
	return s.found
}

func (s *search) read(e coleo.Event) {
	key := e.Run + "\x00"
	switch e.Kind {
	case coleo.EventSpawned, coleo.EventReattached:
		var h coleo.Handle
		if json.Unmarshal(e.Payload, &h) == nil && h.Workdir != "" {
			s.Folders[e.Arm], s.generation[e.Arm] = h.Workdir, h.Generation
		}
	case coleo.EventToolStart:
		var c coleo.ToolCall
		if json.Unmarshal(e.Payload, &c) == nil && s.mayChange(e.Arm, c) {
			s.calls[key+c.ID] = c
		}
	case coleo.EventToolEnd:
		var end coleo.ToolEnd
		if json.Unmarshal(e.Payload, &end) != nil {
			return
		}
		if c, ok := s.calls[key+end.ID]; ok && end.Outcome == coleo.ToolSuccess {
			s.addCall(e, c)
		}
		delete(s.calls, key+end.ID)
	case coleo.EventFileChanged:
		var f coleo.FileChanged
		if json.Unmarshal(e.Payload, &f) == nil && s.Names(e.Arm, f.Path) && !s.has(e.Run, f.Call) {
			s.changed = Finding{Changed, e.Run, e.Arm, f.Call, s.generation[e.Arm], true}
		}
	default: // all other events report nothing about files
	}
}

// has reports whether the call is the newest one that wrote the line, or the newest one that
// changed the file.
func (s *search) has(run, call string) bool {
	return s.found.Run == run && s.found.Call == call || s.changed.Run == run && s.changed.Call == call
}

// addCall stores a call that has changed the file.
func (s *search) addCall(e coleo.Event, c coleo.ToolCall) {
	edits := s.edits(e.Arm, c)
	f := Finding{Changed, e.Run, e.Arm, c.ID, s.generation[e.Arm], len(edits) == 0}
	if strings.TrimSpace(s.Text) != "" && slices.ContainsFunc(edits, func(x edit) bool { return x.addsLine(s.Text) }) {
		f.Certainty = Wrote
		s.found = f
	}
	s.changed = f
}

// Names reports whether the path p is a path of the question's file. p is a path that the arm's
// model has used. If p is relative, it begins at the arm's work folder.
func (q Question) Names(arm, p string) bool {
	if p == "" {
		return false
	}
	if !path.IsAbs(p) {
		folder := q.Folders[arm]
		if folder == "" {
			return false
		}
		p = path.Join(folder, p)
	}
	return slices.Contains(q.Paths, path.Clean(p))
}

// mayChange reports whether the call changes the file, provided that it ends with success.
func (s *search) mayChange(arm string, c coleo.ToolCall) bool {
	if c.Kind == coleo.ToolRead {
		return false
	}
	if c.Kind != coleo.ToolExecute && slices.ContainsFunc(c.Files, func(p string) bool { return s.Names(arm, p) }) {
		return true
	}
	return len(s.edits(arm, c)) > 0
}

// Mentions reports whether an event is a shell call whose command names the file.
func Mentions(q Question, e coleo.Event) (Mention, bool) {
	if e.Kind != coleo.EventToolStart {
		return Mention{}, false
	}
	var c coleo.ToolCall
	if json.Unmarshal(e.Payload, &c) != nil || c.Kind != coleo.ToolExecute {
		return Mention{}, false
	}
	for _, p := range q.Paths {
		if hasWord(c.Command, path.Base(p)) {
			return Mention{e.Run, e.Arm, cutText(c.Command, maxMention), e.Time}, true
		}
	}
	return Mention{}, false
}

// maxMention is the largest size of a Mention's command, in bytes: enough for a few lines.
const maxMention = 500

// hasWord reports whether a text contains a name, but not only as a part of a longer name.
func hasWord(text, name string) bool {
	part := func(b byte) bool {
		return b == '_' || b == '-' || b == '.' || b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80
	}
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(name)
		if (begin == 0 || !part(text[begin-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		from = begin + 1
	}
	return false
}

// Answer explains why a line is in a file.
type Answer struct {
	Path      string    `json:"path"`
	Line      int       `json:"line"`
	Text      string    `json:"text"`
	Certainty Certainty `json:"certainty" enum:"wrote,changed,possible,nothing"`
	Note      string    `json:"note,omitempty"` // for users: what the certainty means for this answer

	Arm      string `json:"arm,omitempty"`     // the arm's id
	ArmName  string `json:"armName,omitempty"` // "" if the arm is gone
	Run      *Node  `json:"run,omitempty"`
	Call     *Node  `json:"call,omitempty"`
	Approval *Node  `json:"approval,omitempty"` // the approval of the call; nil if no approval was matched with it
	// Approver is the caller who answered, according to serve's audit. ApproverMatched reports how
	// the record in the audit was found: by the dialog, or only by the time.
	Approver        *coleo.Caller `json:"approver,omitempty"`
	ApproverMatched string        `json:"approverMatched,omitempty" enum:"dialog,time"`

	Generation int       `json:"generation,omitempty"` // the arm's generation when the run began; 0 if unknown
	Possible   []Mention `json:"possible,omitempty"`   // the newest commands that name the file, newest first
}

// MakeAnswer returns the answer for a finding. The graph must contain the run of the finding. The
// mentions must be in the order of the log.
func MakeAnswer(q Question, f Finding, g Graph, mentions []Mention) Answer {
	a := Answer{Line: q.Line, Text: q.Text, Certainty: f.Certainty, Arm: f.Arm, Generation: f.Generation}
	if len(q.Paths) > 0 {
		a.Path = q.Paths[0]
	}
	if len(mentions) > 0 {
		a.Possible = slices.Clone(mentions[max(0, len(mentions)-mostMentions):])
		slices.Reverse(a.Possible)
		if a.Certainty == Nothing {
			a.Certainty = Possible
		}
	}
	a.Note = noteText(a.Certainty, f, q)
	if f.Run == "" {
		return a
	}
	if state, ok := g.runs.get(f.Run); ok {
		run, _ := g.Node(state.node)
		a.Run = &run
	}
	for _, n := range g.nodes.sortedEntries() {
		switch {
		case n.Run != f.Run:
		case n.Kind == KindCall && rawID(n.ID, n.Run) == f.Call:
			call := n.withFullText()
			a.Call = &call
		}
	}
	if a.Call == nil {
		return a
	}
	for _, n := range g.nodes.sortedEntries() {
		if n.Kind == KindApproval && n.Approval.Call == a.Call.ID {
			approval := n.withFullText()
			a.Approval = &approval
		}
	}
	return a
}

// noteText explains to users what a certainty means.
func noteText(c Certainty, f Finding, q Question) string {
	switch c {
	case Wrote:
		return "this call wrote exactly this line"
	case Changed:
		switch {
		case f.Unread:
			return "this call changed the file; its text is not known"
		case strings.TrimSpace(q.Text) == "":
			return "this call changed the file last; a blank line can come from any call"
		}
		return "this call changed the file; the line is not in its text"
	case Possible:
		return "no call is known that changed the file; these commands name it, and may have changed it"
	case Nothing:
	}
	return "no call is known that changed the file: a person may have written it, or its events are deleted"
}

// Why answers a question from the events of one log.
func Why(q Question, events []coleo.Event) Answer {
	var mentions []Mention
	var g Graph
	for _, e := range events {
		if m, ok := Mentions(q, e); ok {
			mentions = append(mentions, m)
		}
		g = Reduce(g, e)
	}
	return MakeAnswer(q, Search(q, events), g, mentions)
}
