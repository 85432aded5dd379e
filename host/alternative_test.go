package host

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/choosing"
	"coleo.dev/registry"
	"coleo.dev/store"
)

// alternativeStage is a limitStage whose arm is parked: it waits for the end of a limit. `on` says what the arm
// does at a limit. Its fake agent CLI can resume a conversation.
func alternativeStage(t *testing.T, on coleo.OnLimit) (*stage, string, *fakeClock, bus.AlternativeOrder) {
	t.Helper()
	c := &fakeClock{}
	s := &stage{now: c.now}
	s.alter = func(c *Config) {
		s.canResume(c)
		s.alter = func(later *Config) { later.Registry = c.Registry }
	}
	newStageOf(t, "", s)
	order := s.order("ada")
	order.Config.Workdir, order.Config.OnLimit, order.Config.ContinueWith = s.workdir("ada"), on, "say on"
	id := must[bus.ArmReport](s, bus.OpSpawn, order).ID
	s.awaitState(id, coleo.Idle)
	p := s.meets(id, "429")
	step, _, _ := strings.Cut(string(p.Next), ",")
	return s, id, c, bus.AlternativeOrder{Arm: id, Model: "p/m3",
		At: bus.ParkedAt{Run: p.Run, Try: p.Try, Step: coleo.OnLimit(step)}}
}

// canResume gives a host agent a fake agent CLI that can resume a conversation.
func (s *stage) canResume(c *Config) {
	s.t.Helper()
	path := s.path("harnesses/fake.toml")
	raw, err := os.ReadFile(path)
	s.check(err)
	if can := []byte("\nmulti_turn = true\nresume = true \n"); !bytes.Contains(raw, can) {
		raw = bytes.Replace(raw, []byte("\nmulti_turn = true\n"), can, 1)
	}
	s.check(os.WriteFile(path, raw, 0o600))
	c.Registry, err = registry.New(s.path("harnesses"), []string{s.path(testprogram.Hold)})
	s.check(err)
}

// awaitTold waits until the agent CLI has received the given prompts. It ignores the commands that
// change the model, which the fake agent CLI also records as prompts.
func (s *stage) awaitTold(want ...string) {
	s.t.Helper()
	s.until("the agent CLI got "+strings.Join(want, ", "), func() bool { return len(s.promptsOfAda()) >= len(want) })
	if got := s.promptsOfAda(); !slices.Equal(got, want) {
		s.t.Fatalf("the agent CLI was prompted %q, want %q", got, want)
	}
}

func (s *stage) promptsOfAda() []string {
	return slices.DeleteFunc(s.prompted("ada"), func(text string) bool { return strings.HasPrefix(text, "/model ") })
}

// toldNoMore checks that one more attempt sends no prompt, and that the agent CLI has received n
// prompts.
func (s *stage) toldNoMore(id string, n int) {
	s.t.Helper()
	a, err := s.host.arm(id)
	s.check(err)
	session, err := a.liveSession()
	s.check(err)
	a.sendFirst(s.t.Context(), session)
	if got := s.promptsOfAda(); len(got) != n {
		s.t.Errorf("the agent CLI was prompted %q, want %d prompts", got, n)
	}
}

// wentOn checks that the arm has continued once. It must not continue again when the order is repeated, or when
// the time comes at which a parked arm continues by itself.
func (s *stage) wentOn(id string, clock *fakeClock, o bus.AlternativeOrder) {
	s.t.Helper()
	s.awaitTold("say Limit: 429", "say on")
	s.awaitRuns(id, 2)
	s.refused(coleo.EStale, bus.OpAlternative, o)
	s.restart()
	s.refused(coleo.EStale, bus.OpAlternative, o)
	clock.advance(maxWake * 1000)
	s.look(id)
	s.toldNoMore(id, 2)
	a, err := s.host.arm(id)
	s.check(err)
	a.mu.Lock()
	defer a.mu.Unlock()
	if model := choosing.ModelOf(a.record); model != "p/m3" {
		s.t.Errorf("the arm has the model %q", model)
	}
	if lost := s.events(id, coleo.EventPromptLost); len(lost) != 0 {
		s.t.Errorf("%d prompts are called lost", len(lost))
	}
	if told := s.events(id, coleo.EventModel); len(told) != 1 {
		s.t.Errorf("%d events tell another model", len(told))
	}
}

