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

// TestNoTwoHostsArePermittedAtOnce asks for permits at random moments on its own clock,
// and checks that two never hold at once.
func TestNoTwoHostsArePermittedAtOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 0))
		// The serve before this one may have given a permit.
		until := map[string]time.Time{"before": time.Now().Add(permitTime)}
		a := newArbiter()
		granted := 0
		for range 5000 {
			host := []string{"a", "b", "c"}[r.IntN(3)]
			clock := time.Now() // the host's clock, before serve asks the arbiter
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

// fleet is a host agent on a real bus, with a clock that stands still, and the permits for its arms.
type fleet struct {
	*Permits
	t  *testing.T
	db *store.ServeDB

	mu    sync.Mutex
	given []bus.PermitOrder // the permits that the host agent has got
	news  chan bool         // gets a value after each permit
}

// newFleet returns permits of a serve that has run for a long time. The other arms had their last permits
// as in the map.
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

// TestAFreezingArmIsPermittedBeforeItIsTypedInto: the permit is there when Wait returns, on the host
// agent's clock, and only for arms that freeze.
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

// TestAPromptWaitsForNoOtherArmsPermit: another arm of the host has just come from
// elsewhere, where it may still be typed into.
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

// While another start of an arm may still take keys, nothing may be typed.
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

// TestPermitsAreRenewedWhileTheyAreNeeded: the renewal needs no typing.
func TestPermitsAreRenewedWhileTheyAreNeeded(t *testing.T) {
	t.Parallel()
	f := newFleet(t, map[string]grant{})
	f.arm("a", coleo.PartitionFreeze)
	ctx, cancel := context.WithCancel(t.Context())
	var keeping sync.WaitGroup
	asked, needed := 0, false // used only by the goroutine that keeps the permits
	keeping.Go(func() {
		f.Keep(ctx, host, func() bool {
			if asked++; asked == 2 {
				f.mu.Lock()
				needed = len(f.given) == 0 // the first time, none was needed
				f.mu.Unlock()
			}
			return asked > 1
		})
	})
	<-f.news // the test's time-out ends a wait for ever
	cancel()
	keeping.Wait()
	if !needed {
		t.Error("a permit was renewed that was not needed")
	}
}
