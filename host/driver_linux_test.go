package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armfolder"
)

// serveItself starts host local on the same folder, as serve does. It ends before the stage s.
func (s *stage) serveItself() *stage {
	s.t.Helper()
	local := &stage{t: s.t, dir: s.dir, reg: s.reg, serve: s.serve, bus: s.bus, way: s.way, named: coleo.LocalHost}
	local.start()
	s.t.Cleanup(local.end)
	return local
}

// has reports whether the host has an arm.
func (s *stage) has(id string) bool {
	err := s.ask(bus.OpReport, bus.ArmOrder{Arm: id}, nil)
	if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
		s.t.Fatal(err)
	}
	return err == nil
}

// moveToHostAgent makes host local give an arm to the host agent.
func (s *stage) moveToHostAgent(local *stage, id string) bus.ArmReport {
	s.t.Helper()
	s.until("the host lets the arm go", func() bool { // host local refuses while it checks the arm's queue
		err := local.ask(bus.OpRelease, bus.ReleaseOrder{Arm: id, To: s.named}, nil)
		if err != nil && coleo.ErrorCode(err) != coleo.EBusy {
			s.t.Fatal(err)
		}
		return err == nil
	})
	return must[bus.ArmReport](s, bus.OpTake, bus.ArmOrder{Arm: id})
}

func TestAnArmHasOneDriver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	for _, pair := range [][2]*stage{{s, local}, {local, s}} {
		driver, other := pair[0], pair[1]
		id := driver.arm("of-" + strings.ReplaceAll(driver.named, ".", ""))
		pid := must[bus.ArmReport](driver, bus.OpReport, bus.ArmOrder{Arm: id}).Handle.Process.PID
		o := other.order("of-" + strings.ReplaceAll(driver.named, ".", ""))
		err := other.ask(bus.OpSpawn, o, nil)
		if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "drives arm") {
			t.Errorf("a start beside the driver %s = %v, want a refusal that names who drives", driver.named, err)
		}
		for _, op := range []bus.Op{bus.OpAdopt, bus.OpKill, bus.OpRemove} {
			if err := other.ask(op, bus.ArmOrder{Arm: id}, nil); err == nil {
				t.Errorf("%s beside the driver %s was carried out", op, driver.named)
			}
		}
		if now := must[bus.ArmReport](driver, bus.OpReport, bus.ArmOrder{Arm: id}); now.Handle.Process.PID != pid ||
			now.Process != bus.ProcessAlive || !now.Attached {
			t.Errorf("the arm of %s is %+v, want process %d unharmed", driver.named, now, pid)
		}
	}
}

// TestEachHostTakesUpItsOwnArms starts both hosts on the same folders. Each must attach only to its
// own arms.
func TestEachHostTakesUpItsOwnArms(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	mine, its := s.arm("mine"), local.arm("its")
	for _, restarted := range []*stage{s, local} {
		restarted.restart()
		for arm, driver := range map[string]*stage{mine: s, its: local} {
			if r := must[bus.ArmReport](driver, bus.OpReport, bus.ArmOrder{Arm: arm}); !r.Attached {
				t.Errorf("after a restart of %s, %s has no session of its arm", restarted.named, driver.named)
			}
		}
		if s.has(its) || local.has(mine) {
			t.Errorf("after a restart of %s, a host has the other one's arm", restarted.named)
		}
	}
	if id := armfolder.LastID(s.dir); id != hostID {
		t.Errorf("the folder's last host agent is %q, want %q", id, hostID)
	}
	if list := armfolder.LocalArms(s.dir); len(list) != 1 || list[0].Name != "its" {
		t.Errorf("the arms that serve drives are %+v", list)
	}
}

func TestAnArmMovesWithItsRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	id := local.arm("ada")
	local.prompt(id, "say one")
	local.awaitState(id, coleo.Idle)
	local.until("the first run has ended", func() bool { return len(local.events(id, coleo.EventRunEnd)) == 1 })
	was := must[bus.ArmReport](local, bus.OpReport, bus.ArmOrder{Arm: id})
	run := local.prompt(id, "pause 2s\nsay two")
	now := s.moveToHostAgent(local, id)
	if now.Handle.Process != was.Handle.Process || now.Generation != was.Generation || !now.Attached {
		t.Errorf("the arm is %+v, and was %+v", now, was)
	}
	if local.has(id) {
		t.Error("host local still has the arm")
	}
	s.until("the run has ended", func() bool { return len(s.events(id, coleo.EventRunEnd)) == 1 })
	end, err := coleo.DecodeRunEnd(s.events(id, coleo.EventRunEnd)[0])
	if s.check(err); s.events(id, coleo.EventRunEnd)[0].Run != run.ID || end.Answer != "two" {
		t.Errorf("the end is %+v of run %s, want %s", end, s.events(id, coleo.EventRunEnd)[0].Run, run.ID)
	}
	if starts := s.events(id, coleo.EventRunStart); len(starts) != 0 {
		t.Errorf("the run began %d times again", len(starts))
	}
	s.prompt(id, "say three")
	s.awaitState(id, coleo.Idle)
	if got := s.prompted("ada"); !slices.Equal(got, []string{"say one", "pause 2s\nsay two", "say three"}) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
	local.restart()
	s.restart()
	if local.has(id) || !must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Attached {
		t.Error("after restarts the arm is not the host agent's")
	}
}