func TestAParkedArmGoesOnOnceWithAnotherModel(t *testing.T) {
	t.Parallel()
	s, id, clock, o := alternativeStage(t, "model:p/m3,wait")
	must[bus.ModelReport](s, bus.OpAlternative, o)
	s.wentOn(id, clock, o)
}

// intends stores the first step of an order to continue with another model.
func (s *stage) intends(id string, o bus.AlternativeOrder) *arm {
	s.t.Helper()
	a, err := s.host.arm(id)
	s.check(err)
	s.check(a.changeParked(s.t.Context(), o.At, func(r *store.ArmRecord, p coleo.Parked) []coleo.Event {
		p.Doing = o.At.Step
		q := armrecord.Queue(r)
		q.Parked = &p
		r.Queue = &q
		return nil
	}))
	return a
}

// A parked arm receives the order to continue with another model. The test ends the host agent between any two
// writes of this order, and gives the order to the next host agent again. The arm must continue exactly once.
func TestAKillBetweenTheStepsOfAnotherModelLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for what, kill := range map[string]func(s *stage, id string, o bus.AlternativeOrder){
		"before the order": func(*stage, string, bus.AlternativeOrder) {},
		"after the intent": func(s *stage, id string, o bus.AlternativeOrder) { s.intends(id, o) },
		"after the change of the model": func(s *stage, id string, o bus.AlternativeOrder) {
			a, err := s.host.arm(id)
			s.check(err)
			_, _, err = a.takeModel(s.t.Context(), o)
			s.check(err)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, id, clock, o := alternativeStage(t, "model:p/m3")
			kill(s, id, o)
			s.restart()
			s.toldNoMore(id, 1)
			must[bus.ModelReport](s, bus.OpAlternative, o)
			s.wentOn(id, clock, o)
		})
	}
}

// fixedSession hides that the session can change its model.
type fixedSession struct{ coleo.Session }

// The agent CLI of this test takes a model only when it starts, so the order to change the model restarts it.
// The test ends the host agent after one of the steps of this restart. The arm must continue exactly once.
func TestAKillDuringARestartForAnotherModelLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	for what, kill := range map[string]func(s *stage, a *arm, o bus.AlternativeOrder){
		"never": func(*stage, *arm, bus.AlternativeOrder) {},
		// The agent CLI ends after the first step of the order, and before its model is stored.
		"after the intent": func(s *stage, _ *arm, o bus.AlternativeOrder) {
			s.check(s.intends(o.Arm, o).endParked(s.t.Context(), o.At))
			s.restart()
		},
		"after the end": func(s *stage, a *arm, o bus.AlternativeOrder) {
			_, restart, err := a.takeModel(s.t.Context(), o)
			if s.check(err); !restart {
				s.t.Fatal("the agent CLI was not ended")
			}
			s.restart()
		},
		"after the start": func(s *stage, a *arm, o bus.AlternativeOrder) {
			func() {
				defer a.begin()()
				_, _, err := a.takeModel(s.t.Context(), o)
				s.check(err)
				s.check(a.startAgain(s.t.Context(), o))
			}()
			s.restart()
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, id, clock, o := alternativeStage(t, "model:p/m3,ask")
			spawn := s.order("ada")
			spawn.Config.Workdir, spawn.Config.Conversation, spawn.Config.ContinueWith = s.workdir("ada"), "one", "say on"
			spawn.Resume = true
			o.Spawn = &spawn
			a, _ := s.hijack(id, func(real coleo.Session) coleo.Session { return fixedSession{real} })
			kill(s, a, o)
			must[bus.ModelReport](s, bus.OpAlternative, o)
			s.wentOn(id, clock, o)
		})
	}
}

