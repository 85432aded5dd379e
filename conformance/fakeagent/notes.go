package fakeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// NoteKind is the kind of a Note.
type NoteKind string

// These are the kinds of notes.
const (
	NotedPrompt NoteKind = "prompt" // the fake has received a prompt
	NotedText   NoteKind = "text"   // the model has said something
	NotedCall   NoteKind = "call"   // the model has called a tool
	NotedResult NoteKind = "result" // the tool has ended
	NotedEnd    NoteKind = "end"    // the turn has ended
)

// Note is one line of the notes that a fake with a model takes about its conversation, as real
// agent CLIs do. The file with the notes is beside the file Model.Keep, and its name ends with
// ".jsonl".
type Note struct {
	At    time.Time `json:"at"`
	Kind  NoteKind  `json:"kind"`
	Reply int       `json:"reply,omitempty"` // number of the model's reply since the start
	Text  string    `json:"text,omitempty"`  // text of the prompt, the model or the result; for a call, its arguments
	ID    string    `json:"id,omitempty"`    // id of the call
	Tool  string    `json:"tool,omitempty"`
	// Outcome is how a call or a turn ended: "success", "denied", "error" or "interrupted".
	Outcome string `json:"outcome,omitempty"`
	Below   bool   `json:"below,omitempty"` // true for the work of a subagent
}

// These are the values of Note.Outcome.
const (
	succeeded   = "success"
	denied      = "denied"
	failed      = "error"
	interrupted = "interrupted"
)

// result is the result of a tool call.
type result struct {
	text    string // text for the model
	outcome string
}

func errorOf(format string, args ...any) result {
	return result{"error: " + fmt.Sprintf(format, args...), failed}
}

// beginNotes makes an empty file for the notes, so that a reader finds it before the first turn.
func (m *Model) beginNotes() error {
	if m.Keep == "" {
		return nil
	}
	f, err := os.OpenFile(m.Keep+"l", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("begin the notes: %w", err)
	}
	return f.Close()
}

// note writes a line of the notes. A program with the fault `mingling` writes the work of a subagent as if it were its
// own.
func (p *program) note(n Note) {
	path := p.cfg.Model.Keep
	if path == "" {
		return
	}
	n.At = time.Now()
	n.Below = n.Below && !p.hasFault(mingling)
	line, err := json.Marshal(n)
	if err != nil {
		return // impossible, because a Note contains only texts and numbers
	}
	f, err := os.OpenFile(path+"l", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.print("⎿ " + err.Error())
		return
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n')) // an error needs no report, because a test that needs the line then fails
}

// noteReply notes the text and the calls of a reply.
func (p *program) noteReply(reply message, below bool) {
	p.replies++
	if reply.Content != "" {
		p.note(Note{Kind: NotedText, Reply: p.replies, Text: reply.Content, Below: below})
	}
	for _, c := range reply.Calls {
		p.note(Note{Kind: NotedCall, Reply: p.replies, ID: c.ID, Tool: c.Function.Name, Text: c.Function.Arguments,
			Below: below})
	}
}

// noteEnd notes the end of a turn. If err is not nil, the turn has ended with this error.
func (p *program) noteEnd(ctx context.Context, err error) {
	n := Note{Kind: NotedEnd, Outcome: succeeded}
	switch {
	case ctx.Err() != nil:
		n.Outcome = interrupted
	case err != nil:
		n.Outcome, n.Text = failed, err.Error()
	}
	p.note(n)
}
