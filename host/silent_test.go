package host

import (
	"encoding/json"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// TestASilentHolderIsToldFromTheStateBefore checks the event about a silent holder. It must name
// the state that the arm had before, not the new state.
func TestASilentHolderIsToldFromTheStateBefore(t *testing.T) {
	s := newStage(t)
	id := s.arm("one")
	pid := must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Handle.Holder.PID
	s.halt()
	s.check(syscall.Kill(pid, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	s.start()
	var change coleo.Change
	s.until("it is written down that the holder does not answer", func() bool {
		for _, e := range s.events(id, coleo.EventState) {
			if s.check(json.Unmarshal(e.Payload, &change)); change.Reading.Rule == "holder silent" {
				return true
			}
		}
		return false
	})
	if change.From != coleo.Idle {
		t.Errorf("the change is from %q, want from idle", change.From)
	}
	s.check(syscall.Kill(pid, syscall.SIGCONT))
	s.awaitState(id, coleo.Idle)
}
