package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
	"coleo.dev/host/armfolder"
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

// silentStage returns a stage whose host agent cannot attach to the arm one, because the arm's holder is stopped. It
// also returns the arm and the pid of the holder.
func silentStage(t *testing.T) (*stage, *arm, int) {
	t.Helper()
	s := newStage(t)
	id := s.arm("one")
	pid := must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Handle.Holder.PID
	s.halt()
	s.check(syscall.Kill(pid, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	s.start()
	a, err := s.host.arm(id)
	s.check(err)
	return s, a, pid
}

// A host agent cannot attach to an arm, because the arm's holder is stopped. Then the arm is ended. Nothing of
// the arm must be left: its conversation, its folder and its questions must be free.
func TestASilentArmThatIsEndedLeavesNothing(t *testing.T) {
	s, a, _ := silentStage(t)
	id := a.record.ID
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	a.mu.Lock()
	a.record.Handle.Conversation = "c1"
	a.mu.Unlock()
	if name := s.host.holderOf("c1", ""); name != "" {
		t.Errorf("the conversation is still in use by %s", name)
	}
	var lock armfolder.Lock
	if err := lock.Take(a.folder(), "one"); err != nil {
		t.Errorf("its folder is still locked: %v", err)
	}
	lock.Release(func() bool { return false }, func() {})
}

// A host agent cannot attach to an arm, because the arm's holder is stopped. Then the holder is killed. The arm
// must be reported as dead, and not as an arm that still starts.
func TestASilentHolderThatIsKilledIsReported(t *testing.T) {
	s, a, pid := silentStage(t)
	id := a.record.ID
	s.check(syscall.Kill(pid, syscall.SIGKILL))
	s.until("the holder has ended", func() bool { return process.Look(a.recordNow().Handle.Holder) == process.Dead })
	s.host.beat()
	s.awaitState(id, coleo.Dead)
	s.until("the end is written down", func() bool { return len(s.events(id, coleo.EventStopped)) == 1 })
}

// A host agent cannot attach to an arm for a reason that passes, such as too many open files. Here, the path of the
// holder's socket is a loop. When the reason has passed, the host agent must read the arm again by itself.
func TestAnAttachThatFailsForAPassingReasonIsTriedAgain(t *testing.T) {
	s := newStage(t)
	id := s.arm("one")
	socket := holder.SocketPath(must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Handle.Dir)
	s.halt()
	s.check(os.Rename(socket, socket+".real"))
	s.check(os.Symlink(filepath.Base(socket), socket))
	s.start()
	report := func() bus.ArmReport { return must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}) }
	if r := report(); r.Attached || r.Reading.State == coleo.Idle || r.Reading.State == coleo.Dead {
		t.Fatalf("nobody reads the arm, and the report is %+v", r)
	}
	s.check(os.Rename(socket+".real", socket))
	s.host.beat()
	s.until("the host agent reads the arm", func() bool { return report().Attached })
	s.awaitState(id, coleo.Idle)
}
