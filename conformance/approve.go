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

// command is a script in the work folder. The script writes a line each time it runs.
type command struct {
	text string // the command line that the model runs
	log  string // path of the file in which each run writes a line
}

func (t *Trial) newCommand() (command, error) {
	name := Nonce()
	c := command{text: "sh " + name + ".sh", log: filepath.Join(t.Workdir, name+".log")}
	script := fmt.Sprintf("echo ran >> %s\n", c.log)
	if err := os.WriteFile(filepath.Join(t.Workdir, name+".sh"), []byte(script), 0o700); err != nil {
		return c, fmt.Errorf("write a command: %w", err)
	}
	return c, nil
}

// checkRuns returns an error if the command has not run exactly `want` times.
func (c command) checkRuns(want int) error {
	raw, err := os.ReadFile(c.log)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if n := strings.Count(string(raw), "ran\n"); n != want {
		return fmt.Errorf("%q ran %d times, want %d", c.text, n, want)
	}
	return nil
}

// askToRun sends a prompt that makes the model run a command. It returns the dialog
// that the agent CLI opens and the receipt of the prompt. If the turn ends without a
// dialog, the returned dialog is nil.
func (t *Trial) askToRun(ctx context.Context, c command) (*coleo.Dialog, coleo.Receipt, error) {
	r, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: "run " + c.text})
	if err != nil {
		return nil, r, err
	}
	reading, err := waitfor.Turn(ctx, t.Session, r)
	if err != nil || reading.State != coleo.WaitingApproval {
		return nil, r, err
	}
	return reading.Dialog, r, nil
}

// answerDialog answers the dialog d with the given choice, and waits until the turn ends. During
// the turn, other dialogs can open, for example about the use of the output. answerDialog approves
// them. If d opens a second time, answerDialog returns an error.
func (t *Trial) answerDialog(ctx context.Context, d *coleo.Dialog, r coleo.Receipt, choice coleo.Choice) error {
	for now := d; ; choice = coleo.ChoiceApprove {
		r.Cursor = waitfor.NewestCursor(t.Session)
		if err := t.Session.Respond(ctx, now.Fingerprint, coleo.Decision{Choice: choice}); err != nil {
			return err
		}
		reading, err := waitfor.Turn(ctx, t.Session, r)
		if err != nil || reading.State != coleo.WaitingApproval {
			return err
		}
		if now = reading.Dialog; now.Title == d.Title && now.Subject == d.Subject {
			return fmt.Errorf("one command led to two dialogs: %q", now.Title)
		}
	}
}

// approvalApprove approves a command once, and checks that the agent CLI asks again before the
// command's next run. After that, if the dialog offers a permanent approval, approvalApprove
// approves the command permanently.
func approvalApprove(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	c, err := t.newCommand()
	if err != nil {
		return err
	}
	first, r, err := t.askToRun(ctx, c)
	switch {
	case err != nil:
		return err
	case first == nil:
		return errors.Join(fmt.Errorf("the model wants to run %q, and no dialog opened", c.text), c.checkRuns(0))
	case !strings.Contains(first.Subject, c.text) && !first.Truncated:
		return fmt.Errorf("the question's subject is %q, the command is %q", first.Subject, c.text)
	}
	if err := c.checkRuns(0); err != nil {
		return fmt.Errorf("before it was approved: %w", err)
	}
	if err := t.answerDialog(ctx, first, r, coleo.ChoiceApprove); err != nil {
		return err
	}
	if err := c.checkRuns(1); err != nil {
		return fmt.Errorf("after the approval: %w", err)
	}
	second, r, err := t.askToRun(ctx, c)
	switch {
	case err != nil:
		return err
	case second == nil:
		return fmt.Errorf("the approval of one command let the next one run unasked")
	case second.Fingerprint == first.Fingerprint:
		return fmt.Errorf("the same question, asked twice, has one fingerprint")
	}
	if err := c.checkRuns(1); err != nil {
		return fmt.Errorf("before it was approved again: %w", err)
	}
	return t.approveForEver(ctx, c, second, r)
}

func (t *Trial) approveForEver(ctx context.Context, c command, d *coleo.Dialog, r coleo.Receipt) error {
	err := t.answerDialog(ctx, d, r, coleo.ChoiceApproveAlways)
	if coleo.ErrorCode(err) == coleo.EUnsupported {
		t.details = "ran once for its approval; approving for ever is not offered"
		if err := t.answerDialog(ctx, d, r, coleo.ChoiceApprove); err != nil {
			return err
		}
		return c.checkRuns(2)
	}
	if err != nil {
		return err
	}
	if err := c.checkRuns(2); err != nil {
		return fmt.Errorf("after the approval for ever: %w", err)
	}
	if d, _, err = t.askToRun(ctx, c); err != nil {
		return err
	}
	if d != nil {
		return fmt.Errorf("the command was approved for good, and a dialog opened again: %q", d.Title)
	}
	t.details = "ran once for its approval, and unasked once approved for ever"
	return c.checkRuns(3)
}
