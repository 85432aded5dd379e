package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/waitfor"
)

// refusal makes the model refuse a request permanently. It checks that the turn ends and that the
// agent CLI then accepts a prompt.
func refusal(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "fail 400"})
	if err != nil {
		return err
	}
	reading, err := waitfor.Turn(ctx, t.Session, receipt)
	if err != nil {
		return err
	}
	if reading.State == coleo.WaitingApproval {
		return fmt.Errorf("the state after a refusal by the model is %s", reading.State)
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return fmt.Errorf("after the refusal: %w", err)
	}
	t.details = fmt.Sprintf("read as %s, and the next prompt was taken", reading.State)
	return nil
}

// retry makes the model fail twice before it answers. It checks that Coleo reads the
// turn as running until the model has sent the answer.
func retry(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	nonce := Nonce()
	prompt := "fail 500 2 times then say " + nonce
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if err != nil {
		return err
	}
	if _, err := waitfor.Turn(ctx, t.Session, receipt); err != nil {
		return err
	}
	ended, failures := time.Now(), 0
	for _, q := range t.Model.Record() {
		switch {
		case q.Side != "" || q.Prompt != prompt:
		case q.Status >= 500:
			failures++
		case !q.Done || q.Last.After(ended):
			return errors.New("the turn was read as over before the answer had come")
		default:
			t.details = fmt.Sprintf("answered after %d failures, running all the while", failures)
			return nil
		}
	}
	return fmt.Errorf("the turn was read as over after %d failures and no answer", failures)
}

// attachMidstream closes a session in the middle of an answer. Then it attaches to the running
// agent CLI, as a restarted host agent does.
func attachMidstream(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	prompt := "count to 40 every 100ms then say " + Nonce()
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if err != nil {
		return err
	}
	if err := t.awaitAnswerBegin(ctx, prompt); err != nil {
		return err
	}
	handle := t.Session.Handle()
	if err := t.closeSession(); err != nil {
		return err
	}
	if t.Session, err = t.Harness.Attach(ctx, handle); err != nil {
		return fmt.Errorf("take up the session: %w", err)
	}
	if _, err := waitfor.Idle(ctx, t.Session); err != nil {
		return err
	}
	if !isAnsweredBy(t.Model, prompt, time.Now()) {
		return errors.New("idle was read before the model had answered, or the answer was broken off")
	}
	if got := t.Session.Handle(); got.Process != handle.Process {
		return fmt.Errorf("the agent CLI is process %d now, was %d", got.Process.PID, handle.Process.PID)
	}
	nonce := Nonce()
	receipt.Cursor = waitfor.NewestCursor(t.Session)
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return fmt.Errorf("after it was reattached: %w", err)
	}
	t.details = "reattached in mid-stream, same process, and the next prompt was taken"
	return nil
}

// compactAndWait compacts the conversation. It returns when the agent CLI has finished.
func compactAndWait(ctx context.Context, s coleo.Session, c coleo.Compactor) error {
	receipt, err := c.Compact(ctx)
	if err != nil {
		return err
	}
	end, err := waitfor.Turn(ctx, s, receipt)
	switch {
	case err != nil:
		return err
	case end.State == coleo.WaitingApproval:
		return coleo.Blocked(end.Dialog)
	case end.State == coleo.Failed:
		return fmt.Errorf("the agent CLI could not compact its conversation: %s", end.Detail)
	}
	return nil
}

// compaction compacts the conversation, and then checks that the agent CLI accepts a prompt.
func compaction(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	compactor, ok := t.Session.(coleo.Compactor)
	if !ok {
		return skip("the harness cannot compact yet")
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return err
	}
	if err := compactAndWait(ctx, t.Session, compactor); err != nil {
		return err
	}
	summary := func(q modelserver.Request) bool { return q.Side == modelserver.SideSummary }
	if !slices.ContainsFunc(t.requests(), summary) {
		return errors.New("the model was never asked for a summary")
	}
	nonce = Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return fmt.Errorf("after it was compacted: %w", err)
	}
	t.details = "the model was asked for a summary, and the next prompt was taken"
	return nil
}
