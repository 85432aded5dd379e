package conformance

import (
	"context"
	"fmt"
	"time"

	"coleo.dev"
)

const (
	// accountTimeout bounds how long an agent CLI may take to write down what a
	// turn has taken, once that is over.
	accountTimeout = 10 * time.Second
	// accountEvery is how often it is looked at meanwhile.
	accountEvery = 50 * time.Millisecond
	// A guess may be off by a quarter of what the model counted: tokenizers differ
	// by a tenth or two (Aider 0.86.2 on the scripted model: 10 %). Of few tokens
	// it may be off by guessSlack.
	guessShare, guessSlack = 4, 8
)

// usage compares what the agent CLI says that a turn has taken with what the
// model counted. Its side requests may be in the account or not.
func usage(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	meter, ok := t.Session.(coleo.UsageMeter)
	if !ok {
		return fmt.Errorf("the session has no account, though the harness claims one")
	}
	before, err := meter.Usage(ctx)
	if err != nil {
		return err
	}
	seen := len(t.Model.Record())
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, accountTimeout)
	defer cancel()
	var took, turn, all coleo.Usage
	for {
		after, err := meter.Usage(ctx)
		if err != nil {
			return err
		}
		took = after.Minus(before)
		turn, all = t.counted(seen)
		if agrees(took, turn) || agrees(took, all) {
			t.details = fmt.Sprintf("%d tokens sent and %d received, read from the %s", took.Input, took.Output, after.Source)
			if took.Approximate {
				t.details += fmt.Sprintf("; a guess: the model counted %d and %d", turn.Input, turn.Output)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the account says %d tokens sent and %d received, the model counted %d and %d (with side requests %d and %d)",
				took.Input, took.Output, turn.Input, turn.Output, all.Input, all.Output)
		case <-time.After(accountEvery):
		}
	}
}

// agrees tells whether an account says what the model counted, as nearly as it
// claims to.
func agrees(account, counted coleo.Usage) bool {
	near := func(a, b int) bool {
		return a == b || account.Approximate && a > 0 && max(a-b, b-a) <= max(b/guessShare, guessSlack)
	}
	return near(account.Input, counted.Input) && near(account.Output, counted.Output)
}

// counted adds up what the model counted behind the first so many requests:
// for the turn, and with side requests.
func (t *Trial) counted(seen int) (turn, all coleo.Usage) {
	for _, q := range t.Model.Record()[seen:] {
		all.Input, all.Output = all.Input+q.Input, all.Output+q.Output
		if q.Side == "" {
			turn.Input, turn.Output = turn.Input+q.Input, turn.Output+q.Output
		}
	}
	return turn, all
}
