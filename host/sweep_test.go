package host

import (
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
)

// TestAnOrderToEndAnOlderStartLeavesTheNewerOneAlone: serve names the start that
// it means, and the host agent may have begun another one since.
func TestAnOrderToEndAnOlderStartLeavesTheNewerOneAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	s.arm("ada")
	was := s.report(id)
	s.refused(coleo.EStale, bus.OpKill, bus.ArmOrder{Arm: id, Generation: was.Generation - 1})
	s.isThere(id, was)
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id, Generation: was.Generation})
	if holder.Look(was.Handle.Process) != holder.Dead {
		t.Error("the start that was named goes on")
	}
}
