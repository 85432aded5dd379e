package host

import (
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// Serve often asks the host agent for a pulse, a short report about all arms. The pulse must leave out the arms
// while none of them has changed since the last pulse.
func TestAPulseLeavesOutWhatServeKnows(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	first := must[bus.Pulse](s, bus.OpPulse, bus.PulseOrder{})
	if len(first.Arms) != 1 || first.Same || first.Mark == "" {
		t.Fatalf("the first pulse is %+v", first)
	}
	again := must[bus.Pulse](s, bus.OpPulse, bus.PulseOrder{Known: first.Mark})
	if !again.Same || len(again.Arms) != 0 || again.Mark != first.Mark {
		t.Errorf("a pulse of the same arms is %+v", again)
	}
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	last := must[bus.Pulse](s, bus.OpPulse, bus.PulseOrder{Known: first.Mark})
	if last.Same || len(last.Arms) != 1 || last.Arms[0].Attached {
		t.Errorf("a pulse after an end is %+v", last)
	}
	s.restart()
	if next := must[bus.Pulse](s, bus.OpPulse, bus.PulseOrder{Known: last.Mark}); next.Same || len(next.Arms) != 1 {
		t.Errorf("the first pulse of the next host agent is %+v", next)
	}
}

// A pulse, the host agent's short report about its arms, contains a number for each arm. The number grows when
// a user chooses something for the arm, such as a label. By this number, a new serve notices that its row is
// older.
func TestAPulseTellsTheNumberOfWhatWasChosen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	told := func() bus.ArmPulse { return must[bus.Pulse](s, bus.OpPulse, bus.PulseOrder{}).Arms[0] }
	if p := told(); p.Chosen != 0 {
		t.Errorf("before any choice: %+v", p)
	}
	report := must[bus.LabelReport](s, bus.OpLabel, bus.LabelOrder{Arm: id, Labels: coleo.Labels{"team": "a"}})
	if p := told(); p.Chosen != report.Chosen.Number || p.Chosen == 0 {
		t.Errorf("after a choice with the number %d: %+v", report.Chosen.Number, p)
	}
	s.restart()
	if p := told(); p.Chosen != report.Chosen.Number {
		t.Errorf("the next host agent tells %+v, want the number %d", p, report.Chosen.Number)
	}
}
