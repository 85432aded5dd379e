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
	// permitTime is how long one permit lets an arm be typed into. A host agent
	// that is cut off freezes its arms within this time, and a start of the arm
	// elsewhere takes no keys before it has passed.
	permitTime = 10 * time.Second
	// permitEvery is how often permits are renewed: three renewals may get lost.
	permitEvery = 2500 * time.Millisecond
	// clockDrift is by how much the clocks of two machines may part in permitTime.
	clockDrift = time.Second
)

// Arbiter decides which start of an arm may be typed into. At most one may at
// any time.
type Arbiter interface {
	// Grant permits the start of an arm on a host for permitTime from now on. It
	// returns for how long another host's permit may still hold; then nothing is
	// granted. 0 means that the permit is granted.
	Grant(arm, host string) time.Duration
}

// soleArbiter is the Arbiter of a fleet with one serve. It keeps no record: the
// permits of the serve before it have all lapsed permitTime after its own start.
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

// Grant implements Arbiter. It reads the machine's own steady clock, which the
// user cannot set; while the machine sleeps it stands still, which only waits longer.
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

// freezes tells whether an arm may be typed into only under a permit.
func freezes(arm coleo.Arm) bool {
	var c coleo.SpawnConfig
	return len(arm.Config) > 0 && json.Unmarshal(arm.Config, &c) == nil && c.OnPartition == coleo.PartitionFreeze
}

// renewPermits renews the permits of a host's arms, and returns how long it is
// until an arm that was left out can have one.
func (b *Brain) renewPermits(ctx context.Context, host string) (time.Duration, error) {
	var clock bus.Clock
	if err := b.Bus.Ask(ctx, host, bus.OpPermit, bus.PermitOrder{}, &clock); err != nil {
		return 0, err
	}
	list, err := b.DB.Arms(ctx, false)
	if err != nil {
		return 0, err
	}
	order, wait := bus.PermitOrder{Clock: clock.ID, Until: clock.Now + permitTime}, time.Duration(0)
	for _, arm := range list {
		if arm.AgentID != host || arm.Generation == 0 || !freezes(arm) {
			continue
		}
		if left := b.Arbiter.Grant(arm.ID, host); left > 0 {
			wait = max(wait, left)
			continue
		}
		order.Arms = append(order.Arms, bus.ArmOrder{Arm: arm.ID, Generation: arm.Generation})
	}
	if len(order.Arms) == 0 {
		return wait, nil
	}
	return wait, b.Bus.Ask(ctx, host, bus.OpPermit, order, &clock)
}

// keepPermits renews a host's permits while it says that arms of it need them.
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

// needsPermits tells whether the host's last pulse names an arm that needs a permit.
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

// permit waits until an arm may be typed into. Arms without a freeze always may.
func (b *Brain) permit(ctx context.Context, arm coleo.Arm) error {
	if arm.AgentID == "" || !freezes(arm) {
		return nil
	}
	for {
		limited, cancel := context.WithTimeout(ctx, bus.DefaultTimeout)
		wait, err := b.renewPermits(limited, arm.AgentID)
		cancel()
		if err != nil || wait == 0 {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return coleo.Errorf(coleo.EUnproven, "nothing was typed: another start of arm %s may still take keys for %s", arm.Name, wait.Round(time.Second))
		}
	}
}
