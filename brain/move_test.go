package brain

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// withLocal adds an arm of the host "local", which is serve itself. This host answers orders with the given
// function.
func (s *scripted) withLocal(local func(op bus.Op) (any, error)) coleo.Arm {
	s.t.Helper()
	s.brain.Local = func(context.Context) error { return nil }
	check(s.t, s.bus.Host().Serve(s.t.Context(), coleo.LocalHost,
		func(_ context.Context, op bus.Op, _ json.RawMessage) (any, error) {
			switch op {
			case bus.OpEvents:
				return bus.Events{}, nil
			case bus.OpPulse:
				return bus.Pulse{}, nil
			}
			return local(op)
		}))
	arm := coleo.Arm{ID: "arm-1", Name: "ada", Harness: "aider", Status: coleo.StatusIdle, State: coleo.Idle,
		AgentID: coleo.LocalHost, Workdir: "/w", Generation: 1}
	check(s.t, s.db.CreateArm(s.t.Context(), arm))
	return arm
}

func (s *scripted) giveToHost(arm coleo.Arm) {
	_, err := s.db.UpdateArm(s.t.Context(), arm.ID, func(row *coleo.Arm) error {
		row.AgentID = scriptedHost
		return nil
	})
	check(s.t, err)
}

// TestACommandFollowsAnArmThatMoves sends a command that reaches host local after the arm has gone
// to a host agent.
func TestACommandFollowsAnArmThatMoves(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	var arm coleo.Arm
	arm = s.withLocal(func(bus.Op) (any, error) {
		s.giveToHost(arm)
		return nil, coleo.Errorf(coleo.ENotFound, "no such arm here")
	})
	s.alwaysAnswer(bus.OpPrompt, coleo.Receipt{ID: "run-1"})
	r, err := s.brain.Prompt(t.Context(), "ada", coleo.Prompt{Text: "hello"}, "")
	if err != nil || r.ID != "run-1" {
		t.Errorf("the prompt = %+v, %v; want the host agent's receipt", r, err)
	}
}

func TestACommandWaitsWhileItsArmMoves(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	arm := s.withLocal(func(op bus.Op) (any, error) { return nil, errors.New(string(op)) })
	s.giveToHost(arm)
	var asked atomic.Int32
	s.answerWith(bus.OpPrompt, func(context.Context, json.RawMessage) (any, error) {
		asked.Add(1)
		return coleo.Receipt{ID: "run-1"}, nil
	})
	done := s.brain.markMoving(arm.ID)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // shorter than the move
	defer cancel()
	if _, err := s.brain.Prompt(ctx, "ada", coleo.Prompt{Text: "hello"}, ""); err == nil || asked.Load() != 0 {
		t.Errorf("during the move a prompt = %v, and the host agent was asked %d times", err, asked.Load())
	}
	done()
	if _, err := s.brain.Prompt(t.Context(), "ada", coleo.Prompt{Text: "hello"}, ""); err != nil || asked.Load() != 1 {
		t.Errorf("after the move a prompt = %v, and the host agent was asked %d times", err, asked.Load())
	}
}

func TestAnArmMovesOnlyToAHostAgentThatCanTakeIt(t *testing.T) {
	t.Parallel()
	released := errors.New("released")
	for what, c := range map[string]struct {
		beat bus.Beat
		want bool
	}{
		"one that can":              {bus.Beat{TakesLocal: true, Capabilities: []string{"aider"}, MaxArms: 1}, true},
		"one that is too old":       {bus.Beat{Capabilities: []string{"aider"}, MaxArms: 1}, false},
		"one without the agent CLI": {bus.Beat{TakesLocal: true, MaxArms: 1}, false},
		"one that has its number of arms": {bus.Beat{TakesLocal: true, Capabilities: []string{"aider"}, MaxArms: 1,
			Arms: []bus.ArmBeat{{ID: "arm-2"}}}, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t)
			arm := s.withLocal(func(op bus.Op) (any, error) {
				if op == bus.OpRelease {
					return nil, coleo.Errorf(coleo.EBusy, "%v", released)
				}
				return nil, coleo.Errorf(coleo.EUnsupported, "%s", op)
			})
			c.beat.ID, c.beat.PID = scriptedHost, 1
			s.brain.roster.TakeBeat(c.beat)
			now, err := s.brain.moveToHost(t.Context(), arm)
			if (coleo.ErrorCode(err) == coleo.EBusy) != c.want || now.AgentID != coleo.LocalHost {
				t.Errorf("the move = %v, and the arm is with %q", err, now.AgentID)
			}
		})
	}
}

func TestAServeThatCannotDriveArmsSaysSo(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: "arm-1", Name: "ada", Harness: "aider", Status: coleo.StatusIdle,
		State: coleo.Idle, AgentID: coleo.LocalHost, Workdir: "/w", Generation: 1}))
	s.brain.Local = func(context.Context) error { return errors.New("local.db is damaged") }
	_, err := s.brain.Prompt(t.Context(), "ada", coleo.Prompt{Text: "hello"}, "")
	var e *coleo.Error
	if !errors.As(err, &e) || e.Delivered == nil || *e.Delivered ||
		e.Message != "nothing was done: serve could not begin to drive arms itself: local.db is damaged" {
		t.Errorf("the prompt = %v, want that nothing was done and why", err)
	}
	s.until("nobody watches the arm", func() bool { return s.row("ada").Runtime.Stale })
	if got := s.row("ada").Runtime; !strings.Contains(got.Reason, "serve has not taken it up yet") ||
		!strings.HasSuffix(got.Reason, "it "+coleo.LocalNote) {
		t.Errorf("the arm's condition is %+v", got)
	}
}

func TestWithoutHostsAHarnessMustBeNamed(t *testing.T) {
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
	s.brain.roster.MarkAway(t.Context(), scriptedHost, "it was killed")
	yes := true
	_, err := s.brain.Spawn(t.Context(), wire.SpawnRequest{Name: "ada", Workdir: "/w", AllowLocalFallback: &yes})
	if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "choose one with --harness") {
		t.Errorf("spawn = %v", err)
	}
}

// TestAnArmOfALostHostAgentIsStartedByServeItself recovers a stopped arm whose host agent is gone. No other host
// agent runs, so serve itself must get the order, although the arm's row still names the lost host agent.
func TestAnArmOfALostHostAgentIsStartedByServeItself(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	orders := make(chan bus.Op, 1)
	arm := s.withLocal(func(op bus.Op) (any, error) {
		orders <- op
		return bus.ArmReport{}, nil
	})
	_, err := s.db.UpdateArm(t.Context(), arm.ID, func(row *coleo.Arm) error {
		row.AgentID, row.Status, row.State, row.Rule = "gone", coleo.StatusStopped, coleo.Dead, "exit"
		row.Config = json.RawMessage("{}")
		return nil
	})
	check(t, err)
	s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, MaxArms: 9}) // it does not have the agent CLI
	yes := true
	if _, err = s.brain.Recover(t.Context(), arm.Name, wire.RecoverRequest{AllowLocalFallback: &yes}); err != nil {
		t.Fatalf("recover = %v, want that serve itself starts the arm", err)
	}
	if op := <-orders; op != bus.OpSpawn {
		t.Errorf("serve itself got the order %q, want %q", op, bus.OpSpawn)
	}
}
