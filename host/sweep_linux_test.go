package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/holder"
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

// A host agent is killed while an agent CLI's server runs for a catalogue of models. The next host agent must end the
// server. The server of the other host of the state folder must go on.
func TestTheServerOfACatalogueDoesNotOutliveTheNextHostAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	serves := func(folder string) holder.Status {
		dir := s.path(folder)
		status, err := holder.Start(t.Context(), []string{s.path(testprogram.Hold)}, holder.Launch{Arm: "catalog-x",
			Generation: 1, Nonce: folder, Dir: dir, Argv: []string{"/bin/sleep", "1000"}, Workdir: s.dir, Cols: 80, Rows: 24,
			Alone: true})
		s.check(err)
		t.Cleanup(func() { _ = holder.Terminate(status.Holder) })
		return status
	}
	s.halt()
	own, other := serves("catalog-agent-1"), serves("catalog-local-1")
	s.check(os.Mkdir(s.path("catalog-agent-2"), 0o700))
	s.start()
	s.until("the server has ended, and its folder is gone", func() bool {
		_, err := os.Stat(s.path("catalog-agent-1"))
		_, err2 := os.Stat(s.path("catalog-agent-2"))
		return process.Look(own.Process) == process.Dead && errors.Is(err, fs.ErrNotExist) && errors.Is(err2, fs.ErrNotExist)
	})
	if process.Look(other.Process) != process.Alive {
		t.Error("the server of the other host was ended")
	}
}
