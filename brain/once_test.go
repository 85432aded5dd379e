package brain

import (
	"context"
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// TestAStartWithoutAHarnessWaitsForAHostAgent has a trigger whose template names no harness. When serve starts, it
// may carry out the trigger before the host agent has connected. Without a host agent, nobody knows which agent CLIs
// are installed. So the trigger must be tried again.
func TestAStartWithoutAHarnessWaitsForAHostAgent(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.brain.Local = func(context.Context) error { return nil }
	asked := make(chan struct{}, 1)
	s.answerWith(bus.OpPulse, func(context.Context, json.RawMessage) (any, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-t.Context().Done() // no answer, because serve would take any answer as a sign of life
		return nil, t.Context().Err()
	})
	<-asked // serve asks again only after the earlier pulse was answered, so that answer cannot come later
	s.brain.roster.MarkAway(t.Context(), scriptedHost, "it has not connected yet")
	q := wire.SpawnRequest{Name: "nightly-1", Workdir: "/w", InitialPrompt: "work"}
	once := StartAttempt{Arm: "arm-1", Run: "r"}
	if result, err := s.brain.StartOnce(t.Context(), q, once); result != OnceLater {
		t.Errorf("without a host agent, the start is %s: %v", result, err)
	}
	s.alwaysAnswer(bus.OpSpawn, bus.ArmReport{})
	s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, Capabilities: []string{"aider"}, MaxArms: 9,
		TakesSubarms: true, TakesTriggers: true})
	if result, err := s.brain.StartOnce(t.Context(), q, once); result != OnceStarted {
		t.Errorf("with a host agent, the start is %s: %v", result, err)
	}
}

// Serve does not know whether a trigger's arm was started, and its host agent comes back only hours later. Serve must
// find out what became of the order, but it must not order the start now.
func TestAStartThatIsTooLateIsNotOrdered(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		arms []bus.ArmPulse // what the host agent reports; nil if it does not know the arm
		want OnceResult
		kept bool
	}{
		"it was started":       {[]bus.ArmPulse{{ID: "arm-1", Generation: 1, PID: 7}}, OnceStarted, true},
		"it is being started":  {[]bus.ArmPulse{{ID: "arm-1", Starting: true}}, OnceUnknown, true},
		"it was never started": {nil, OnceRefused, false},
		"its start has failed": {[]bus.ArmPulse{{ID: "arm-1", Generation: 1}}, OnceRefused, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t)
			s.answerWith(bus.OpPulse, func(_ context.Context, data json.RawMessage) (any, error) {
				var o bus.PulseOrder
				err := json.Unmarshal(data, &o)
				if o.Arm != "" && c.arms == nil {
					err = coleo.Errorf(coleo.ENotFound, "no arm called %q", o.Arm)
				}
				return bus.Pulse{Arms: c.arms}, err
			})
			s.answerWith(bus.OpSpawn, func(context.Context, json.RawMessage) (any, error) {
				t.Error("the start was ordered")
				return bus.ArmReport{}, nil
			})
			s.alwaysAnswer(bus.OpRemove, bus.Removed{})
			s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, Capabilities: []string{"aider"}, MaxArms: 9,
				TakesSubarms: true, TakesTriggers: true})
			check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "arm-1", Name: "nightly-1", Harness: "aider",
				AgentID: scriptedHost, Status: coleo.StatusStarting, State: coleo.Initializing, Rule: "ordered",
				Workdir: "/w", Config: json.RawMessage("{}")}))
			result, err := s.brain.StartOnce(t.Context(), wire.SpawnRequest{Name: "nightly-1", InitialPrompt: "work"},
				StartAttempt{Arm: "arm-1", Run: "r", Again: true, Late: true})
			if result != c.want {
				t.Errorf("the start is %s (%v), want %s", result, err, c.want)
			}
			if _, err := s.db.Arm(t.Context(), "arm-1"); (err == nil) != c.kept {
				t.Errorf("the row: %v, want that it is kept: %v", err, c.kept)
			}
		})
	}
}
