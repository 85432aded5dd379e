package brain

import (
	"context"
	"encoding/json"
	"testing"

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
