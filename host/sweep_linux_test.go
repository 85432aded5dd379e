package host

import (
	"fmt"
	"os/exec"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder/process"
)

// TestAnOrderToEndAnOlderStartLeavesTheNewerOneAlone gives an order that names an older start. The
// host agent may have begun another start since, and must not end that one.
func TestAnOrderToEndAnOlderStartLeavesTheNewerOneAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	s.arm("ada")
	was := s.report(id)
	s.refused(coleo.EStale, bus.OpKill, bus.ArmOrder{Arm: id, Generation: was.Generation - 1})
	s.checkAttached(id, was)
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id, Generation: was.Generation})
	if process.Look(was.Handle.Process) != process.Dead {
		t.Error("the start that was named goes on")
	}
}

// startMarked starts a process whose environment says that it belongs to a start of the arm. No database and no
// folder knows this process.
func startMarked(t *testing.T, arm string, generation int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{fmt.Sprintf("%s=%s/%d/word", process.EnvArm, arm, generation)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// A process of an older start is known only by its mark, the variable COLEO_ARM in its environment. No database
// and no folder knows it. A new start of the arm must end this process.
func TestAStartSweepsByTheMarkAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	older := startMarked(t, s.id("ada"), 1)
	o := s.order("ada")
	o.Config.Generation = 2
	must[bus.ArmReport](s, bus.OpSpawn, o)
	if state, err := older.Process.Wait(); err != nil || state.Success() {
		t.Errorf("the process of an older start ended with %v (%v)", state, err)
	}
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: o.ID})

	// NewID says that the arm has never been started, which is wrong here. The host agent knows the arm, so it
	// must search for older processes all the same.
	older = startMarked(t, o.ID, 2)
	o.NewID, o.Config.Generation = true, 0
	must[bus.ArmReport](s, bus.OpSpawn, o)
	if state, err := older.Process.Wait(); err != nil || state.Success() {
		t.Errorf("the process of an older start ended with %v (%v)", state, err)
	}

	newer := startMarked(t, s.id("bob"), 7)
	o = s.order("bob")
	o.Config.Generation = 7
	s.refused(coleo.EConflict, bus.OpSpawn, o)
	if process.Marked(o.ID) == nil {
		t.Errorf("process %d of a newer start was ended", newer.Process.Pid)
	}
}
