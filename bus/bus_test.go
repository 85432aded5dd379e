package bus_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
	"coleo.dev/timelimit"
)

// pair starts a bus, and returns a connection of serve and a connection of a host agent.
func pair(t *testing.T) (serve, host *bus.Conn) {
	t.Helper()
	b := bustest.New(t)
	serve, host = b.Serve(), b.Host()
	t.Cleanup(func() { serve.Close(); host.Close() })
	return serve, host
}

func TestACommandIsAnsweredWithItsReportOrItsError(t *testing.T) {
	t.Parallel()
	serve, host := pair(t)
	err := host.Serve(t.Context(), "host.one", func(_ context.Context, op bus.Op, data json.RawMessage) (any, error) {
		var o bus.ArmOrder
		if err := json.Unmarshal(data, &o); err != nil {
			return nil, err
		}
		if o.Arm == "blocked" {
			return nil, coleo.Blocked(&coleo.Dialog{Title: "Proceed?"})
		}
		return bus.ArmReport{ID: o.Arm, Desired: coleo.Desired(op)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got bus.ArmReport
	if err := serve.Ask(t.Context(), "host.one", bus.OpKill, bus.ArmOrder{Arm: "a"}, &got); err != nil || got.ID != "a" ||
		got.Desired != "kill" {
		t.Fatalf("report = %+v, %v", got, err)
	}
	err = serve.Ask(t.Context(), "host.one", bus.OpKill, bus.ArmOrder{Arm: "blocked"}, &got)
	e, ok := err.(*coleo.Error)
	if !ok || e.Code != coleo.EBlocked || e.Dialog == nil || e.Dialog.Title != "Proceed?" {
		t.Fatalf("error = %v, want the dialog in it", err)
	}
}

func TestAHostThatIsNotThereIsUnavailableAtOnce(t *testing.T) {
	t.Parallel()
	serve, _ := pair(t)
	start := time.Now()
	err := serve.Ask(t.Context(), "nobody", bus.OpList, nil, nil)
	if coleo.ErrorCode(err) != coleo.EUnavailable || time.Since(start) > 5*time.Second {
		t.Fatalf("ask = %v after %s, want %s at once", err, time.Since(start), coleo.EUnavailable)
	}
}

func TestACommandThatItsHostAgentDidNotOutliveIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]bool{"gone": false, "started anew": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			serve, host := pair(t)
			life, dies := context.WithCancel(t.Context())
			err := host.Serve(life, "h", func(ctx context.Context, _ bus.Op, _ json.RawMessage) (any, error) {
				dies()
				<-ctx.Done()
				if returns {
					time.Sleep(100 * time.Millisecond) // a new process needs at least this long until it listens
					if err := host.Serve(t.Context(), "h", nil); err != nil {
						t.Error(err)
					}
				}
				<-t.Context().Done() // like a dead process, send no report
				return nil, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = serve.Ask(ctx, "h", bus.OpPrompt, bus.PromptOrder{}, nil)
			if coleo.ErrorCode(err) != coleo.EUnavailable || bus.IsUnreachable(err) == returns {
				t.Fatalf("ask = %v, unreachable %v", err, bus.IsUnreachable(err))
			}
		})
	}
}

func TestBeatsAndGrowthReachWhoListens(t *testing.T) {
	t.Parallel()
	serve, host := pair(t)
	beats, grown := make(chan bus.Beat, 1), make(chan bus.Grown, 1)
	if err := serve.Beats(t.Context(), func(b bus.Beat) { beats <- b }); err != nil {
		t.Fatal(err)
	}
	if err := serve.Growth(t.Context(), func(g bus.Grown) { grown <- g }); err != nil {
		t.Fatal(err)
	}
	if err := host.RollCalls(t.Context(), func() { _ = host.Beat(bus.Beat{ID: "h"}) }); err != nil {
		t.Fatal(err)
	}
	if err := serve.RollCall(); err != nil {
		t.Fatal(err)
	}
	if b := <-beats; b.ID != "h" {
		t.Fatalf("beat = %+v", b)
	}
	if err := host.Grew(bus.Grown{Host: "h", Head: 7}); err != nil {
		t.Fatal(err)
	}
	if g := <-grown; g.Head != 7 {
		t.Fatalf("growth = %+v", g)
	}
}

// The host agent must have enough time for an order with a long prompt. Its time must end a little before the
// time of the sender, so that its answer still reaches the sender.
func TestAnOrderHasTheTimeThatItsSenderGivesIt(t *testing.T) {
	t.Parallel()
	serve, host := pair(t)
	type times struct{ Left, Waited time.Duration }
	err := host.Serve(t.Context(), "h", func(ctx context.Context, _ bus.Op, _ json.RawMessage) (any, error) {
		end, _ := ctx.Deadline()
		waited, _ := timelimit.Left(ctx)
		return times{Left: time.Until(end), Waited: waited}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const long = 30 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var got times
	if err := serve.Ask(ctx, "h", bus.OpPrompt, bus.PromptOrder{}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Left > long-bus.AnswerTime || got.Left < long/2 {
		t.Errorf("the order may take %s, want %s less than %s", got.Left, bus.AnswerTime, long)
	}
	if got.Waited > bus.GivesUpAfter {
		t.Errorf("the order is waited for %s, though its sender gives it up after %s of silence", got.Waited,
			bus.GivesUpAfter)
	}
}
