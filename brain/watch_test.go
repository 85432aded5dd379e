package brain

import (
	"context"
	"encoding/json"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/brain/roster"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// rowsOf adds n idle arms of the host agent. It returns the host agent's short reports about them.
func (s *scripted) rowsOf(n int) (pulses []bus.ArmPulse) {
	s.t.Helper()
	for i := range n {
		id := "arm-" + strconv.Itoa(i)
		check(s.t, s.db.CreateArm(s.t.Context(), coleo.Arm{ID: id, Name: id + "x", Harness: "h", AgentID: scriptedHost,
			Generation: 1, Status: coleo.StatusIdle, State: coleo.Idle}))
		pulses = append(pulses, bus.ArmPulse{ID: id, Generation: 1, Attached: true, Process: bus.ProcessAlive})
	}
	return pulses
}

// A pulse is a host agent's short report about one arm or all its arms. A start must ask for the pulse of the
// new arm only. Otherwise the cost of a start would grow with the number of the host agent's arms.
func TestAStartAsksOfItsArmAlone(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	var ofAll, ofOne atomic.Int64
	s.answerWith(bus.OpPulse, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.PulseOrder
		err := json.Unmarshal(data, &o)
		if o.Arm == "" {
			ofAll.Add(1)
			return bus.Pulse{}, err
		}
		ofOne.Add(1)
		return bus.Pulse{Of: o.Arm,
			Arms: []bus.ArmPulse{{ID: o.Arm, Generation: 1, Attached: true, Process: bus.ProcessAlive}}}, err
	})
	newID := make(chan bool, 1)
	s.answerWith(bus.OpSpawn, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.SpawnOrder
		err := json.Unmarshal(data, &o)
		newID <- o.NewID
		// A host agent sends this beat by itself when it has stored the start.
		s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, MaxArms: 9, Of: o.ID,
			Pulse: &bus.ArmPulse{ID: o.ID, Generation: 1, Attached: true, Process: bus.ProcessAlive}})
		return bus.ArmReport{}, err
	})
	s.until("its pulse was taken", func() bool { return ofAll.Load() > 0 })
	const starts = 30
	began, before := time.Now(), ofAll.Load()
	for i := range starts {
		_, err := s.brain.Spawn(t.Context(), wire.SpawnRequest{Name: "arm-" + strconv.Itoa(i), Harness: "aider",
			Workdir: "/w"})
		check(t, err)
		if !<-newID {
			t.Error("the host agent is not told that the arm's id is new")
		}
	}
	regular := int64(time.Since(began)/bus.PulseEvery) + roster.PulsesAtOnce
	if n := ofAll.Load() - before; n > regular {
		t.Errorf("%d starts asked for %d pulses of all arms, of which %d are the regular ones", starts, n, regular)
	}
	if n := ofOne.Load(); n != starts {
		t.Errorf("%d starts asked for %d pulses of one arm", starts, n)
	}
}

// TestAnArmThatHasRunIsNotCalledNew starts an arm again. The order must not say that the arm's id is new,
// because the host agent would then not look for an earlier start.
func TestAnArmThatHasRunIsNotCalledNew(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	newID := make(chan bool, 1)
	s.answerWith(bus.OpSpawn, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.SpawnOrder
		err := json.Unmarshal(data, &o)
		newID <- o.NewID
		return bus.ArmReport{}, err
	})
	check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "a", Name: "ada", Harness: "aider", AgentID: scriptedHost,
		Status: coleo.StatusStopped, State: coleo.Dead}))
	_, err := s.brain.Spawn(t.Context(), wire.SpawnRequest{Name: "ada", Workdir: "/w"})
	check(t, err)
	if <-newID {
		t.Error("the host agent is told that the id is new, and need not look for an earlier start")
	}
}

// In each round, one arm changes in a report about all arms, and another one in a report about one arm. Serve
// must publish these two arms only. The brain itself also asks for such reports. After the first one, it
// publishes all arms, which may happen late. So the test repeats the round until only the two arms were
// published.
func TestOneArmsNewsArePublishedAlone(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	const arms, rounds = 20, 10
	pulses := s.rowsOf(arms)
	s.alwaysAnswer(bus.OpPulse, bus.Pulse{Arms: pulses})
	s.brain.roster.TakePulse(t.Context(), scriptedHost)
	news := s.watched()
	var published map[string]int
	for round := range rounds {
		now := append([]bus.ArmPulse{}, pulses...)
		if round%2 == 0 {
			now[3].Process = bus.ProcessStopped
		}
		s.alwaysAnswer(bus.OpPulse, bus.Pulse{Arms: now})
		s.brain.roster.TakePulse(t.Context(), scriptedHost)
		now[4].PID = round + 1
		s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, Of: now[4].ID, Pulse: &now[4]})
		published = map[string]int{}
		for _, u := range news() {
			if u.Arm != nil {
				published[u.Arm.ID]++
			}
		}
		if len(published) == 2 && published["arm-3"] > 0 && published["arm-4"] > 0 {
			return
		}
	}
	t.Errorf("in each of %d rounds arms 3 and 4 changed; in the last one these were published, so often: %v", rounds,
		published)
}

// A pulse, a host agent's short report, can omit the list of arms and say that it has not changed. Such a pulse
// must still confirm the states of all arms at its own, later time.
func TestASamePulseVouchesForAllArms(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	pulses := s.rowsOf(3)
	var whole atomic.Int64
	s.answerWith(bus.OpPulse, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.PulseOrder
		err := json.Unmarshal(data, &o)
		if o.Known == "m1" {
			return bus.Pulse{Mark: "m1", Same: true}, err
		}
		whole.Add(1)
		return bus.Pulse{Mark: "m1", Arms: pulses}, err
	})
	look := func() (arms int, confirmed time.Time) {
		return len(s.brain.roster.Attached(scriptedHost)), s.brain.roster.WatchOf(s.row("arm-1")).AsOf
	}
	s.brain.roster.TakePulse(t.Context(), scriptedHost)
	s.until("a pulse has told of the arms", func() bool { n, _ := look(); return n == len(pulses) })
	_, before := look()
	s.until("a later pulse vouches for them", func() bool {
		s.brain.roster.TakePulse(t.Context(), scriptedHost)
		n, at := look()
		return n == len(pulses) && at.After(before)
	})
	if n := whole.Load(); n > roster.PulsesAtOnce {
		t.Errorf("%d pulses told of all arms", n)
	}
	if missing := s.brain.roster.WatchOf(s.row("arm-1")).Missing; missing != "" {
		t.Errorf("the arm is said to be unwatched: %s", missing)
	}
}
