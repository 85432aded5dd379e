package bus

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
	"coleo.dev/typingtime"
)

// An order that has waited in a queue until its sender gave it up must be refused.
func TestAnOrderThatComesTooLateIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	now := boottime.Now()
	for name, o := range map[string]order{
		"its time was up": {ID: "1", Op: OpPrompt, Timeout: time.Minute, End: now - time.Millisecond,
			Waiting: now + time.Minute},
		"its sender gave it up": {ID: "2", Op: OpPrompt, Timeout: time.Minute, End: now + time.Minute,
			Waiting: now - time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			r := new(Conn).carryOut(t.Context(), o, func(context.Context, Op, json.RawMessage) (any, error) {
				t.Error("it was carried out")
				return nil, nil
			})
			if r.Error == nil || r.Error.Code != coleo.ETimeout {
				t.Errorf("report = %+v, want %s", r.Error, coleo.ETimeout)
			}
		})
	}
}

// The host agent must have enough time for a long prompt. But its time must end before the time of
// the caller, who waits for the answer.
func TestAnOrderHasTheTimeThatItsSenderGivesIt(t *testing.T) {
	t.Parallel()
	serve, host := pair(t)
	type times struct{ Left, Waited time.Duration }
	err := host.Serve(t.Context(), "h", func(ctx context.Context, _ Op, _ json.RawMessage) (any, error) {
		end, _ := ctx.Deadline()
		waited, _ := typingtime.Left(ctx)
		return times{Left: time.Until(end), Waited: waited}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const long = 30 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	var got times
	if err := serve.Ask(ctx, "h", OpPrompt, PromptOrder{}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Left > long-answerTime || got.Left < long/2 {
		t.Errorf("the order may take %s, want %s less than %s", got.Left, answerTime, long)
	}
	if got.Waited > silentAfter {
		t.Errorf("the order is waited for %s, though its sender gives it up after %s of silence", got.Waited,
			silentAfter)
	}
}
