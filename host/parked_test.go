package host

import (
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/limit"
)

// fakeClock is a time of day that a test can set forward.
type fakeClock struct{ ahead atomic.Int64 }

func (c *fakeClock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *fakeClock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// limitStage is a stage with an idle arm called ada, and with a clock that can be set forward. When the arm
// continues after a limit, it does so with the prompt "say on".
func limitStage(t *testing.T, onLimit coleo.OnLimit) (*stage, string, *fakeClock) {
	t.Helper()
	c := &fakeClock{}
	s := newStageAt(t, c.now)
	o := s.order("ada")
	o.Config.Workdir = s.workdir("ada")
	o.Config.OnLimit, o.Config.ContinueWith = onLimit, "say on"
	id := must[bus.ArmReport](s, bus.OpSpawn, o).ID
	s.awaitState(id, coleo.Idle)
	return s, id, c
}

// meets prompts the arm so that its turn ends at a limit. The arm is then parked: it waits for the end of the
// limit. meets returns what the arm reports about this.
func (s *stage) meets(id, limit string) coleo.Parked {
	s.t.Helper()
	before := len(s.events(id, coleo.EventRunEnd))
	s.prompt(id, "say Limit: "+limit)
	s.awaitRuns(id, before+1)
	return s.parkedNow(id)
}

// parkedNow waits until the arm is parked, and returns what the arm reports about it.
func (s *stage) parkedNow(id string) coleo.Parked {
	s.t.Helper()
	var q coleo.Queue
	s.until("the arm is parked", func() bool {
		q = s.queue(id, coleo.QueueOrder{})
		return q.Parked != nil
	})
	return *q.Parked
}

// look makes the arm check at once whether it may continue.
func (s *stage) look(id string) {
	s.t.Helper()
	a, err := s.host.arm(id)
	s.check(err)
	a.allowRetry()
}

// steps returns what the log says about the arm's wait for a limit, step by step.
func (s *stage) steps(id string) (out []coleo.ParkStep) {
	s.t.Helper()
	for _, e := range s.events(id, coleo.EventParked) {
		var c coleo.ParkChange
		s.check(json.Unmarshal(e.Payload, &c))
		out = append(out, c.Step)
	}
	return out
}

func TestAnArmThatMeetsALimitGoesOnOnceInAWeek(t *testing.T) {
	t.Parallel()
	s, id, clock := limitStage(t, "")
	p := s.meets(id, "weekly limit, resets in 6 days")
	if wait := p.Wake.Sub(clock.now()); p.Kind != coleo.LimitQuota || p.Until.IsZero() ||
		wait < 6*24*time.Hour-time.Minute ||
		wait > 6*24*time.Hour+10*time.Minute {
		t.Fatalf("it is parked %+v", p)
	}
	var end coleo.RunEnd
	s.check(json.Unmarshal(s.events(id, coleo.EventRunEnd)[0].Payload, &end))
	if end.Outcome != coleo.OutcomeFailed || end.Limit == nil || end.Limit.Kind != coleo.LimitQuota {
		t.Errorf("the run ended %+v", end)
	}
	s.followUp(id, "say two")
	for range 5 {
		clock.advance(24 * time.Hour)
		s.checkNothingSent(id, "ada", 1)
		s.restart()
		s.checkNothingSent(id, "ada", 1)
	}
	clock.advance(25 * time.Hour)
	s.look(id)
	s.awaitPrompted("ada", "say Limit: weekly limit, resets in 6 days", "say on", "say two")
	s.awaitRuns(id, 3)
	clock.advance(7 * 24 * time.Hour)
	s.restart()
	s.checkNothingSent(id, "ada", 3)
	if got := s.steps(id); !slices.Equal(got, []coleo.ParkStep{coleo.ParkBegun, coleo.ParkContinued}) {
		t.Errorf("the steps are %q", got)
	}
}

func TestAPromptOfAPersonEndsTheWait(t *testing.T) {
	t.Parallel()
	for what, prompt := range map[string]func(s *stage, id string){
		"a prompt": func(s *stage, id string) { s.prompt(id, "say mine") },
		"a prompt after the wait was cancelled": func(s *stage, id string) {
			s.queue(id, coleo.QueueOrder{Step: coleo.QueueUnparked})
			s.prompt(id, "say mine")
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, id, clock := limitStage(t, "")
			s.meets(id, "429")
			prompt(s, id)
			s.awaitRuns(id, 2)
			clock.advance(time.Hour)
			s.look(id)
			s.checkNothingSent(id, "ada", 2)
			if got := s.steps(id); !slices.Equal(got, []coleo.ParkStep{coleo.ParkBegun, coleo.ParkEnded}) {
				t.Errorf("the steps are %q", got)
			}
		})
	}
}

