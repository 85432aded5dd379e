package host

import (
	"fmt"
	"os"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armfolder"
	"coleo.dev/store"
)

// A report during a start must not contain the state of the previous start. Otherwise a recovery
// would end the arm that is just being started.
func TestAReportDuringAStartDoesNotSayThatTheArmIsDead(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	must[any](s, bus.OpKill, bus.ArmOrder{Arm: id})
	if r := s.report(id); r.Reading.State != coleo.Dead {
		t.Fatalf("after the kill, the report says %+v", r.Reading)
	}
	o := s.order("ada")
	o.Config.Workdir = s.workdir("ada")
	started := make(chan error, 1)
	go func() { started <- s.ask(bus.OpSpawn, o, nil) }()
	for during := 0; len(started) == 0; time.Sleep(time.Millisecond) { // a start takes tens of milliseconds
		if r := s.report(id); r.Generation == 2 {
			during++
			if r.Reading.State == coleo.Dead {
				t.Fatalf("report %d during the start says %+v", during, r.Reading)
			}
		}
	}
	s.check(<-started)
	s.awaitState(id, coleo.Idle)
}

// Several arms start at the same moment on a host agent with room for one arm. Only one of them may start.
func TestStartsAtTheSameTimeAreNotMoreThanTheHostAgentHasRoomFor(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, "", &stage{alter: func(c *Config) { c.MaxArms = 1 }})
	const many = 4
	started := make(chan error, many)
	for i := range many {
		o := s.order(fmt.Sprintf("ada-%d", i))
		o.Config.Workdir = s.workdir(o.Name)
		go func() { started <- s.ask(bus.OpSpawn, o, nil) }()
	}
	running := 0
	for range many {
		switch err := <-started; {
		case err == nil:
			running++
		case coleo.ErrorCode(err) != coleo.EConflict:
			t.Errorf("a start without room: %v, want %s", err, coleo.EConflict)
		}
	}
	if running != 1 {
		t.Errorf("%d arms run, want one", running)
	}
}

// Two orders start the same new arm at the same time. The first one is refused, because another process drives the
// arm. Then that process ends, and the second order starts the arm. The host agent must know the arm.
func TestAnArmWhoseFirstOrderWasRefusedIsKnownAfterTheSecond(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.order("ada")
	o.Config.Workdir = s.workdir("ada")
	var other armfolder.Lock
	s.check(other.Take(armfolder.Of(s.dir, o.ID), "ada"))
	started := make(chan error, 2)
	for range cap(started) {
		go func() { started <- s.ask(bus.OpSpawn, o, nil) }()
	}
	if err := <-started; coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("the first order: %v, want %s", err, coleo.EConflict)
	}
	other.Release(func() bool { return false }, func() {})
	s.check(<-started)
	s.awaitState(o.ID, coleo.Idle)
}

// Serve makes an order to start an arm, and the arm is renamed before the order is carried out. The order must not
// set the old name again.
func TestAnOrderFromBeforeARenameKeepsTheNewName(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	order := s.order("ada")
	order.NewID = false
	must[any](s, bus.OpRename, bus.RenameOrder{Arm: id, Name: "bob"})
	if r := must[bus.ArmReport](s, bus.OpSpawn, order); r.Name != "bob" {
		t.Errorf("the arm is called %s, want bob", r.Name)
	}
	s.restart()
	if r := must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}); r.Name != "bob" {
		t.Errorf("after a restart of the host agent the arm is called %s, want bob", r.Name)
	}
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	order.Config.Generation = 9 // another host has started and renamed the arm since
	order.Name = "eve"
	if r := must[bus.ArmReport](s, bus.OpSpawn, order); r.Name != "eve" {
		t.Errorf("after starts on another host the arm is called %s, want eve", r.Name)
	}
}

// The record in the arm's folder cannot be written, for example because the disk is full. The arm must count as
// stopped then. An arm that seems to start for ever would prevent each merge of its work.
func TestAStartThatCannotWriteTheFolderLeavesAStoppedArm(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	inTheWay := s.path("arms/" + id + "/arm.json.new")
	s.check(os.Mkdir(inTheWay, 0o700))
	order := s.order("ada")
	order.NewID = false
	if err := s.ask(bus.OpSpawn, order, nil); err == nil {
		t.Fatal("the start has succeeded")
	}
	a, err := s.host.arm(id)
	s.check(err)
	if r := a.recordNow(); r.Status != coleo.StatusStopped || r.Desired != coleo.DesiredStopped {
		t.Errorf("the arm is %s, and is to be %s; want a stopped arm", r.Status, r.Desired)
	}
	if why := a.mayChangeFiles(); why != "" {
		t.Errorf("its work cannot be merged, because it %s", why)
	}
	s.check(os.Remove(inTheWay))
	must[bus.ArmReport](s, bus.OpSpawn, order)
	s.awaitState(id, coleo.Idle)
}

// A spawn order fails because another process drives the arm. Meanwhile this host has taken the arm. The failed
// order must not remove the arm that was taken.
func TestAFailedOrderKeepsAnArmThatWasTakenMeanwhile(t *testing.T) {
	t.Parallel()
	h := &Host{arms: map[string]*arm{}, starts: map[string]int{}}
	ordered, err := h.enlist(bus.SpawnOrder{ID: "a", Name: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	taken := h.newArm(store.ArmRecord{ID: "a", Name: "ada", Generation: 2})
	h.arms["a"] = taken // as takeNamed does
	if h.delist(ordered); h.arms["a"] != taken {
		t.Error("the host no longer has the arm that it took")
	}
}
