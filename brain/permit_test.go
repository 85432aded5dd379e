package brain

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
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

// permits collects the permit orders that a scripted host agent has received.
type permits struct {
	mu   sync.Mutex
	list []bus.PermitOrder
}

// clockOf makes the host agent carry out permit orders, on a clock that stands still.
func (s *scripted) clockOf(id string, now time.Duration) *permits {
	p := &permits{}
	s.answerWith(bus.OpPermit, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.PermitOrder
		if err := json.Unmarshal(data, &o); err != nil {
			return nil, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if o.Clock != "" {
			p.list = append(p.list, o)
		}
		return bus.Clock{ID: id, Now: now}, nil
	})
	return p
}

func (p *permits) countOf(arm string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.list {
		if slices.ContainsFunc(o.Arms, func(a bus.ArmOrder) bool { return a.Arm == arm }) {
			n++
		}
	}
	return n
}

// TestAFreezingArmIsPermittedBeforeItIsTypedInto: the permit comes before the prompt, on
// the host agent's clock, and only for arms that freeze.
func TestAFreezingArmIsPermittedBeforeItIsTypedInto(t *testing.T) {
	s := newScripted(t)
	s.brain.Arbiter = &soleArbiter{last: map[string]grant{}} // serve has run for a long time
	p := s.clockOf("clock-1", time.Hour)
	work := filepath.Join(t.TempDir(), "w")
	for name, on := range map[string]coleo.OnPartition{"freezing": coleo.PartitionFreeze, "other": ""} {
		config, err := json.Marshal(coleo.SpawnConfig{Workdir: work, OnPartition: on})
		check(t, err)
		check(t, s.db.CreateArm(t.Context(), coleo.Arm{
			ID: "id-" + name, Name: name, Harness: "aider", AgentID: scriptedHost, Generation: 3,
			Status: coleo.StatusIdle, State: coleo.Idle, Config: config, CreatedAt: time.Now(),
		}))
	}
	before := 0
	s.answerWith(bus.OpPrompt, func(context.Context, json.RawMessage) (any, error) {
		before = p.countOf("id-freezing")
		return coleo.Receipt{ID: "r"}, nil
	})
	_, err := s.brain.Prompt(t.Context(), "freezing", coleo.Prompt{Text: "x"}, "")
	check(t, err)
	if before != 1 {
		t.Errorf("there were %d permits before the prompt, want 1", before)
	}
	want := bus.PermitOrder{Clock: "clock-1", Until: time.Hour + permitTime,
		Arms: []bus.ArmOrder{{Arm: "id-freezing", Generation: 3}}}
	if got := p.list[0]; got.Clock != want.Clock || got.Until != want.Until || !slices.Equal(got.Arms, want.Arms) {
		t.Errorf("the permit was %+v, want %+v", got, want)
	}
	_, err = s.brain.Prompt(t.Context(), "other", coleo.Prompt{Text: "x"}, "")
	check(t, err)
	if n := len(p.list); n != 1 {
		t.Errorf("a prompt to an arm that does not freeze brought permits: %d in all", n)
	}
}

// TestPermitsAreRenewedWhileAHostSaysThatItNeedsThem: the renewal needs no typing.
func TestPermitsAreRenewedWhileAHostSaysThatItNeedsThem(t *testing.T) {
	s := newScripted(t)
	s.brain.Arbiter = &soleArbiter{last: map[string]grant{}}
	p := s.clockOf("clock-1", time.Hour)
	config, err := json.Marshal(coleo.SpawnConfig{OnPartition: coleo.PartitionFreeze})
	check(t, err)
	check(t, s.db.CreateArm(t.Context(), coleo.Arm{
		ID: "a", Name: "a", Harness: "aider", AgentID: scriptedHost, Generation: 1, Status: coleo.StatusIdle,
		State: coleo.Idle, Config: config,
	}))
	s.alwaysAnswer(bus.OpPulse, bus.Pulse{Arms: []bus.ArmPulse{{ID: "a", Generation: 1, Attached: true,
		Process: bus.ProcessAlive, NeedsPermit: true}}})
	s.until("the permit has been renewed", func() bool { return p.countOf("a") >= 2 })
}

// TestAPromptWaitsForNoOtherArmsPermit: another arm of the host has just come from
// elsewhere, where it may still be typed into.
func TestAPromptWaitsForNoOtherArmsPermit(t *testing.T) {
	s := newScripted(t)
	s.brain.Arbiter = &soleArbiter{last: map[string]grant{"id-moved": {host: "elsewhere",
		at: time.Now().Add(time.Hour)}}}
	s.clockOf("clock-1", time.Hour)
	config, err := json.Marshal(coleo.SpawnConfig{OnPartition: coleo.PartitionFreeze})
	check(t, err)
	for _, name := range []string{"moved", "other"} {
		check(t, s.db.CreateArm(t.Context(), coleo.Arm{
			ID: "id-" + name, Name: name, Harness: "aider", AgentID: scriptedHost, Generation: 1,
			Status: coleo.StatusIdle, State: coleo.Idle, Config: config,
		}))
	}
	s.alwaysAnswer(bus.OpPrompt, coleo.Receipt{ID: "r"})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = s.brain.Prompt(ctx, "other", coleo.Prompt{Text: "x"}, "")
	check(t, err)
}
