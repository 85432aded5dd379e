package host

import (
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armfolder"
)

// An order finds an arm of host local, and waits while the arm moves to the host agent. The order must then
// change nothing: otherwise the arm's folder would name host local again, without the arm's queue.
func TestAnOrderThatHasWaitedForAMoveChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	id := local.arm("ada")
	local.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"})
	first := local.followUp(id, "say one")
	a, err := local.host.arm(id)
	s.check(err)
	s.moveToHostAgent(local, id)
	local.host.mu.Lock()
	local.host.arms[id] = a // the order has found the arm just before the move
	local.host.mu.Unlock()
	local.refusesChanges(id)
	local.host.mu.Lock()
	delete(local.host.arms, id)
	local.host.mu.Unlock()
	if kept, err := armfolder.Read(s.dir, id); err != nil || kept.Host != s.named {
		t.Errorf("the arm's folder names the host %q, %v, want %s", kept.Host, err, s.named)
	}
	s.restart()
	local.restart()
	if q := s.queue(id, coleo.QueueOrder{}); local.has(id) || len(q.Entries) != 1 || q.Entries[0].ID != first {
		t.Errorf("after restarts the queue is %+v, and host local has the arm: %v", q, local.has(id))
	}
}

// A call of another arm uses up a common budget while the arm moves to the host agent. Host local must not park the
// arm, because it no longer drives it.
func TestAnArmThatHasMovedIsNotParkedAtABudget(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	id := local.arm("ada")
	a, err := local.host.arm(id)
	s.check(err)
	s.moveToHostAgent(local, id)
	p := coleo.Parked{Limit: coleo.Limit{Kind: coleo.LimitBudget, Text: "$2.00 of $1.00", Seen: time.Now()}, Try: 1}
	if parked, err := (meteredArm{a}).Park(t.Context(), p, nil); parked || coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("the arm is parked: %v, %v", parked, err)
	}
	if r, err := local.db.Arm(t.Context(), id); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("host local has the arm again: %+v, %v", r, err)
	}
}

// refusesChanges gives each order that changes an arm's record without a session. The host must refuse all of
// them, because it no longer has the arm.
func (s *stage) refusesChanges(id string) {
	s.t.Helper()
	for op, order := range map[bus.Op]any{
		bus.OpLabel:   bus.LabelOrder{Arm: id, Labels: coleo.Labels{"a": "b"}},
		bus.OpRename:  bus.RenameOrder{Arm: id, Name: "grace"},
		bus.OpOnLimit: bus.OnLimitOrder{Arm: id, OnLimit: "ask"},
		bus.OpBudget:  bus.BudgetOrder{Arm: id, BudgetOrder: coleo.BudgetOrder{Budget: &coleo.Budget{}}},
		bus.OpModel: bus.ModelOrder{Arm: id, ModelOrder: coleo.ModelOrder{Model: "other",
			Scope: coleo.ScopeDefault}},
	} {
		s.refused(coleo.ENotFound, op, order)
	}
}

// An order finds an arm, and waits while the arm is removed. The order must not make the removed arm come back.
func TestAnOrderThatHasWaitedForARemovalChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	a, err := s.host.arm(id)
	s.check(err)
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	must[bus.Removed](s, bus.OpRemove, bus.ArmOrder{Arm: id})
	s.host.mu.Lock()
	s.host.arms[id] = a // the order has found the arm just before the removal
	s.host.mu.Unlock()
	s.refusesChanges(id)
	s.host.mu.Lock()
	delete(s.host.arms, id)
	s.host.mu.Unlock()
	s.restart()
	if list := must[[]bus.ArmReport](s, bus.OpList, nil); len(list) != 0 {
		t.Errorf("after a restart the host has the arms %+v, want none", list)
	}
}

// Serve orders the host agent to take an arm, and at the same moment the host agent finds the arm in its folder.
// Both must get the same arm. Otherwise one of them could have a session that no order reaches.
func TestAnArmThatIsTakenTwiceAtOnceIsOneArm(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	local := s.serveItself()
	id := local.arm("ada")
	must[struct{}](local, bus.OpRelease, bus.ReleaseOrder{Arm: id, To: s.named})
	const many = 8
	var taking sync.WaitGroup
	start, got := make(chan struct{}), make(chan *arm, many)
	for range many {
		taking.Go(func() {
			<-start
			a, err := s.host.takeNamed(t.Context(), id)
			if err != nil {
				t.Errorf("the arm was not taken: %v", err)
			}
			got <- a
		})
	}
	close(start)
	taking.Wait()
	a, err := s.host.arm(id)
	s.check(err)
	for range many {
		if other := <-got; other != a {
			t.Errorf("one of %d has another arm than the host agent", many)
		}
	}
	must[bus.ArmReport](s, bus.OpTake, bus.ArmOrder{Arm: id})
	s.prompt(id, "say one")
	s.awaitState(id, coleo.Idle)
}
