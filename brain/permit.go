package brain

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

const (
	// permitTime is how long one permit allows typing into an arm. A host agent that is
	// cut off freezes its arms within this time. A start of such an arm elsewhere takes
	// no keys before this time has passed.
	permitTime = 10 * time.Second
	// permitEvery is the time between two renewals. Three renewals may get lost.
	permitEvery = 2500 * time.Millisecond
	// clockDrift is how far the clocks of two machines may drift apart within permitTime.
	clockDrift = time.Second
)

// Arbiter decides which start of an arm may be typed into. At most one start may be typed
// into at any time.
type Arbiter interface {
	// Grant permits the arm's start on a host for permitTime from now on, and returns 0.
	// If another host's permit may still hold, it grants nothing. It then returns how
	// long that permit may still hold.
	Grant(arm, host string) time.Duration
}

// soleArbiter is the Arbiter of a fleet with one serve. It stores nothing. The permits of
// an earlier serve have all lapsed permitTime after this one's start.
type soleArbiter struct {
	began time.Time

	mu   sync.Mutex
	last map[string]grant // by arm
}

// grant is the last permit of an arm.
type grant struct {
	host string
	at   time.Time
}

func newArbiter() *soleArbiter { return &soleArbiter{began: time.Now(), last: map[string]grant{}} }

// Grant implements Arbiter. It uses the machine's monotonic clock, which the user cannot
// set. That clock stops while the machine sleeps, which only makes the wait longer.
func (s *soleArbiter) Grant(arm, host string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.last[arm]
	if !known {
		last = grant{at: s.began}
	}
	if left := permitTime + clockDrift - time.Since(last.at); last.host != host && left > 0 {
		return left
	}
	s.last[arm] = grant{host: host, at: time.Now()}
	return 0
}

// freezes reports whether an arm may be typed into only under a permit.
func freezes(arm coleo.Arm) bool {
	var c coleo.SpawnConfig
	return len(arm.Config) > 0 && json.Unmarshal(arm.Config, &c) == nil && c.OnPartition == coleo.PartitionFreeze
}

// renewPermits renews the permits of a host's arms. For each arm that could not get one
// it returns how long to wait until it can, by the arm's id.
func (b *Brain) renewPermits(ctx context.Context, host string) (map[string]time.Duration, error) {
	var clock bus.Clock
	if err := b.Bus.Ask(ctx, host, bus.OpPermit, bus.PermitOrder{}, &clock); err != nil {
		return nil, err
	}
	list, err := b.DB.Arms(ctx, false)
	if err != nil {
		return nil, err
	}
	order, waits := bus.PermitOrder{Clock: clock.ID, Until: clock.Now + permitTime}, map[string]time.Duration{}
	for _, arm := range list {
		if arm.AgentID != host || arm.Generation == 0 || !freezes(arm) {
			continue
		}
		if left := b.Arbiter.Grant(arm.ID, host); left > 0 {
			waits[arm.ID] = left
			continue
		}
		order.Arms = append(order.Arms, bus.ArmOrder{Arm: arm.ID, Generation: arm.Generation})
	}
	if len(order.Arms) == 0 {
		return waits, nil
	}
	return waits, b.Bus.Ask(ctx, host, bus.OpPermit, order, &clock)
}

// keepPermits renews a host's permits while the host reports arms that need them.
func (b *Brain) keepPermits(ctx context.Context, id string, m *member) {
	tick := time.NewTicker(permitEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !m.needsPermits(b) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, permitEvery)
		_, err := b.renewPermits(limited, id)
		cancel()
		if err != nil && ctx.Err() == nil {
			b.Log.Debug("renew the permits of a host", "host", id, "error", err)
		}
	}
}

// needsPermits reports whether the host's last pulse has an arm that needs a permit.
func (m *member) needsPermits(b *Brain) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range m.arms {
		if a.NeedsPermit {
			return true
		}
	}
	return false
}

// permit waits until an arm may be typed into. An arm that does not freeze may always be
// typed into. permit returns EUnproven if ctx ends first.
func (b *Brain) permit(ctx context.Context, arm coleo.Arm) error {
	if arm.AgentID == "" || !freezes(arm) {
		return nil
	}
	for {
		limited, cancel := context.WithTimeout(ctx, bus.DefaultTimeout)
		waits, err := b.renewPermits(limited, arm.AgentID)
		cancel()
		wait, held := waits[arm.ID]
		if err != nil || !held {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return coleo.Errorf(coleo.EUnproven,
				"nothing was typed: another start of arm %s may still take keys for %s",
				arm.Name, wait.Round(time.Second))
		}
	}
}
