package host

import (
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// told returns the kinds of an arm's events about work and runs, in the order of the log.
func (s *stage) told(id string) (kinds []coleo.EventKind) {
	s.t.Helper()
	all, _ := s.readLog()
	for _, e := range all {
		if e.Kind == coleo.EventMode {
			continue // the screen can report a mode at any time, and this event belongs to no run
		}
		if e.Arm == id && (e.Kind.IsWork() || e.Kind == coleo.EventRunStart || e.Kind == coleo.EventRunEnd) {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// noteWork passes work to the host agent, as a session with a record does.
func (s *stage) noteWork(id string, list []coleo.Activity) {
	s.t.Helper()
	a, err := s.host.arm(id)
	s.check(err)
	s.check(a.noteWork(s.t.Context(), work{"record", list}))
}

// Each host agent reads the record of the agent CLI from the beginning. Work that an earlier host
// agent has logged must not be logged again. A run must end after all of its work.
func TestR2ARunBeginsAndEndsAroundItsWork(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	list := []coleo.Activity{
		{Position: 1, Work: coleo.Prompted{Text: "hold 1h"}},
		{Position: 2, Work: coleo.ToolCall{ID: "a", Name: "bash"}},
		{Position: 3, Work: coleo.ToolCall{ID: "b", Name: "bash"}},
		{Position: 4, Work: coleo.ToolEnd{ID: "a", Outcome: coleo.ToolSuccess}},
	}
	run := s.prompt(id, "hold 1h").ID
	s.noteWork(id, list[:3])
	s.restart()
	s.noteWork(id, list)
	if err := s.ask(bus.OpKill, bus.ArmOrder{Arm: id}, nil); err != nil {
		t.Fatal(err)
	}
	s.until("the run has ended", func() bool { return len(s.events(id, coleo.EventRunEnd)) == 1 })
	want := []coleo.EventKind{coleo.EventRunStart, coleo.EventTurn, coleo.EventToolStart, coleo.EventToolStart,
		coleo.EventToolEnd, coleo.EventRunEnd}
	if got := s.told(id); !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	if end := s.ends(id)[run]; !slices.Equal(end.Orphans, []string{"b"}) {
		t.Errorf("the orphans are %q, want b", end.Orphans)
	}
}

// The record may contain a prompt and its work before the host agent has proof that the prompt has
// arrived. The run's start must come first in the log.
func TestWorkOfAPromptThatIsBeingSentFollowsItsRunStart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	a, err := s.host.arm(id)
	s.check(err)
	a.mu.Lock()
	a.record.Intended = []coleo.Receipt{{ID: "r1", Text: "say one"}}
	a.mu.Unlock()
	s.noteWork(id, []coleo.Activity{{Position: 1, Work: coleo.Prompted{Text: "say one"}},
		{Position: 2, Work: coleo.ToolCall{ID: "a", Name: "bash"}}})
	if got := s.told(id); len(got) != 0 {
		t.Errorf("before the run, the log has %q", got)
	}
	s.check(a.open(t.Context(), coleo.Receipt{ID: "r1", Text: "say one"}))
	want := []coleo.EventKind{coleo.EventRunStart, coleo.EventTurn, coleo.EventToolStart}
	if got := s.told(id); !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
}

// Only the screen shows the answer of an agent CLI without a record. The log must have this answer
// as a text.
func TestAnAnswerOnTheScreenIsAText(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.prompt(id, "say one")
	s.until("the run has ended", func() bool { return len(s.events(id, coleo.EventRunEnd)) == 1 })
	want := []coleo.EventKind{coleo.EventRunStart, coleo.EventAssistantText, coleo.EventRunEnd}
	if got := s.told(id); !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	text, err := coleo.DecodeWork(s.events(id, coleo.EventAssistantText)[0])
	if w, ok := text.(coleo.AssistantText); err != nil || !ok || w.Text != "one" {
		t.Errorf("the text is %+v (%v), want one", text, err)
	}
}
