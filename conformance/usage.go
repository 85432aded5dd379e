package conformance

import (
	"context"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/patience"
)

const (
	// accountTimeout is how long the check waits, after a turn, until the agent CLI has
	// recorded the turn's usage.
	accountTimeout = 10 * time.Second
	// accountEvery is the time between two reads of the usage.
	accountEvery = 50 * time.Millisecond
	// These are the limits for an approximate count of tokens. It may differ from the model's count
	// by a quarter, or by guessSlack tokens if that is more. Tokenizers differ by 10 to 20 % (Aider
	// 0.86.2 on the scripted model: 10 %).
	guessShare, guessSlack = 4, 8
)

// usage compares the usage that the agent CLI reports for a turn with the usage that the model has
// counted. The agent CLI may or may not include its side requests.
func usage(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	meter, ok := t.Session.(coleo.UsageMeter)
	if !ok {
		return fmt.Errorf("the session reports no tokens, but the harness claims that it does")
	}
	before, err := meter.Usage(ctx)
	if err != nil {
		return err
	}
	requestsBefore := len(t.Model.Record())
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return err
	}
	ctx, cancel := patience.With(ctx, accountTimeout)
	defer cancel()
	var used, turn, all coleo.Usage
	for {
		after, err := meter.Usage(ctx)
		if err != nil {
			return err
		}
		used = after.Minus(before)
		turn, all = t.countedUsage(requestsBefore)
		if agrees(used, turn) || agrees(used, all) {
			t.details = fmt.Sprintf("%d tokens sent and %d received, read from the %s", used.Input, used.Output,
				after.Source)
			if used.Approximate {
				t.details += fmt.Sprintf("; a guess: the model counted %d and %d", turn.Input, turn.Output)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the account says %d tokens sent and %d received, the model counted %d and %d (with "+
				"side requests %d and %d)",
				used.Input, used.Output, turn.Input, turn.Output, all.Input, all.Output)
		case <-time.After(accountEvery):
		}
	}
}

// agrees reports whether the agent CLI's usage agrees with the model's count. If the usage is
// approximate, small differences are allowed.
func agrees(account, counted coleo.Usage) bool {
	agree := func(a, b int) bool {
		return a == b || account.Approximate && a > 0 && max(a-b, b-a) <= max(b/guessShare, guessSlack)
	}
	return agree(account.Input, counted.Input) && agree(account.Output, counted.Output)
}

// countedUsage adds up the usage that the model counted after the first `requestsBefore` requests. `all` is the
// sum. `turn` is the sum without side requests, which the agent CLI makes for itself.
func (t *Trial) countedUsage(requestsBefore int) (turn, all coleo.Usage) {
	for _, q := range t.Model.Record()[requestsBefore:] {
		all.Input, all.Output = all.Input+q.Input, all.Output+q.Output
		if q.Side == "" {
			turn.Input, turn.Output = turn.Input+q.Input, turn.Output+q.Output
		}
	}
	return turn, all
}