func TestALimitThatComesBackIsWaitedForLongerAndThenAPersonIsAsked(t *testing.T) {
	t.Parallel()
	s, id, clock := limitStage(t, "")
	a, err := s.host.arm(id)
	s.check(err)
	a.mu.Lock()
	a.record.Spec.ContinueWith = "say Limit: 429" // each try meets the limit again
	a.mu.Unlock()
	p := s.meets(id, "429")
	last := time.Duration(0)
	for try := 1; try <= limit.MaxTries; try++ {
		wait := p.Wake.Sub(p.Seen)
		if p.Try != try || wait < last || wait > 70*time.Minute {
			t.Fatalf("try %d: it waits %v, after %v: %+v", try, wait, last, p)
		}
		last = min(wait, time.Hour)
		clock.advance(wait + time.Second)
		s.look(id)
		s.awaitRuns(id, try+1)
		p = s.parkedNow(id)
	}
	if !p.Wake.IsZero() || p.Why == "" {
		t.Fatalf("after %d tries it is parked %+v", limit.MaxTries, p)
	}
	clock.advance(7 * 24 * time.Hour)
	s.look(id)
	s.checkNothingSent(id, "ada", limit.MaxTries+1)
}

func TestAPersonIsAskedWhereTheArmDoesNotGoOn(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		on    coleo.OnLimit
		limit string
	}{
		"a login":              {coleo.OnLimit(coleo.OnLimitWait), "you must log in"},
		"an arm that must ask": {coleo.OnLimit(coleo.OnLimitAsk), "429, retry in 5s"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, id, clock := limitStage(t, c.on)
			if p := s.meets(id, c.limit); !p.Wake.IsZero() || p.Why == "" {
				t.Fatalf("it is parked %+v", p)
			}
			clock.advance(24 * time.Hour)
			s.look(id)
			s.checkNothingSent(id, "ada", 1)
			s.queue(id, coleo.QueueOrder{Step: coleo.QueueContinued})
			s.awaitPrompted("ada", "say Limit: "+c.limit, "say on")
			s.refused(coleo.EConflict, bus.OpQueue, bus.QueueOrder{Arm: id,
				QueueOrder: coleo.QueueOrder{Step: coleo.QueueContinued}})
		})
	}
}

func TestAnArmThatIsEndedIsNotParkedAnyMore(t *testing.T) {
	t.Parallel()
	s, id, _ := limitStage(t, "")
	s.meets(id, "429")
	s.check(s.ask(bus.OpKill, bus.ArmOrder{Arm: id}, nil))
	if q := s.queue(id, coleo.QueueOrder{}); q.Parked != nil {
		t.Errorf("it is parked %+v", q.Parked)
	}
}

// TestAKillNeitherLosesNorDoublesThePromptOfAParkedArm kills the host agent at each step from the moment when
// the arm is parked until the prompt that continues it arrives.
func TestAKillNeitherLosesNorDoublesThePromptOfAParkedArm(t *testing.T) {
	t.Parallel()
	for what, kill := range map[string]func(s *stage, id string, clock *fakeClock){
		"before it is time": func(s *stage, _ string, clock *fakeClock) {
			s.restart()
			clock.advance(time.Hour)
		},
		"when it is time": func(s *stage, id string, clock *fakeClock) {
			a, err := s.host.arm(id)
			s.check(err)
			// Otherwise the kill could leave the prompt half typed, and the prompt would rightly be called lost.
			a.delivering.Lock()
			clock.advance(time.Hour)
			s.stop()
			a.delivering.Unlock()
			s.restart()
		},
		"when the prompt is in the queue": func(s *stage, id string, clock *fakeClock) {
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session {
				return &refusingSession{real, func() error { return coleo.Errorf(coleo.EBusy, "not now") }}
			})
			clock.advance(time.Hour)
			a.sendFirst(s.t.Context(), session)
			if q := s.queue(id, coleo.QueueOrder{}); q.Parked != nil || len(q.Entries) != 1 {
				s.t.Errorf("the queue is %+v", q)
			}
			s.restart()
		},
		"when the prompt has arrived": func(s *stage, id string, clock *fakeClock) {
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session { return &cutSession{real, s.db, false} })
			clock.advance(time.Hour)
			s.stopDuring(a, session)
			s.restart()
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, id, clock := limitStage(t, "")
			s.meets(id, "429")
			kill(s, id, clock)
			s.look(id)
			s.awaitPrompted("ada", "say Limit: 429", "say on")
			s.awaitRuns(id, 2)
			s.restart()
			clock.advance(7 * 24 * time.Hour)
			s.look(id)
			s.checkNothingSent(id, "ada", 2)
			if lost := s.events(id, coleo.EventPromptLost); len(lost) != 0 {
				t.Errorf("%d prompts are called lost", len(lost))
			}
		})
	}
}

