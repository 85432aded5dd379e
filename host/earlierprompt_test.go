package host

import (
	"context"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/registry"
	"coleo.dev/store"
)

// hookedHarness is the harness "fake". It calls `prove` when a session that it has attached to looks for a prompt.
type hookedHarness struct {
	coleo.Harness
	prove func()
}

func (h *hookedHarness) Attach(ctx context.Context, handle coleo.Handle) (coleo.Session, error) {
	s, err := h.Harness.Attach(ctx, handle)
	if err != nil {
		return nil, err
	}
	return hookedSession{s, h.prove}, nil
}

type hookedSession struct {
	coleo.Session
	prove func()
}

func (s hookedSession) Prove(ctx context.Context, r coleo.Receipt) (coleo.Proof, error) {
	s.prove()
	return s.Session.(coleo.Prover).Prove(ctx, r)
}

// A host agent is killed before it types a prompt, and the client sends the same prompt again. The next host agent
// attaches to the arm at that moment, and looks for the first prompt. The second prompt is no proof of the first one.
func TestARepeatedPromptIsNoProofOfTheFirstOne(t *testing.T) {
	t.Parallel()
	var a *arm
	again := sync.OnceFunc(func() {
		if !a.delivering.TryLock() {
			return // the prompt waits until the host agent has looked for the first one
		}
		defer a.delivering.Unlock()
		if _, err := a.promptHeld(context.WithoutCancel(t.Context()), promptOrder(a.record.ID, "say one")); err != nil {
			t.Error(err)
		}
	})
	s := newStageOf(t, "", &stage{alter: func(c *Config) {
		fake, err := c.Registry.Get("fake")
		if err != nil {
			t.Fatal(err)
		}
		c.Registry = registry.Of(&hookedHarness{fake, again})
	}})
	id := s.arm("ada")
	var err error
	a, err = s.host.arm(id)
	s.check(err)
	a.letGo()
	first := coleo.Receipt{ID: "first", Text: "say one", Time: time.Now()}
	s.check(a.intend(t.Context(), func(r *store.ArmRecord) []coleo.Event {
		r.Intended = append(r.Intended, first)
		return nil
	}))
	must[bus.ArmReport](s, bus.OpAdopt, bus.ArmOrder{Arm: id})
	if len(s.prompted("ada")) == 0 {
		s.prompt(id, "say one")
	}
	s.until("a run has ended", func() bool { return len(s.events(id, coleo.EventRunEnd)) > 0 })
	s.awaitPrompted("ada", "say one")
	if starts := s.events(id, coleo.EventRunStart); len(starts) != 1 {
		t.Errorf("%d runs have begun for one prompt", len(starts))
	}
	if lost := s.events(id, coleo.EventPromptLost); len(lost) != 1 {
		t.Errorf("%d prompts are called lost, want the first one", len(lost))
	}
}