// TestAPromptThatWasAboutToBeTypedMoves kills serve while it sends a prompt to an arm that it drives itself.
// The next serve moves the arm to the host agent before it knows what became of the prompt. The host agent must
// then find out whether the prompt was typed.
func TestAPromptThatWasAboutToBeTypedMoves(t *testing.T) {
	t.Parallel()
	for what, before := range map[string]bool{"typed": false, "not typed": true} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			local := s.serveItself()
			id := local.arm("ada")
			a, err := local.host.arm(id)
			s.check(err)
			a.mu.Lock()
			a.session = cutSession{a.session, local.db, before}
			a.mu.Unlock()
			if _, err := a.prompt(t.Context(), promptOrder(id, "say one")); err == nil {
				t.Fatal("the prompt was answered by a serve that had been killed")
			}
			local.halt()
			// Move the arm as the next serve would. That serve knows from its database that the prompt was about to be
			// typed. It moves the arm before it has looked whether the prompt was typed.
			local.host = nil
			s.check(moveUnseen(s, local, id))
			local.start()
			must[bus.ArmReport](s, bus.OpTake, bus.ArmOrder{Arm: id})
			if n := len(s.events(id, coleo.EventPromptLost)); (n == 1) != before {
				t.Errorf("%d prompts are called lost", n)
			}
			if n := len(s.prompted("ada")); (n == 0) != before {
				t.Errorf("the agent CLI was prompted %d times", n)
			}
			if before {
				return
			}
			s.until("the run has ended", func() bool { return len(s.events(id, coleo.EventRunEnd)) == 1 })
			if end := s.ends(id); len(end) != 1 {
				t.Errorf("the runs ended with %+v, want one", end)
			}
		})
	}
}

// moveUnseen writes into the arm's folder that the arm now belongs to the host agent, as the order to release
// an arm does. Nobody has looked yet whether the arm's last prompt was typed.
func moveUnseen(s, local *stage, id string) error {
	db, err := openHostDB(local)
	if err != nil {
		return err
	}
	defer db.Close()
	record, err := db.Arm(s.t.Context(), id)
	if err != nil {
		return err
	}
	if len(record.Intended) != 1 {
		s.t.Fatalf("%d prompts are about to be typed, want one", len(record.Intended))
	}
	a := &arm{host: &Host{Config: Config{ID: coleo.LocalHost, Dir: s.dir}}, record: record}
	return a.writeFolder(s.named, true)
}

func TestAnArmDoesNotMoveWhileItIsTypedInto(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	id := local.arm("ada")
	a, err := local.host.arm(id)
	s.check(err)
	release := bus.ReleaseOrder{Arm: id, To: s.named}
	a.typing.RLock()
	local.refused(coleo.EBusy, bus.OpRelease, release)
	a.typing.RUnlock()
	done := a.begin()
	local.refused(coleo.EBusy, bus.OpRelease, release)
	done()
	lease := must[coleo.Lease](local, bus.OpLease, bus.LeaseOrder{Arm: id, Holder: "somebody"})
	local.refused(coleo.EBusy, bus.OpRelease, release)
	must[coleo.Lease](local, bus.OpLease, bus.LeaseOrder{Arm: id, ID: lease.ID, Release: true})
	s.refused(coleo.ENotFound, bus.OpTake, bus.ArmOrder{Arm: id})
	s.refused(coleo.EInvalid, bus.OpRelease, release)
	local.prompt(id, "say still-here")
	local.awaitState(id, coleo.Idle)
	must[struct{}](local, bus.OpRelease, release)
	local.refused(coleo.ENotFound, bus.OpPrompt, promptOrder(id, "say no"))
	s.restart() // serve was killed here, so the host agent finds its own id in the folder
	if !must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Attached {
		t.Error("the host agent has no session of the arm")
	}
}

// TestAStrayIsTakenUpByTheHostAgentThatItsFolderNames kills serve while it moves an arm to a
// running host agent. The host agent must attach to the arm.
func TestAStrayIsTakenUpByTheHostAgentThatItsFolderNames(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	id := local.arm("ada")
	must[struct{}](local, bus.OpRelease, bus.ReleaseOrder{Arm: id, To: s.named})
	local.restart()
	if s.has(id) || local.has(id) {
		t.Fatal("somebody has the arm already")
	}
	s.host.takeStrays(t.Context())
	if !must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Attached {
		t.Error("the host agent has no session of the arm")
	}
}

