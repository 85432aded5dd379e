package opencodeapi

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
)

// silentRecord is a fake record that reports no changes, so a session reads its entries only when
// it asks for them.
type silentRecord struct {
	mu      sync.Mutex
	entries []record.Entry
}

func (r *silentRecord) write(e ...record.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e...)
}

func (r *silentRecord) Next() []record.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.entries
	r.entries = nil
	return out
}

func (r *silentRecord) Close() {}

// serverless returns a session without a server. The test passes the server's events to the session
// itself.
func serverless(t *testing.T) (*Session, *silentRecord) {
	t.Helper()
	home, silent := t.TempDir(), &silentRecord{}
	if err := os.WriteFile(filepath.Join(home, "one"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Session{log: terminal.NewChanges(), facts: newFacts(), changed: make(chan struct{}), opened: time.Now(),
		own: extra{Home: home}, handle: coleo.Handle{Conversation: "one"}}
	source := record.Source{Pattern: "{id}", Open: func(string, record.Where) record.Tail { return silent }}
	s.record = record.NewFollower(source, s.whereRecorded, s.onEntries)
	ctx, cancel := context.WithCancel(t.Context())
	s.work.Go(func() { s.record.Run(ctx, record.NewWatcher()) })
	t.Cleanup(func() { cancel(); s.work.Wait() })
	s.record.CatchUp(time.Minute) // returns after the record was found
	return s, silent
}

// status passes a new status to the session, as an event of the server does.
func (s *Session) status(kind string) {
	s.update(func(f *facts) { f.applyStatus(statusBody{Type: kind}) })
}

// told returns the states, the turns and the kinds of all work that a session has reported.
func told(t *testing.T, s *Session) (out []string) {
	t.Helper()
	for c, err := range s.Changes(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch c.Kind {
		case coleo.ChangeState:
			out = append(out, string(c.Reading.State))
		case coleo.ChangeTurn:
			out = append(out, string(c.Origin)+" "+c.Note)
		}
		for _, a := range c.Work {
			if kind := coleo.KindOf(a.Work); kind != "" { // a prompt yields no event
				out = append(out, string(kind))
			}
		}
		if c.Cursor == s.log.Cursor() {
			return out
		}
	}
	return out
}

// The server reports the end of a turn before the session has read the database. All work of the
// turn must still be reported before the state idle.
func TestAllWorkIsToldBeforeIdle(t *testing.T) {
	t.Parallel()
	s, silent := serverless(t)
	s.status("busy")
	silent.write(record.Worked(coleo.ToolEnd{ID: "a", Outcome: coleo.ToolSuccess}, "", time.Now()))
	s.status("idle")
	if got, want := told(t, s), []string{"processing", string(coleo.EventToolEnd), "idle"}; !slices.Equal(got, want) {
		t.Errorf("the session told %q, want %q", got, want)
	}
}

// A person can begin a turn in OpenCode's own window. The session must report this turn once, and before its
// work. It must not matter whether the server or the database reports the turn's prompt first.
func TestATurnOfAPersonIsToldOnceAndBeforeItsWork(t *testing.T) {
	t.Parallel()
	s, silent := serverless(t)
	typed := func(id, text string) {
		now := time.Now()
		silent.write(record.Entry{Kind: record.Prompt, Turn: id, Text: text, ByUser: true, Time: now},
			record.Worked(coleo.AssistantText{Block: record.Whole("done")}, "r", now))
	}
	byHTTP := func(id, text string) {
		s.takeMessage("one", []byte(`{"id":"`+id+`","role":"user"}`))
		s.takePart([]byte(`{"type":"text","messageID":"` + id + `","text":"` + text + `"}`))
	}
	s.status("busy")
	typed("msg_1", "first")
	s.catchUp()
	byHTTP("msg_1", "first")
	byHTTP("msg_2", "second")
	typed("msg_2", "second")
	s.catchUp()
	done := s.deliver()
	byHTTP("msg_3", "of Coleo")
	done()
	typed("msg_3", "of Coleo")
	s.catchUp()
	want := []string{"processing", "hand first", "assistant_text", "hand second", "assistant_text", "assistant_text"}
	got := told(t, s)
	if got = slices.DeleteFunc(got, func(k string) bool { return k == "initializing" }); !slices.Equal(got, want) {
		t.Errorf("the session told %q, want %q", got, want)
	}
}

// An earlier host agent has already reported these entries of the record. Their work must be reported again,
// because the new host agent's trace needs it. Their prompt must not begin a turn.
func TestAnOldPromptIsNoTurn(t *testing.T) {
	t.Parallel()
	s, silent := serverless(t)
	s.own.Started = s.opened.Add(-time.Hour)
	old := func(age time.Duration) []record.Entry {
		at := s.opened.Add(-age)
		return []record.Entry{{Kind: record.Prompt, Turn: "msg_1", Text: "old", ByUser: true, Time: at},
			record.Worked(coleo.ToolEnd{ID: "a"}, "", at)}
	}
	silent.write(old(2 * time.Hour)...)
	silent.write(old(time.Minute)...)
	s.catchUp()
	if got, want := told(t, s), []string{string(coleo.EventToolEnd)}; !slices.Equal(got, want) {
		t.Errorf("the session told %q, want %q", got, want)
	}
}
