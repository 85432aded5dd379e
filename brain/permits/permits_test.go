package permits

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
	"coleo.dev/store"
)

// TestNoTwoHostsArePermittedAtOnce asks for permits at random moments of a fake clock. The permits
// of two hosts must never be valid at the same time.
func TestNoTwoHostsArePermittedAtOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 0))
		// An earlier serve may have given a permit just before this serve started.
		until := map[string]time.Time{"before": time.Now().Add(permitTime)}
		a := newArbiter()
		granted := 0
		for range 5000 {
			host := []string{"a", "b", "c"}[r.IntN(3)]
			// The permit's time begins here, on the host's clock. Serve asks the arbiter only later.
			clock := time.Now()
			time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
			left := a.Grant("arm", host)
			if left < 0 || left > permitTime+clockDrift {
				t.Fatalf("%s has to wait for %s", host, left)
			}
			if left > 0 && r.IntN(2) == 0 {
				time.Sleep(left)
				left = a.Grant("arm", host)
			}
			if left > 0 {
				continue
			}
			granted++
			for other, end := range until {
				if other != host && time.Now().Before(end) {
					t.Fatalf("%s is permitted while %s is for %s more", host, other, time.Until(end))
				}
			}
			until[host] = clock.Add(permitTime)
		}
		if granted < 1000 {
			t.Errorf("only %d of 5000 permits were granted", granted)
		}
	})
}

const host = "h"

// fleet is a Permits with one host agent on a real bus. The clock of the host agent stands still.
type fleet struct {
	*Permits
	t  *testing.T
	db *store.ServeDB

	mu    sync.Mutex
	given []bus.PermitOrder // the permits that the host agent has received
	news  chan bool         // receives a value after each permit
}

// newFleet returns the permits of a serve that has run for a long time. `last` contains the last permits of
// some arms.
func newFleet(t *testing.T, last map[string]grant) *fleet {
	t.Helper()
	testBus, f := bustest.New(t), &fleet{t: t, news: make(chan bool, 100)}
	var err error
	f.db, err = store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	check(t, err)
	t.Cleanup(func() { check(t, f.db.Close()) })
	check(t, testBus.Host().Serve(t.Context(), host, func(_ context.Context, _ bus.Op, data json.RawMessage) (any, error) {
		var o bus.PermitOrder
		if err := json.Unmarshal(data, &o); err != nil {
			return nil, err
		}
		if o.Clock != "" {
			f.mu.Lock()
			f.given = append(f.given, o)
			f.mu.Unlock()
			f.news <- true
		}
		return bus.Clock{ID: "clock-1", Now: time.Hour}, nil
	}))
	f.Permits = New(Config{DB: f.db, Bus: testBus.Serve(), Log: slog.New(slog.DiscardHandler),
		Arbiter: &soleArbiter{last: last}, Prepare: func(context.Context, string) error { return nil }})
	return f
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// arm adds an arm of the host.
func (f *fleet) arm(id string, on coleo.OnPartition) coleo.Arm {
	f.t.Helper()
	config, err := json.Marshal(coleo.SpawnConfig{OnPartition: on})
	check(f.t, err)
	arm := coleo.Arm{ID: id, Name: id, Harness: "h", AgentID: host, Generation: 3, Status: coleo.StatusIdle,
		State: coleo.Idle, Config: config}
	check(f.t, f.db.CreateArm(f.t.Context(), arm))
	return arm
}

// Coleo may type into an arm with --on-partition freeze only while the host agent has a permit. When Wait
// returns, the host agent must have received one. The permit's end must be a time of the host agent's own
// clock. An arm without this option needs no permit.
func TestAFreezingArmIsPermittedBeforeItIsTypedInto(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]grant{})
	freezing, other := f.arm("freezing", coleo.PartitionFreeze), f.arm("other", "")
	check(t, f.Wait(t.Context(), other))
	if len(f.given) != 0 {
		t.Errorf("an arm that does not freeze has got %+v", f.given)
	}
	check(t, f.Wait(t.Context(), freezing))
	want := []bus.PermitOrder{{Clock: "clock-1", Until: time.Hour + permitTime,
		Arms: []bus.ArmOrder{{Arm: "freezing", Generation: 3}}}}
	if !reflect.DeepEqual(f.given, want) {
		t.Errorf("the permits are %+v, want %+v", f.given, want)
	}
}

// TestAPromptWaitsForNoOtherArmsPermit has two arms. The arm "moved" has just come from another host and must
// still wait for its permit. Wait must return for the arm "other" without waiting for "moved".
func TestAPromptWaitsForNoOtherArmsPermit(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]grant{"moved": {host: "elsewhere", at: time.Now().Add(time.Hour)}})
	f.arm("moved", coleo.PartitionFreeze)
	check(t, f.Wait(t.Context(), f.arm("other", coleo.PartitionFreeze)))
	waits, err := f.Renew(t.Context(), host)
	if err != nil || len(waits) != 1 || waits["moved"] <= 0 {
		t.Errorf("Renew = %v, %v, want a wait for the arm that has moved", waits, err)
	}
}

// While an earlier start of an arm may still accept keys, nothing may be typed into the arm.
func TestWithoutAPermitTheWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]grant{"moved": {host: "elsewhere", at: time.Now().Add(time.Hour)}})
	arm := f.arm("moved", coleo.PartitionFreeze)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/10)
	defer cancel()
	if err := f.Wait(ctx, arm); err == nil || len(f.given) != 0 {
		t.Errorf("Wait = %v, and the permits are %+v", err, f.given)
	}
}

func TestAHostThatCannotBePreparedGetsNoPermit(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]grant{})
	away := errors.New("away")
	f.config.Prepare = func(context.Context, string) error { return away }
	if err := f.Wait(t.Context(), f.arm("a", coleo.PartitionFreeze)); !errors.Is(err, away) || len(f.given) != 0 {
		t.Errorf("Wait = %v, and the permits are %+v", err, f.given)
	}
}

// TestPermitsAreRenewedWhileTheyAreNeeded checks that permits are renewed even if nobody types.
func TestPermitsAreRenewedWhileTheyAreNeeded(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]grant{})
	f.arm("a", coleo.PartitionFreeze)
	ctx, cancel := context.WithCancel(t.Context())
	var keeping sync.WaitGroup
	asked, needed := 0, false // no lock, because only the goroutine of Keep uses them
	keeping.Go(func() {
		f.Keep(ctx, host, func() bool {
			if asked++; asked == 2 {
				f.mu.Lock()
				needed = len(f.given) == 0 // true if the first call, which returned false, prevented a renewal
				f.mu.Unlock()
			}
			return asked > 1
		})
	})
	<-f.news // an endless wait ends with the test's time-out
	cancel()
	keeping.Wait()
	if !needed {
		t.Error("a permit was renewed that was not needed")
	}
}
