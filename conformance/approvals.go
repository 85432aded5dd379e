package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev"
	"coleo.dev/waitfor"
)

// question is a turn in which the agent CLI has asked for permission to write a file. The agent CLI
// waits for the answer.
type question struct {
	path    string
	receipt coleo.Receipt
	dialog  *coleo.Dialog
}

// askToWrite sends a prompt that makes the model write a file. It returns when the
// agent CLI asks for permission.
func (t *Trial) askToWrite(ctx context.Context) (question, error) {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return question{}, err
	}
	name := Nonce() + ".txt"
	q := question{path: filepath.Join(t.Workdir, name)}
	var err error
	if q.receipt, err = t.Session.SendPrompt(ctx, coleo.Prompt{Text: "write " + name +
		" with some words"}); err != nil {
		return q, err
	}
	reading, err := waitfor.Turn(ctx, t.Session, q.receipt)
	if err != nil {
		return q, err
	}
	if reading.State != coleo.WaitingApproval {
		return q, fmt.Errorf("the model wants to write a file, and the state is %s, want a dialog", reading.State)
	}
	q.dialog = reading.Dialog
	return q, q.checkUnwritten()
}

func (q question) checkUnwritten() error {
	if _, err := os.Stat(q.path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s was written although nobody approved it", filepath.Base(q.path))
	}
	return nil
}

// deny denies all dialogs of the turn until the turn ends.
func (t *Trial) deny(ctx context.Context, q question) error {
	for dialog := q.dialog; ; {
		q.receipt.Cursor = waitfor.NewestCursor(t.Session)
		if err := t.Session.Respond(ctx, dialog.Fingerprint, coleo.Decision{Choice: coleo.ChoiceDeny}); err != nil {
			return fmt.Errorf("deny: %w", err)
		}
		reading, err := waitfor.Turn(ctx, t.Session, q.receipt)
		if err != nil {
			return fmt.Errorf("after the denial: %w", err)
		}
		if reading.State != coleo.WaitingApproval {
			return q.checkUnwritten()
		}
		dialog = reading.Dialog
	}
}

func approvalDeny(ctx context.Context, t *Trial) error {
	q, err := t.askToWrite(ctx)
	if err != nil {
		return err
	}
	if err := t.deny(ctx, q); err != nil {
		return err
	}
	nonce := Nonce()
	if err := t.exchange(ctx, "say "+nonce, nonce); err != nil {
		return fmt.Errorf("after the denial: %w", err)
	}
	if err := q.checkUnwritten(); err != nil {
		return err
	}
	t.details = "denied, not written, and the next prompt was taken"
	return nil
}

// denyWithWords denies a dialog, and immediately sends a prompt that says what to do
// instead. It checks that the agent CLI answers this prompt.
func denyWithWords(ctx context.Context, t *Trial) error {
	q, err := t.askToWrite(ctx)
	if err != nil {
		return err
	}
	nonce := Nonce()
	words := "say " + nonce
	var receipt coleo.Receipt
	for dialog := q.dialog; ; {
		if err := t.Session.Respond(ctx, dialog.Fingerprint, coleo.Decision{Choice: coleo.ChoiceDeny}); err != nil {
			return fmt.Errorf("deny: %w", err)
		}
		err := waitfor.SendInstead(ctx, t.Session, dialog.Fingerprint, func(ctx context.Context) (err error) {
			receipt, err = t.Session.SendPrompt(ctx, coleo.Prompt{Text: words})
			return err
		})
		var e *coleo.Error
		if !errors.As(err, &e) || e.Code != coleo.EBlocked || e.Dialog == nil {
			if err != nil {
				return fmt.Errorf("the words behind the denial: %w", err)
			}
			break
		}
		dialog = e.Dialog // go on with the next dialog of the same turn
	}
	answer, err := waitfor.Response(ctx, t.Session, receipt)
	if err != nil {
		return fmt.Errorf("after the words: %w", err)
	}
	if n := timesPrompted(t.Model, words); n != 1 {
		return fmt.Errorf("the model was asked %q %d times, want once", words, n)
	}
	if strings.TrimSpace(answer.Text) != nonce {
		return fmt.Errorf("the answer to the words is %q, the model said %q", answer.Text, nonce)
	}
	t.details = "denied, not written, and the words were answered"
	return q.checkUnwritten()
}

