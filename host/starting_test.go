package host

import (
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
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
