package brain

import (
	"context"
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// newSwitchable returns a brain with the idle arm ada, whose agent CLI takes another model or conversation only at its
// start. The channel receives the orders to end the arm and to start it.
func newSwitchable(t *testing.T) (*scripted, <-chan bus.Op) {
	t.Helper()
	s := newScripted(t)
	s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, Capabilities: []string{"claude-code"}, MaxArms: 9})
	check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "ada", Name: "ada", Harness: "claude-code", AgentID: scriptedHost,
		Generation: 1, Workdir: "/w", Config: json.RawMessage("{}"), SessionID: "c1", Status: coleo.StatusIdle,
		State: coleo.Idle}))
	s.reads(coleo.Idle)
	s.alwaysAnswer(bus.OpThreads, coleo.ThreadList{Threads: []coleo.Thread{{ID: "c2"}}})
	s.alwaysAnswer(bus.OpModel, bus.ModelReport{ModelSwitch: coleo.ModelSwitch{Pending: true}})
	orders := make(chan bus.Op, 2)
	s.answerWith(bus.OpKill, func(context.Context, json.RawMessage) (any, error) {
		orders <- bus.OpKill
		_, err := s.db.UpdateArm(t.Context(), "ada", func(row *coleo.Arm) error {
			row.Status, row.State, row.Rule = coleo.StatusStopped, coleo.Dead, "killed"
			return nil
		})
		s.alwaysAnswer(bus.OpReport, bus.ArmReport{ID: "ada", Generation: 1, Proof: bus.Gone, Process: bus.ProcessDead})
		return nil, err
	})
	s.answerWith(bus.OpSpawn, func(context.Context, json.RawMessage) (any, error) {
		orders <- bus.OpSpawn
		return bus.ArmReport{}, nil
	})
	return s, orders
}

// reads makes the host agent report that it reads the given state on the screen of the arm ada.
func (s *scripted) reads(state coleo.State) {
	s.alwaysAnswer(bus.OpReport, bus.ArmReport{ID: "ada", Generation: 1, Attached: true, Proof: bus.Proven,
		Process: bus.ProcessAlive, Reading: coleo.Reading{State: state, Known: true}})
}

// restartsOfAda returns orders that end the arm ada and start it again.
func restartsOfAda() map[string]func(context.Context, *scripted) error {
	return map[string]func(context.Context, *scripted) error{
		"another conversation": func(ctx context.Context, s *scripted) error {
			_, err := s.brain.SwitchThread(ctx, "ada", "c2")
			return err
		},
		"recovery": func(ctx context.Context, s *scripted) error {
			s.reads(coleo.Failed)
			_, err := s.brain.Recover(ctx, "ada", wire.RecoverRequest{})
			return err
		},
	}
}

// TestAnEndedArmIsStartedAgainEvenIfItsCallerLeaves has a caller that no longer waits when the arm has ended, for
// example because a person has pressed CTRL-C. Nobody else would start the arm again.
func TestAnEndedArmIsStartedAgainEvenIfItsCallerLeaves(t *testing.T) {
	t.Parallel()
	restarts := restartsOfAda()
	restarts["another model"] = func(ctx context.Context, s *scripted) error {
		_, err := s.brain.SwitchModel(ctx, "ada", coleo.ModelOrder{Model: "opus", Restart: true})
		return err
	}
	for what, restart := range restarts {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, orders := newSwitchable(t)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			s.mu.Lock()
			kill := s.answers[bus.OpKill]
			s.mu.Unlock()
			s.answerWith(bus.OpKill, func(ctx context.Context, data json.RawMessage) (any, error) {
				leave()
				return kill(ctx, data)
			})
			err := restart(ctx, s)
			if op := <-orders; op != bus.OpKill {
				t.Fatalf("the first order is %q", op)
			}
			select {
			case op := <-orders:
				if op != bus.OpSpawn {
					t.Errorf("the second order is %q", op)
				}
			default:
				t.Errorf("the arm has ended, and was not started again: %v", err)
			}
		})
	}
}

// TestAnArmThatBeginsToWorkIsNotEndedForItsNextModel has an arm that gets a prompt while serve looks for the model in
// the catalogue.
func TestAnArmThatBeginsToWorkIsNotEndedForItsNextModel(t *testing.T) {
	t.Parallel()
	s, orders := newSwitchable(t)
	s.reads(coleo.Processing)
	out, err := s.brain.SwitchModel(t.Context(), "ada", coleo.ModelOrder{Model: "opus", Restart: true})
	if coleo.ErrorCode(err) != coleo.EBusy || !out.Pending || out.Restarted || len(orders) > 0 {
		t.Errorf("the switch = %+v, %v with %d orders; want that the model waits for the next start", out, err, len(orders))
	}
}

// TestOnlyTheKnownGenerationIsEnded has two users who recover an arm at the same moment. Serve has decided to end the
// first generation. The order must name it, so that the host agent does not end what the other user has just started.
func TestOnlyTheKnownGenerationIsEnded(t *testing.T) {
	t.Parallel()
	for what, restart := range restartsOfAda() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, orders := newSwitchable(t)
			s.answerWith(bus.OpKill, func(_ context.Context, data json.RawMessage) (any, error) {
				var o bus.ArmOrder
				if err := json.Unmarshal(data, &o); err != nil {
					return nil, err
				}
				if o.Generation != 1 {
					t.Errorf("the order to end the arm names the generation %d, want 1", o.Generation)
				}
				return nil, coleo.Errorf(coleo.EStale, "generation 2 runs")
			})
			if err := restart(t.Context(), s); coleo.ErrorCode(err) != coleo.EStale || len(orders) > 0 {
				t.Errorf("it returned %v after %d orders", err, len(orders))
			}
		})
	}
}
