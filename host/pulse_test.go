package host

import (
	"testing"

	"coleo.dev/bus"
)

// TestAPulseLeavesOutWhatServeKnows: a pulse leaves the arms out until one of them
// changes.
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