func (s *stage) onLimit(id string, on coleo.OnLimit) bus.OnLimitReport {
	s.t.Helper()
	return must[bus.OnLimitReport](s, bus.OpOnLimit, bus.OnLimitOrder{Arm: id, OnLimit: on})
}

// changes returns the changes of on_limit in the log.
func (s *stage) changes(id string) (out []coleo.OnLimitChange) {
	s.t.Helper()
	for _, e := range s.events(id, coleo.EventOnLimit) {
		var c coleo.OnLimitChange
		s.check(json.Unmarshal(e.Payload, &c))
		out = append(out, c)
	}
	return out
}

func TestAChangeOfOnLimitHoldsForTheNextLimitAndAfterAKill(t *testing.T) {
	t.Parallel()
	s, id, _ := limitStage(t, "")
	s.refused(coleo.EInvalid, bus.OpOnLimit, bus.OnLimitOrder{Arm: id, OnLimit: "wait,ask"})
	if r := s.onLimit(id, "ask"); r.OnLimit != "ask" || r.Parked != nil || r.Chosen.OnLimit != "ask" {
		t.Errorf("the report is %+v", r)
	}
	s.restart()
	if p := s.meets(id, "429"); !p.Wake.IsZero() || p.Why == "" {
		t.Errorf("with ask it is parked %+v", p)
	}
	if got := s.changes(id); !slices.Equal(got, []coleo.OnLimitChange{{From: "wait", To: "ask"}}) {
		t.Errorf("the log has the changes %+v", got)
	}
}

// on_limit says what an arm does at a limit, for example "wait". The test changes the on_limit of a parked arm
// several times. The arm must then follow the same plan as if it had had this on_limit from the beginning. It
// must continue only once.
func TestAChangeOfOnLimitPlansThePresentParkingAnew(t *testing.T) {
	t.Parallel()
	s, id, clock := limitStage(t, "")
	first := s.meets(id, "429")
	if r := s.onLimit(id, "ask"); !r.Parked.Wake.IsZero() || r.Parked.Why != "its on_limit ends with ask" {
		t.Errorf("with ask it is parked %+v", r.Parked)
	}
	if r := s.onLimit(id, "model:p/m3,handover:other"); r.Parked.Next != "model:p/m3,handover:other" {
		t.Errorf("with alternatives it is parked %+v", r.Parked)
	}
	if r := s.onLimit(id, "wait"); *r.Parked != first {
		t.Errorf("with wait again it is parked\n%+v, want\n%+v", *r.Parked, first)
	}
	s.onLimit(id, "wait") // does not change the plan
	want := []coleo.ParkStep{coleo.ParkBegun, coleo.ParkChanged, coleo.ParkChanged, coleo.ParkChanged}
	if got := s.steps(id); !slices.Equal(got, want) {
		t.Errorf("the log tells %v, want %v", got, want)
	}
	clock.advance(2 * time.Hour)
	s.look(id)
	s.awaitRuns(id, 2)
	if got := s.prompted("ada"); !slices.Equal(got, []string{"say Limit: 429", "say on"}) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
}

// on_limit lists the steps that an arm tries at a limit, for example "model:p/m3,wait". One step has failed at
// this limit. After a change of on_limit, that step must not be tried again. An order about a step that is no
// longer in on_limit must be refused.
func TestAChangeOfOnLimitDoesNotTryAStepAgain(t *testing.T) {
	t.Parallel()
	s, id, _, o := alternativeStage(t, "model:p/m3,wait")
	failed := o
	failed.Model, failed.Failed = "", "it is away"
	must[struct{}](s, bus.OpAlternative, failed)
	r := s.onLimit(id, "model:p/m3,handover:other,wait")
	if r.Parked.Next != "handover:other" || r.Parked.Tried != "model:p/m3" || r.Parked.Failed == "" {
		t.Errorf("it is parked %+v", r.Parked)
	}
	s.onLimit(id, "wait")
	gone := bus.AlternativeOrder{Arm: id, At: o.At, Failed: "late"}
	gone.At.Step = "handover:other"
	s.refused(coleo.EStale, bus.OpAlternative, gone)
}
