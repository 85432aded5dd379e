package host

import (
	"context"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/queue"
	"coleo.dev/store"
)

// These tests have orders that wait until an arm has been removed. Such an order must not bring the arm back.

// An order can find an arm, and then wait until the removal of that arm has ended. It must then do nothing.
// Otherwise it would write the arm's record and folder again.
func TestAnOrderThatWaitsForARemovalDoesNotBringTheArmBack(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(*arm, context.Context) error{
		"kill":   func(a *arm, ctx context.Context) error { return a.kill(ctx, 0) },
		"attach": (*arm).adopt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			id := s.arm("ada")
			a, err := s.host.arm(id)
			s.check(err)
			must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
			must[bus.Removed](s, bus.OpRemove, bus.ArmOrder{Arm: id})
			if err := do(a, t.Context()); coleo.ErrorCode(err) != coleo.ENotFound {
				t.Errorf("%v, want %s", err, coleo.ENotFound)
			}
			s.restart()
			if s.has(id) {
				t.Error("the removed arm is back")
			}
		})
	}
}

// A start waits for the removal of the same arm. The host agent must not start an arm that it then does not know.
func TestAStartThatWaitsForARemovalIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	a, err := s.host.arm(id)
	s.check(err)
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	a.typing.RLock() // the removal waits for this order
	removed := make(chan error, 1)
	go func() { removed <- s.ask(bus.OpRemove, bus.ArmOrder{Arm: id}, nil) }()
	s.until("the removal has begun", func() bool { return a.pulse(0).Starting })
	o := s.order("ada")
	o.Config.Workdir = s.workdir("ada")
	started := make(chan error, 1)
	go func() { started <- s.ask(bus.OpSpawn, o, nil) }()
	s.until("the start waits", func() bool {
		s.host.mu.Lock()
		defer s.host.mu.Unlock()
		return s.host.starts[id] > 0
	})
	a.typing.RUnlock()
	s.check(<-removed)
	if err := <-started; coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("the start: %v, want %s", err, coleo.ENotFound)
		s.endArm(*a.recordNow().Handle)
	}
	must[bus.ArmReport](s, bus.OpSpawn, o)
	s.awaitState(id, coleo.Idle)
}

// A budget changes while an arm that waits at a budget is removed. The new reason of the wait must not bring the
// arm back.
func TestAChangedBudgetDoesNotBringARemovedArmBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	a, err := s.host.arm(id)
	s.check(err)
	s.endArm(*a.recordNow().Handle)
	s.awaitState(id, coleo.Dead)
	p := coleo.Parked{Limit: coleo.Limit{Kind: coleo.LimitBudget, Text: "$2.00 of $1.00", Seen: time.Now()}, Try: 1}
	s.check(a.change(t.Context(), func(r *store.ArmRecord) []coleo.Event {
		return armrecord.SetParked(r, queue.Park(armrecord.Queue(r), p),
			coleo.ParkChange{Step: coleo.ParkBegun, Parked: p})
	}))
	must[bus.Removed](s, bus.OpRemove, bus.ArmOrder{Arm: id})
	a.renewParked(t.Context())
	s.restart()
	if s.has(id) {
		t.Error("the removed arm is back")
	}
}
