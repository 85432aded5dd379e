package host

import (
	"fmt"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armfolder"
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
