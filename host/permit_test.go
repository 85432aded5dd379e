package host

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder"
)

// permitted is how long the permits in these tests last.
const permitted = 30 * time.Second

// spawnFrozen starts an arm that accepts keys only under a permit.
func (s *stage) spawnFrozen(name string) string {
	s.t.Helper()
	work := s.path("work-" + name)
	s.check(os.MkdirAll(work, 0o700))
	o := bus.SpawnOrder{
		ID: filepath.Base(s.dir) + filepath.Base(filepath.Dir(s.dir)) + name, Name: name, Harness: "fake",
		Config: coleo.SpawnConfig{Workdir: work, OnPartition: coleo.PartitionFreeze},
	}
	id := must[bus.ArmReport](s, bus.OpSpawn, o).ID
	s.awaitState(id, coleo.Idle)
	return id
}

// givePermit gives a permit to one start of the arm, as serve does. The end of the permit is a time of the
// given clock, which the host agent has returned.
func (s *stage) givePermit(clock bus.Clock, id string, generation int) {
	s.t.Helper()
	order := bus.PermitOrder{Clock: clock.ID, Until: clock.Now + permitted,
		Arms: []bus.ArmOrder{{Arm: id, Generation: generation}}}
	must[bus.Clock](s, bus.OpPermit, order)
}

// TestAFrozenArmTakesNoPrompt checks that nothing is typed into an arm without a permit, even after
// a restart of the host agent. A permit for another start or another clock must have no effect.
func TestAFrozenArmTakesNoPrompt(t *testing.T) {
	s := newStage(t)
	id := s.spawnFrozen("one")
	if pulse := must[bus.Pulse](s, bus.OpPulse, nil); !pulse.Arms[0].NeedsPermit {
		t.Errorf("the pulse does not say that the arm needs a permit: %+v", pulse.Arms[0])
	}
	clock := must[bus.Clock](s, bus.OpPermit, bus.PermitOrder{})
	s.refused(coleo.EUnproven, bus.OpPrompt, promptOrder(id, "say never-1"))
	s.givePermit(clock, id, 7)
	s.refused(coleo.EUnproven, bus.OpPrompt, promptOrder(id, "say never-2"))
	s.givePermit(bus.Clock{ID: "of another run", Now: clock.Now}, id, 1)
	s.refused(coleo.EUnproven, bus.OpPrompt, promptOrder(id, "say never-3"))
	s.givePermit(clock, id, 1)
	s.prompt(id, "say yes-1")
	s.awaitState(id, coleo.Idle)

	s.restart()
	s.awaitState(id, coleo.Idle)
	s.givePermit(clock, id, 1) // a permit on the clock of the previous host agent
	fresh := must[bus.Clock](s, bus.OpPermit, bus.PermitOrder{})
	s.givePermit(fresh, id, 1)
	s.prompt(id, "say yes-2")
	s.awaitState(id, coleo.Idle)
	if got, want := s.prompted("one"), []string{"say yes-1", "say yes-2"}; !slices.Equal(got, want) {
		t.Errorf("the agent CLI was prompted %q, want %q", got, want)
	}
}

// Two arms receive permits in one order, but one of the two holders is stopped by SIGSTOP. The other holder
// must still receive its permit in time: before the permit ends.
func TestAStoppedHolderKeepsNoPermitFromOthers(t *testing.T) {
	s := newStage(t)
	stopped, other := s.spawnFrozen("one"), s.spawnFrozen("two")
	pid := must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: stopped}).Handle.Holder.PID
	s.check(syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	clock := must[bus.Clock](s, bus.OpPermit, bus.PermitOrder{})
	must[bus.Clock](s, bus.OpPermit, bus.PermitOrder{
		Clock: clock.ID, Until: clock.Now + permitted/10, // shorter than the wait for a stopped holder
		Arms: []bus.ArmOrder{{Arm: stopped, Generation: 1}, {Arm: other, Generation: 1}},
	})
	s.prompt(other, "say yes")
	s.awaitState(other, coleo.Idle)
}

// TestAMuteHolderKeepsNoPermitFromOthers has a holder that accepts connections and never answers. The host
// agent must still answer an order for permits. No real holder does that, so a socket of the test takes its
// place.
func TestAMuteHolderKeepsNoPermitFromOthers(t *testing.T) {
	s := newStage(t)
	mute, other := s.spawnFrozen("one"), s.spawnFrozen("two")
	dir := must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: mute}).Handle.Dir
	socket := holder.SocketPath(dir)
	s.check(os.Rename(socket, socket+".away"))
	short, err := os.MkdirTemp("", "") // a short path, because a socket's address has room for 107 bytes only
	s.check(err)
	defer os.RemoveAll(short)
	never, err := net.Listen("unix", filepath.Join(short, "s"))
	s.check(err)
	s.check(os.Symlink(filepath.Join(short, "s"), socket))
	defer func() { s.check(errors.Join(never.Close(), os.Rename(socket+".away", socket))) }()
	clock := must[bus.Clock](s, bus.OpPermit, bus.PermitOrder{})
	start := time.Now()
	s.givePermit(clock, mute, 1)
	if took := time.Since(start); took > serveWaits {
		t.Errorf("the order was answered after %s; serve waits for %s", took, serveWaits)
	}
	must[bus.Clock](s, bus.OpPermit, bus.PermitOrder{
		Clock: clock.ID, Until: clock.Now + permitted,
		Arms: []bus.ArmOrder{{Arm: mute, Generation: 1}, {Arm: other, Generation: 1}},
	})
	s.prompt(other, "say yes")
	s.awaitState(other, coleo.Idle)
}

// serveWaits is how long serve waits for the answer to an order for permits.
const serveWaits = 2500 * time.Millisecond
