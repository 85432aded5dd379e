package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/record"
)

// recordSpec describes a program with a sign of work below the composer.
var recordSpec = strings.Replace(stageSpec, "[[rule]]", `[[rule]]
name = "busy"
state = "processing"
when = [{ where = "screen", pattern = "working" }]
[[rule]]`, 1)

// silentRecord is a fake record that reports no changes. A session reads its entries only when it asks for
// them, at a time that the test knows.
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

// setRecordStage starts the program with a silent record of its conversation.
func setRecordStage(t *testing.T) (*stage, *session, *silentRecord) {
	t.Helper()
	home, silent := t.TempDir(), &silentRecord{}
	if err := os.WriteFile(filepath.Join(home, "one.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hooks := Hooks{Record: record.Source{Pattern: "{id}.log",
		Open: func(string, record.Where) record.Tail { return silent }}}
	st, s := setStageWith(t, recordSpec, hooks,
		coleo.SpawnConfig{Cols: 40, Rows: 8, Conversation: "one", Environ: []string{"HOME=" + home}})
	return st, s, silent
}

// toldOf returns the states of a session and the kinds of its work, in the order in which the session
// reported them.
func toldOf(t *testing.T, s *session) (out []string) {
	t.Helper()
	for c, err := range s.Changes(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind == coleo.ChangeState {
			out = append(out, string(c.Reading.State))
		}
		for _, a := range c.Work {
			out = append(out, string(coleo.KindOf(a.Work)))
		}
		if c.Cursor == s.log.Cursor() {
			return out
		}
	}
	return out
}

func worksAndEnds(st *stage, s *session, silent *silentRecord, end func()) []string {
	st.t.Helper()
	st.say(s, []byte(composing("")))
	st.await("it is idle", func() bool { return s.State().State == coleo.Idle })
	st.say(s, []byte("\x1b[2J\x1b[Hworking"))
	st.await("it works", func() bool { return s.State().State == coleo.Processing })
	silent.write(record.Worked(coleo.ToolEnd{ID: "a", Outcome: coleo.ToolDenied}, "", s.facts.Started))
	end()
	return toldOf(st.t, s)
}

// The state idle ends a run, so all work that is already in the record must be reported before it.
func TestAllWorkIsToldBeforeIdle(t *testing.T) {
	t.Parallel()
	st, s, silent := setRecordStage(t)
	got := worksAndEnds(st, s, silent, func() {
		st.say(s, []byte("\x1b[2J\x1b[H"+composing("")))
		st.await("it is idle again", func() bool { return s.State().State == coleo.Idle })
	})
	want := []string{"initializing", "idle", "processing", string(coleo.EventToolEnd), "idle"}
	if !slices.Equal(got, want) {
		t.Errorf("the session told %q, want %q", got, want)
	}
}

// An entry that arrives right before idle can show that the work continues. The session must then not report
// idle.
func TestAPromptInTheRecordPutsOffIdle(t *testing.T) {
	t.Parallel()
	st, s, silent := setRecordStage(t)
	got := worksAndEnds(st, s, silent, func() {
		silent.write(record.Entry{Kind: record.Prompt, Text: "more"})
		st.say(s, []byte("\x1b[2J\x1b[H"+composing("")))
		st.await("it works by its record", func() bool { return s.State().Rule == "record prompt" })
		silent.write(record.Entry{Kind: record.End, Ending: record.Finished})
		s.record.catchUp()
		st.await("it is idle again", func() bool { return s.State().State == coleo.Idle })
	})
	want := []string{"initializing", "idle", "processing", string(coleo.EventToolEnd), "idle"}
	if got = slices.DeleteFunc(got, func(k string) bool { return k == "" }); !slices.Equal(got, want) {
		t.Errorf("the session told %q, want %q", got, want)
	}
}

// The end of the program also ends a run, so all work in the record must be reported before it.
func TestAllWorkIsToldBeforeTheEnd(t *testing.T) {
	t.Parallel()
	st, s, silent := setRecordStage(t)
	got := worksAndEnds(st, s, silent, func() {
		if err := s.client.End(s.Handle().Arm, 0); err != nil {
			t.Fatal(err)
		}
		st.await("it is dead", func() bool { return s.State().State == coleo.Dead })
	})
	want := []string{"initializing", "idle", "processing", string(coleo.EventToolEnd), "dead"}
	if !slices.Equal(got, want) {
		t.Errorf("the session told %q, want %q", got, want)
	}
}

// While Coleo presses the submit key of a prompt, the agent CLI begins a turn by itself. The Reader holds back
// the entries of this turn. The session must report the turn first and its work afterwards, because the turn
// begins a run.
func TestWorkIsToldBehindItsTurnIfTheReaderHasKeptItsEntries(t *testing.T) {
	t.Parallel()
	_, s, _ := setRecordStage(t)
	w, unlock := s.live.watch()
	defer unlock()
	now := time.Now()
	from := s.log.Cursor()
	w.HoldEntries()
	w.takeEntries(recordEntries{"r", []record.Entry{{Kind: record.Prompt, Text: "a task has ended", Time: now},
		record.Worked(coleo.AssistantText{Block: record.Whole("read")}, "m", now)}}, now)
	if kept, _ := s.log.after(from); len(kept) > 0 {
		t.Errorf("told while the key is pressed: %+v", kept)
	}
	w.Submitted(reading.Submission{Text: "next", Time: now}, now)
	w.takeReports(now)
	var got []string
	list, _ := s.log.after(from)
	for _, c := range list {
		if c.Kind == coleo.ChangeTurn {
			got = append(got, "turn: "+c.Note)
		}
		for _, a := range c.Work {
			got = append(got, fmt.Sprintf("%T", a.Work))
		}
	}
	if want := []string{"turn: a task has ended", "coleo.Prompted", "coleo.AssistantText"}; !slices.Equal(got, want) {
		t.Errorf("told is %q, want %q", got, want)
	}
}