// TestAFailedMoveChangesNothing makes the arm's folder unwritable during a move, so the move fails. Host local
// must keep the arm and drive it again.
func TestAFailedMoveChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	id := local.arm("ada")
	kept := filepath.Join(s.dir, "arms", id, armfolder.RecordFile)
	aside := filepath.Join(t.TempDir(), armfolder.RecordFile)
	s.check(os.Rename(kept, aside))
	s.check(os.MkdirAll(filepath.Join(kept, "full"), 0o700)) // a file cannot replace this folder
	if err := local.ask(bus.OpRelease, bus.ReleaseOrder{Arm: id, To: s.named}, nil); err == nil {
		t.Fatal("the arm was released")
	}
	s.check(os.RemoveAll(kept))
	s.check(os.Rename(aside, kept))
	s.refused(coleo.ENotFound, bus.OpTake, bus.ArmOrder{Arm: id})
	local.until("host local reads the arm again", func() bool {
		return must[bus.ArmReport](local, bus.OpReport, bus.ArmOrder{Arm: id}).Attached
	})
	local.prompt(id, "say one")
	local.awaitState(id, coleo.Idle)
	if got := local.prompted("ada"); !slices.Equal(got, []string{"say one"}) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
}

// TestAStoppedArmStartsOnTheOtherHost starts a stopped arm on another host, which is allowed because no process
// drives the arm. The next time the former host starts, it must remove the arm.
func TestAStoppedArmStartsOnTheOtherHost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	id := local.arm("ada")
	must[bus.ArmReport](local, bus.OpKill, bus.ArmOrder{Arm: id})
	o := s.order("ada")
	o.Config.Workdir = s.path("work-ada")
	report := must[bus.ArmReport](s, bus.OpSpawn, o)
	if report.Generation != 2 {
		t.Errorf("the start has number %d, want 2", report.Generation)
	}
	local.refused(coleo.EConflict, bus.OpSpawn, o)
	local.restart()
	if local.has(id) {
		t.Error("host local still has the arm")
	}
}

// startsAgain starts the arm ada, which was on another host before, for the second time.
func (s *stage) startsAgain(id string) {
	s.t.Helper()
	o := s.order("ada")
	o.ID, o.Config.Workdir, o.Config.Generation = id, s.path("work-ada"), 2
	must[bus.ArmReport](s, bus.OpSpawn, o)
	s.awaitState(id, coleo.Idle)
}

// An arm can move to another host, or start there again, while its log stays on the former host. The new host
// must still know the earlier prompts. A client repeats its order if it did not receive the answer, and the
// prompt must not be sent again.
func TestAPromptIsNotSentAgainOnTheNextHostOfTheArm(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s, local *stage, id string){
		"which takes the arm": func(s, local *stage, id string) { s.moveToHostAgent(local, id) },
		"which starts the arm": func(s, local *stage, id string) {
			must[bus.ArmReport](local, bus.OpKill, bus.ArmOrder{Arm: id})
			s.startsAgain(id)
			local.host.mu.Lock()
			delete(local.host.arms, id) // otherwise host local would try to kill the arm at the end of the test
			local.host.mu.Unlock()
		},
		"which starts the arm, and no host has seen its end": func(s, local *stage, id string) {
			handle := local.report(id).Handle
			local.whileDown(func() {
				local.endArm(*handle)
				s.startsAgain(id)
			})
		},
		"which starts the arm after a loss of power": func(s, local *stage, id string) {
			handle := local.report(id).Handle
			local.whileDown(func() {
				local.endArm(*handle)
				s.check(os.Remove(armfolder.Of(s.dir, id).File("past-prompts.new"))) // they were not on the disk
			})
			local.awaitState(id, coleo.Dead)
			local.whileDown(func() { s.startsAgain(id) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			local := s.serveItself()
			id := local.arm("ada")
			local.addOnce(id, "one")
			local.awaitRuns(id, 1)
			local.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"})
			local.addOnce(id, "two")
			local.queue(id, coleo.QueueOrder{Step: coleo.QueueRemoved, ID: "two"})
			local.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
			change(s, local, id)
			for range 2 {
				if out, err := s.addAgain(id, "one"); err != nil || out.ID != "one" || len(out.Queue.Entries) != 0 {
					t.Errorf("the answer is %+v, %v, want the id of the run that has ended", out, err)
				}
				if _, err := s.addAgain(id, "two"); coleo.ErrorCode(err) != coleo.EConflict {
					t.Errorf("a removed prompt: %v, want %s", err, coleo.EConflict)
				}
				s.restart()
			}
			s.addOnce(id, "three")
			s.awaitPrompted("ada", "say one", "say three")
		})
	}
}