func TestAnAlternativeIsRefusedAtTheWrongMoment(t *testing.T) {
	t.Parallel()
	s, id, clock, o := alternativeStage(t, "model:p/m3,handover:other")
	for what, change := range map[string]func(*bus.AlternativeOrder){
		"another run":         func(o *bus.AlternativeOrder) { o.At.Run = "other" },
		"another try":         func(o *bus.AlternativeOrder) { o.At.Try++ },
		"another alternative": func(o *bus.AlternativeOrder) { o.At.Step = "handover:other" },
	} {
		wrong := o
		change(&wrong)
		if err := s.ask(bus.OpAlternative, wrong, nil); coleo.ErrorCode(err) != coleo.EStale {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "by me"})
	s.refused(coleo.EBusy, bus.OpAlternative, o)
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	lease := must[coleo.Lease](s, bus.OpLease, bus.LeaseOrder{Arm: id, Holder: "me"})
	s.refused(coleo.EBusy, bus.OpAlternative, o)
	must[coleo.Lease](s, bus.OpLease, bus.LeaseOrder{Arm: id, ID: lease.ID, Holder: "me", Release: true})
	s.toldNoMore(id, 1)
	clock.advance(maxWake * 1000) // the wake time passes while serve is away
	s.look(id)
	s.wentOnWithItsModel(id, o)
}

func (s *stage) wentOnWithItsModel(id string, o bus.AlternativeOrder) {
	s.t.Helper()
	s.awaitTold("say Limit: 429", "say on")
	s.awaitRuns(id, 2)
	s.refused(coleo.EStale, bus.OpAlternative, o)
	if n := len(s.events(id, coleo.EventModel)); n != 0 {
		s.t.Errorf("%d events tell another model", n)
	}
}

func TestAnAlternativeThatCannotBeDoneIsToldAndTheNextOneFollows(t *testing.T) {
	t.Parallel()
	s, id, clock, o := alternativeStage(t, "model:p/m3,handover:other,wait")
	o.Model, o.Failed = "", "no such model"
	s.check(s.ask(bus.OpAlternative, o, nil))
	s.refused(coleo.EStale, bus.OpAlternative, o)
	p := s.parkedNow(id)
	if p.Next != "handover:other" || p.Tried != "model:p/m3" || !strings.Contains(p.Failed, "no such model") ||
		p.Wake.IsZero() {
		t.Errorf("it is parked %+v", p)
	}
	s.restart()
	o.At.Step = "handover:other"
	s.check(s.ask(bus.OpAlternative, o, nil))
	if p = s.parkedNow(id); p.Next != "" || p.Wake.IsZero() {
		t.Errorf("it is parked %+v", p)
	}
	clock.advance(maxWake * 1000)
	s.look(id)
	s.awaitTold("say Limit: 429", "say on")
}

// An arm that has met a limit hands its task over to a successor. The first write of the hand-over ends the
// arm's wait for the limit. So the host agent must refuse a repeated order, and start no second successor.
func TestAHandOverAtALimitIsDoneOnce(t *testing.T) {
	t.Parallel()
	s, id, _, o := alternativeStage(t, "handover:other,wait")
	order := s.successor(id)
	order.At = &o.At
	must[bus.SucceedReport](s, bus.OpSucceed, order)
	s.awaitPrompted("two", "say task")
	again := order
	again.Spawn.ID, again.Spawn.Name = s.id("three"), "three"
	s.refused(coleo.EStale, bus.OpSucceed, again)
	s.restart()
	s.refused(coleo.EStale, bus.OpSucceed, again)
	if len(s.host.allArms()) != 2 {
		t.Errorf("%d arms", len(s.host.allArms()))
	}
}

// The arm tries a model for which its agent CLI must start again. The agent CLI is ended, and its start then fails.
// The arm must still try the alternatives that follow.
func TestAfterARestartThatFailedTheNextModelIsTried(t *testing.T) {
	t.Parallel()
	s, id, clock, o := alternativeStage(t, "model:p/m2,model:p/m3,ask")
	spawn := s.order("ada")
	spawn.Config.Workdir, spawn.Config.Conversation, spawn.Config.ContinueWith = s.workdir("ada"), "one", "say on"
	spawn.Resume = true
	broken := spawn
	broken.Harness = "nothing"
	o.Model, o.Spawn = "p/m2", &broken
	s.hijack(id, func(real coleo.Session) coleo.Session { return fixedSession{real} })
	s.refused(coleo.EInvalid, bus.OpAlternative, o)
	s.awaitState(id, coleo.Dead)
	failed := o
	failed.Model, failed.Failed = "", "its start has failed"
	s.check(s.ask(bus.OpAlternative, failed, nil))
	s.restart()
	o.Model, o.Spawn, o.At.Step = "p/m3", &spawn, "model:p/m3"
	must[bus.ModelReport](s, bus.OpAlternative, o)
	s.wentOn(id, clock, o)
}
