package brain

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// A permit allows a host agent to type into an arm for some seconds. Permits must be renewed even if nobody
// types. Each renewal asks the host agent for its clock, so the test counts these requests.
func TestPermitsAreRenewedWhileAHostSaysThatItNeedsThem(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	var asked atomic.Int64
	s.answerWith(bus.OpPermit, func(context.Context, json.RawMessage) (any, error) {
		asked.Add(1)
		return bus.Clock{ID: "clock-1", Now: time.Hour}, nil
	})
	check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "a", Name: "a", Harness: "aider", AgentID: scriptedHost,
		Generation: 1, Status: coleo.StatusIdle, State: coleo.Idle}))
	s.alwaysAnswer(bus.OpPulse, bus.Pulse{Arms: []bus.ArmPulse{{ID: "a", Generation: 1, Attached: true,
		Process: bus.ProcessAlive, NeedsPermit: true}}})
	s.until("the permits are renewed", func() bool { return asked.Load() >= 2 })
}

// fakeArbiter grants every permit.
type fakeArbiter struct{}

func (fakeArbiter) Grant(string, string) time.Duration { return 0 }

func TestAFreezingArmIsPermittedBeforeAPrompt(t *testing.T) {
	t.Parallel()
	s := newScriptedWith(t, fakeArbiter{})
	var permits, before atomic.Int64
	s.answerWith(bus.OpPermit, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.PermitOrder
		err := json.Unmarshal(data, &o)
		permits.Add(int64(len(o.Arms)))
		return bus.Clock{ID: "clock-1", Now: time.Hour}, err
	})
	s.answerWith(bus.OpPrompt, func(context.Context, json.RawMessage) (any, error) {
		before.Store(permits.Load())
		return coleo.Receipt{ID: "r"}, nil
	})
	config, err := json.Marshal(coleo.SpawnConfig{OnPartition: coleo.PartitionFreeze})
	check(t, err)
	check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "a", Name: "a", Harness: "aider", AgentID: scriptedHost,
		Generation: 1, Status: coleo.StatusIdle, State: coleo.Idle, Config: config}))
	_, err = s.brain.Prompt(t.Context(), "a", coleo.Prompt{Text: "x"}, "")
	check(t, err)
	if before.Load() != 1 {
		t.Errorf("there were %d permits before the prompt, want 1", before.Load())
	}
}
