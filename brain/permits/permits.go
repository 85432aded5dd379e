// Package permits decides on which host Coleo may type into an arm. Two starts of one arm must never accept keys
// at the same time. Only arms with --on-partition freeze need a permit.
//
// Package permits sends no keys itself. Host agents send them, and obey the permits.
package permits

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

const (
	// permitTime is how long one permit allows typing into an arm with `--on-partition freeze`. If
	// the host agent of such an arm is cut off from serve, the arm freezes within this time. If the
	// arm is then started on another host, typing becomes possible there when the last permit of
	// the old host has expired.
	permitTime = 10 * time.Second
	// permitEvery is the time between two renewals. It is so short that permits stay valid even if
	// three renewals in a row are lost.
	permitEvery = 2500 * time.Millisecond
	// clockDrift is the largest assumed drift between the clocks of two machines within
	// permitTime.
	clockDrift = time.Second
)

// An Arbiter decides on which host an arm accepts typed keys, so that the arm accepts them on at
// most one host at any time.
type Arbiter interface {
	// Grant gives the host a permit for the arm, and returns 0. The permit is valid for
	// permitTime from now. If a permit of another host could still be valid, Grant gives no
	// permit. It then returns how long that permit could still be valid.
	Grant(arm, host string) time.Duration
}

// Config contains what Permits needs.
type Config struct {
	DB  *store.ServeDB
	Bus *bus.Conn
	Log *slog.Logger
	// Arbiter decides who gets a permit. Nil means that there is no other serve, so this serve
	// decides alone.
	Arbiter Arbiter
	// Prepare prepares a host for orders.
	Prepare func(ctx context.Context, host string) error
}

// Permits gives permits to the hosts of arms. It is safe for concurrent use.
type Permits struct{ config Config }

// New returns a Permits for the arms in the database of c.
func New(c Config) *Permits {
	if c.Arbiter == nil {
		c.Arbiter = newArbiter()
	}
	return &Permits{c}
}

// soleArbiter is the Arbiter for a fleet with one serve. It stores nothing on disk. So after its
// start, it gives no permit until all permits from an earlier serve have expired.
type soleArbiter struct {
	began time.Time

	mu   sync.Mutex
	last map[string]grant // the last permit of each arm; the key is the arm's id
}

// grant is a permit: the host that received it, and the time.
type grant struct {
	host string
	at   time.Time
}

func newArbiter() *soleArbiter { return &soleArbiter{began: time.Now(), last: map[string]grant{}} }

// Grant implements Arbiter. It uses the machine's monotonic clock, because the user cannot set this clock.
// The clock stops while the machine sleeps, so an arm may then have to wait longer for its next permit.
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

// canFreeze reports whether an arm is configured to freeze, so that typing into it needs a permit.
func canFreeze(arm coleo.Arm) bool {
	return arm.SpawnConfig().OnPartition == coleo.PartitionFreeze
}

// Renew renews the permits for the arms of a host. The result contains the arms that received no
// permit. The keys are the ids of these arms, and the values are how long each arm must wait until
// it can get a permit.
func (p *Permits) Renew(ctx context.Context, host string) (map[string]time.Duration, error) {
	var clock bus.Clock
	if err := p.config.Bus.Ask(ctx, host, bus.OpPermit, bus.PermitOrder{}, &clock); err != nil {
		return nil, err
	}
	list, err := p.config.DB.Arms(ctx, false)
	if err != nil {
		return nil, err
	}
	order, waits := bus.PermitOrder{Clock: clock.ID, Until: clock.Now + permitTime}, map[string]time.Duration{}
	for _, arm := range list {
		if arm.AgentID != host || arm.Generation == 0 || !canFreeze(arm) {
			continue
		}
		if left := p.config.Arbiter.Grant(arm.ID, host); left > 0 {
			waits[arm.ID] = left
			continue
		}
		order.Arms = append(order.Arms, bus.ArmOrder{Arm: arm.ID, Generation: arm.Generation})
	}
	if len(order.Arms) == 0 {
		return waits, nil
	}
	return waits, p.config.Bus.Ask(ctx, host, bus.OpPermit, order, &clock)
}

// Keep renews the permits for a host's arms regularly until ctx ends. It pauses while isNeeded
// returns false.
func (p *Permits) Keep(ctx context.Context, host string, isNeeded func() bool) {
	tick := time.NewTicker(permitEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !isNeeded() {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, permitEvery)
		_, err := p.Renew(limited, host)
		cancel()
		if err != nil && ctx.Err() == nil {
			p.config.Log.Debug("renew the permits of a host", "host", host, "error", err)
		}
	}
}

// Wait waits until the host has a permit for the arm. If the arm needs no permit, Wait returns at
// once. If ctx ends first, Wait returns EUnproven.
func (p *Permits) Wait(ctx context.Context, arm coleo.Arm) error {
	if arm.AgentID == "" || !canFreeze(arm) {
		return nil
	}
	if err := p.config.Prepare(ctx, arm.AgentID); err != nil {
		return err
	}
	for {
		limited, cancel := context.WithTimeout(ctx, bus.DefaultTimeout)
		waits, err := p.Renew(limited, arm.AgentID)
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
