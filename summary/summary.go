// Package summary makes the summary of a conversation: its first prompt, its last prompts, its last
// answer, the changed files and the open tasks. Every text in a summary is a text of the
// conversation, shortened if it is long. The package does not ask a model.
//
// The same conversation gives the same summary, however its messages are divided into pages. A
// summary never exceeds its bounds.
//
// The package imports only the root package, and does no input or output.
package summary

import (
	"encoding/json"
	"slices"
	"strings"

	"coleo.dev"
)

// These constants bound a summary. Together they keep it below 8,000 characters, which is a small
// part of the context of any model.
const (
	promptText    = 400  // characters of one prompt
	answerText    = 1200 // characters of the answer
	recentPrompts = 3    // how many prompts are shown after the first one
	mostFiles     = 20
	mostTasks     = 20
	lineText      = 120 // characters of a path or a task
)

// Kinds returns the kinds of events that Maker.Event reads.
func Kinds() []coleo.EventKind {
	return []coleo.EventKind{coleo.EventSpawned, coleo.EventConversation, coleo.EventFileChanged, coleo.EventTasks}
}

// Maker makes the summary of one conversation. The caller passes the messages in order. It also
// passes the events of each arm that may have had the conversation: first Arm for the arm, then
// Event for each event.
type Maker struct {
	out   coleo.ThreadSummary
	files []string // the file that was changed last is at the end
	tasks coleo.Event
	owns  bool // true while the events of the present arm belong to this conversation
}

// New returns the Maker of a conversation that has no messages yet.
func New(t coleo.Thread) *Maker {
	return &Maker{out: coleo.ThreadSummary{ID: t.ID, Harness: t.Harness, Folder: t.Folder, Begun: t.Begun, Last: t.Last,
		Title: cut(t.Title, lineText)}}
}

// Message adds the next message to the summary.
func (m *Maker) Message(t coleo.ThreadMessage) {
	switch t.Kind {
	case "prompt":
		if m.out.Prompts++; m.out.Prompts == 1 {
			m.out.First = cut(t.Text, promptText)
			return
		}
		m.out.Recent = append(m.out.Recent, cut(t.Text, promptText))
		m.out.Recent = m.out.Recent[max(0, len(m.out.Recent)-recentPrompts):]
	case "answer":
		m.out.Answers++
		m.out.Answer = cut(t.Text, answerText)
	case "tool":
		m.out.Tools++
	}
}

// Arm announces that the next events belong to another arm. `ownsConversation` says whether the arm is in this
// conversation. It applies until one of the events says in which conversation the arm is.
func (m *Maker) Arm(ownsConversation bool) { m.owns = ownsConversation }

// Event adds the next event of the arm to the summary. It ignores what the arm did in other
// conversations, and events with an unreadable payload.
func (m *Maker) Event(e coleo.Event) {
	switch e.Kind {
	case coleo.EventSpawned:
		var h coleo.Handle
		if json.Unmarshal(e.Payload, &h) == nil && h.Conversation != "" {
			m.owns = h.Conversation == m.out.ID
		}
	case coleo.EventConversation:
		var n coleo.Note
		if json.Unmarshal(e.Payload, &n) == nil {
			m.owns = n.Text == m.out.ID
		}
	case coleo.EventFileChanged:
		var f coleo.FileChanged
		if m.owns && json.Unmarshal(e.Payload, &f) == nil && f.Path != "" {
			m.files = append(slices.DeleteFunc(m.files, func(p string) bool { return p == f.Path }), f.Path)
		}
	case coleo.EventTasks:
		if m.owns && !e.Time.Before(m.tasks.Time) {
			m.tasks = e
		}
	default: // other events do not change a summary
	}
}

// Summary returns the summary of all messages and events so far.
func (m *Maker) Summary() coleo.ThreadSummary {
	out := m.out
	out.Files = slices.Clone(m.files[max(0, len(m.files)-mostFiles):])
	slices.Reverse(out.Files)
	out.MoreFiles = len(m.files) - len(out.Files)
	for i, path := range out.Files {
		if letters := []rune(path); len(letters) > lineText {
			out.Files[i] = "…" + string(letters[len(letters)-lineText+1:]) // keep the end, which has the file's name
		}
	}
	var list coleo.TasksUpdated
	_ = json.Unmarshal(m.tasks.Payload, &list) // fails if no event had tasks; the list then stays empty
	for _, t := range list.Tasks {
		switch {
		case t.Status == coleo.TaskDone:
		case len(out.Tasks) == mostTasks:
			out.MoreTasks++
		default:
			t.Text = cut(t.Text, lineText)
			out.Tasks = append(out.Tasks, t)
		}
	}
	return out
}

// cut returns at most n characters of a text. A shortened text ends with "…".
func cut(text string, n int) string {
	text = strings.TrimSpace(text)
	letters := []rune(text)
	if len(letters) <= n {
		return text
	}
	return string(letters[:n-1]) + "…"
}
