package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
	"coleo.dev/host/armfolder"
	"coleo.dev/store"
	"coleo.dev/workspace"
)

// whileDown calls the function `do` while no host agent runs.
func (s *stage) whileDown(do func()) {
	s.t.Helper()
	s.halt()
	do()
	s.start()
}

// loseDB deletes the host agent's database, as if the disk were broken.
func (s *stage) loseDB() {
	s.t.Helper()
	for _, side := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(s.path("host.db" + side))
	}
}

// copyDB returns a copy of the database while no host agent runs. restoreDB writes such a copy
// back.
func (s *stage) copyDB() []byte {
	s.t.Helper()
	raw, err := os.ReadFile(s.path("host.db"))
	s.check(err)
	return raw
}

func (s *stage) restoreDB(raw []byte) {
	s.t.Helper()
	s.loseDB()
	s.check(os.WriteFile(s.path("host.db"), raw, 0o600))
}

func (s *stage) report(id string) bus.ArmReport {
	s.t.Helper()
	return must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id})
}

// spawnOrder returns an order to start the arm with the given name again.
func (s *stage) spawnOrder(name string) bus.SpawnOrder {
	return bus.SpawnOrder{
		ID: filepath.Base(s.dir) + filepath.Base(filepath.Dir(s.dir)) + name, Name: name, Harness: "fake",
		Config: coleo.SpawnConfig{Workdir: s.path("work-" + name)},
	}
}

func (s *stage) checkAttached(id string, want bus.ArmReport) {
	s.t.Helper()
	got := s.report(id)
	if !got.Attached || got.Generation != want.Generation || got.Handle == nil ||
		got.Handle.Process != want.Handle.Process {
		s.t.Errorf("arm %s is %+v, want start %d with process %d", id, got, want.Generation, want.Handle.Process.PID)
	}
	if process.Look(want.Handle.Process) != process.Alive {
		s.t.Errorf("process %d of arm %s has ended", want.Handle.Process.PID, id)
	}
	s.awaitState(id, coleo.Idle)
}

func TestAnArmIsTakenUpWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	was := s.report(id)
	s.whileDown(s.loseDB)
	s.checkAttached(id, was)
	if got := s.report(id); got.Name != "ada" || armfolder.LastID(s.dir) != hostID {
		t.Errorf("its name is %q, the host agent's last id %q", got.Name, armfolder.LastID(s.dir))
	}
	s.prompt(id, "say again")
	s.awaitState(id, coleo.Idle)
}

func TestAnArmIsTakenUpBehindAnOlderDatabase(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	var older []byte
	s.whileDown(func() { older = s.copyDB() })
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	s.arm("ada")
	was := s.report(id)
	if was.Generation != 2 {
		t.Fatalf("generation %d, want 2", was.Generation)
	}
	s.whileDown(func() { s.restoreDB(older) })
	s.checkAttached(id, was)
}

// TestNothingIsStartedBesideWhatRunsInAnArmsFolder starts an arm whose agent CLI already runs,
// although neither the database nor the folder has its record. The start must be refused.
func TestNothingIsStartedBesideWhatRunsInAnArmsFolder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	was := s.report(id)
	s.whileDown(func() {
		s.loseDB()
		_ = os.Remove(filepath.Join(s.dir, "arms", id, "arm.json"))
	})
	if got := s.events(id, coleo.EventOrphaned); len(got) != 1 {
		t.Errorf("%d events tell of the orphan, want one", len(got))
	}
	s.refused(coleo.EConflict, bus.OpSpawn, s.spawnOrder("ada"))
	if process.Look(was.Handle.Process) != process.Alive {
		t.Error("what ran was ended")
	}
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id}) // the refused order has made the arm known
	if process.Look(was.Handle.Process) != process.Dead {
		t.Error("what ran was not ended by kill")
	}
	s.arm("ada")
	if got := s.report(id); got.Generation <= was.Generation {
		t.Errorf("generation %d comes after %d", got.Generation, was.Generation)
	}
}

// TestWhatAKilledHostAgentStartedIsFound kills the host agent between a start and the write that
// records it. The next host agent must find the start.
func TestWhatAKilledHostAgentStartedIsFound(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	was := s.report(id)
	a, err := s.host.arm(id)
	s.check(err)
	s.halt()
	a.record.Handle, a.record.Status, a.record.State = nil, coleo.StatusStarting, coleo.Initializing
	s.check(a.keepFile())
	s.loseDB()
	s.start()
	s.checkAttached(id, was)
}

// TestACopyOfTheFolderLeavesTheArmsToTheOther runs a host agent on a copied folder. It must not
// attach to the arms, end them or start them again.
func TestACopyOfTheFolderLeavesTheArmsToTheOther(t *testing.T) {
	t.Parallel()
	s, other := newStage(t), newStage(t)
	id := s.arm("ada")
	was := s.report(id)
	var db []byte
	s.whileDown(func() { db = s.copyDB() })
	other.whileDown(func() {
		other.restoreDB(db)
		s.check(os.CopyFS(filepath.Join(other.dir, "arms", id, "g1", "journal"),
			os.DirFS(holder.JournalDir(was.Handle.Dir))))
		raw, err := os.ReadFile(filepath.Join(s.dir, "arms", id, "arm.json"))
		s.check(err)
		s.check(os.WriteFile(filepath.Join(other.dir, "arms", id, "arm.json"), raw, 0o600))
	})
	if got := other.report(id); got.Attached {
		t.Error("the copy has taken up the other's arm")
	}
	o := s.spawnOrder("ada")
	other.refused(coleo.EConflict, bus.OpSpawn, o)
	must[bus.ArmReport](other, bus.OpKill, bus.ArmOrder{Arm: id})
	s.checkAttached(id, was)
}

// TestM28AMergeWaitsForAForkAboveSeveralRepositories merges from one of an arm's repositories while
// a fork works in the folder above all of them. The merge must be refused.
func TestM28AMergeWaitsForAForkAboveSeveralRepositories(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	h := &Host{arms: map[string]*arm{}}
	for name, status := range map[string]coleo.Status{"fix": coleo.StatusStopped, "fork": coleo.StatusRunning} {
		h.arms[name] = &arm{host: h, record: store.ArmRecord{ID: name, Name: name, Workdir: top, Status: status}}
	}
	one := workspace.Workspace{Path: filepath.Join(top, "library"), Top: top}
	if _, err := h.lockForMerge(h.arms["fix"], one); coleo.ErrorCode(err) != coleo.EBusy ||
		!strings.Contains(err.Error(), "arm fork ") {
		t.Fatalf("while a fork works above: %v", err)
	}
	h.arms["fork"].record.Status = coleo.StatusStopped
	unlock, err := h.lockForMerge(h.arms["fix"], one)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// A user has labelled an arm, and then the database is replaced by an older copy. The host agent must still
// know the label, even if the arm has not started again since the user set it.
func TestWhatAUserHasChosenIsTakenUpBehindAnOlderDatabase(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	var older []byte
	s.whileDown(func() { older = s.copyDB() })
	must[bus.LabelReport](s, bus.OpLabel, bus.LabelOrder{Arm: id, Labels: coleo.Labels{"team": "a"}})
	s.whileDown(func() { s.restoreDB(older) })
	if got := s.report(id).Config.Chosen; got == nil || got.Labels["team"] != "a" {
		t.Errorf("a user has chosen %+v, want the label", got)
	}
}