// approvalStale answers two dialogs that are not open, and checks that Coleo refuses the answers.
// One dialog never existed, and the other was already answered.
func approvalStale(ctx context.Context, t *Trial) error {
	q, err := t.askToWrite(ctx)
	if err != nil {
		return err
	}
	approve := coleo.Decision{Choice: coleo.ChoiceApprove}
	never := coleo.Fingerprint(strings.Repeat("0", 12) + "-0000-1")
	if err := t.Session.Respond(ctx, never, approve); coleo.ErrorCode(err) != coleo.EStale {
		return fmt.Errorf("an answer to a dialog that never existed got %v, want %s", err, coleo.EStale)
	}
	if err := q.checkUnwritten(); err != nil {
		return err
	}
	if err := t.deny(ctx, q); err != nil {
		return err
	}
	if err := t.Session.Respond(ctx, q.dialog.Fingerprint, approve); coleo.ErrorCode(err) != coleo.EStale {
		return fmt.Errorf("a second answer to the same dialog got %v, want %s", err, coleo.EStale)
	}
	later, err := t.askToWrite(ctx)
	if err != nil {
		return err
	}
	if err := t.Session.Respond(ctx, q.dialog.Fingerprint, approve); coleo.ErrorCode(err) != coleo.EStale {
		return fmt.Errorf("the answer to an earlier dialog got %v at a later one, want %s", err, coleo.EStale)
	}
	if err := t.deny(ctx, later); err != nil {
		return err
	}
	t.details = "answers to dialogs that were not open were refused, and typed nothing"
	return q.checkUnwritten()
}

// promptWhileBlocked sends a prompt while a dialog is open, and checks that Coleo refuses the
// prompt. If Coleo typed the prompt, a digit in it or the Enter key would answer the dialog.
func promptWhileBlocked(ctx context.Context, t *Trial) error {
	q, err := t.askToWrite(ctx)
	if err != nil {
		return err
	}
	prompt := "1 say " + Nonce()
	_, err = t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if coleo.ErrorCode(err) != coleo.EBlocked {
		return fmt.Errorf("a prompt at a dialog got %v, want %s", err, coleo.EBlocked)
	}
	var e *coleo.Error
	if !errors.As(err, &e) || e.Dialog == nil {
		return fmt.Errorf("the refusal does not hold the dialog: %w", err)
	}
	if r := t.Session.State(); r.State != coleo.WaitingApproval || r.Dialog == nil ||
		r.Dialog.Fingerprint != q.dialog.Fingerprint {
		return fmt.Errorf("the state after the refused prompt is %s", r.State)
	}
	if err := t.deny(ctx, q); err != nil {
		return err
	}
	if timesPrompted(t.Model, prompt) > 0 {
		return errors.New("the refused prompt reached the model")
	}
	t.details = "refused with the dialog, and nothing was typed"
	return nil
}

// answerQuestion makes the model ask the user a question, and answers with one of the options.
func answerQuestion(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	left, right := "Left"+Nonce()[5:], "Right"+Nonce()[5:]
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "ask Which side? with " + left + " or " + right})
	if err != nil {
		return err
	}
	reading, err := waitfor.Turn(ctx, t.Session, receipt)
	if err != nil {
		return err
	}
	if reading.State != coleo.WaitingApproval || reading.Dialog.Kind != coleo.DialogQuestion {
		return fmt.Errorf("the model asked a question, and the state is %s by rule %q", reading.State, reading.Rule)
	}
	option := 0
	for i, label := range reading.Dialog.Options {
		if strings.Contains(label, right) {
			option = i + 1
		}
	}
	if option == 0 {
		return fmt.Errorf("the options are %q, want one with %q", reading.Dialog.Options, right)
	}
	receipt.Cursor = waitfor.NewestCursor(t.Session)
	if err := t.Session.Respond(ctx, reading.Dialog.Fingerprint,
		coleo.Decision{Choice: coleo.ChoiceAnswer, Option: option}); err != nil {
		return err
	}
	if _, err := waitfor.Turn(ctx, t.Session, receipt); err != nil {
		return err
	}
	for _, q := range t.Model.Record() {
		if q.HasToolResult && strings.Contains(q.ToolResult, right) {
			t.details = "the picked option reached the model"
			return nil
		}
	}
	return fmt.Errorf("the model never got %q", right)
}
