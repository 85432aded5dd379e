package conformance

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/waitfor"
)

// resizeMidstream changes the size of the terminal while the model streams an answer. It checks
// that the turn ends and that the agent CLI then accepts a prompt.
func resizeMidstream(ctx context.Context, t *Trial) error {
	if err := t.spawnIdle(ctx, nil); err != nil {
		return err
	}
	term, ok := t.Session.(coleo.Terminal)
	if !ok {
		return skip("it has no terminal")
	}
	view := term.Screen()
	prompt := "count to 40 every 50ms"
	receipt, err := t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	if err != nil {
		return err
	}
	if err := t.awaitAnswerBegin(ctx, prompt); err != nil {
		return err
	}
	for _, size := range [][2]int{{80, 24}, {200, 60}, {view.Cols, view.Rows}} {
		if err := term.Resize(ctx, size[0], size[1]); err != nil {
			return err
		}
	}
	if err := t.answersAfter(ctx, receipt); err != nil {
		return fmt.Errorf("after three other sizes: %w", err)
	}
	if receipt, err = t.Session.SendPrompt(ctx, coleo.Prompt{Text: prompt}); err != nil {
		return err
	}
	if err := t.awaitAnswerBegin(ctx, prompt); err != nil {
		return err
	}
	if err := t.resizeFrozen(ctx, term); err != nil {
		return err
	}
	if err := t.answersAfter(ctx, receipt); err != nil {
		return fmt.Errorf("after another size and back while it was frozen: %w", err)
	}
	t.details = "three sizes in one answer, two while it was frozen, and the next prompts were taken"
	return nil
}

// answersAfter waits for the end of a turn. Then it sends another prompt and checks the
// answer.
func (t *Trial) answersAfter(ctx context.Context, r coleo.Receipt) error {
	reading, err := waitfor.Turn(ctx, t.Session, r)
	if err != nil {
		return err
	}
	if reading.State != coleo.Idle {
		return fmt.Errorf("the state after the turn is %s", reading.State)
	}
	nonce := Nonce()
	return t.exchange(ctx, "say "+nonce, nonce)
}

const (
	// frozenSize is the longest time that resizeFrozen waits for Coleo to set both sizes.
	frozenSize = time.Second
	// frozenLook is the time between two checks of the size of the agent CLI's terminal.
	frozenLook = 10 * time.Millisecond
)

// resizeFrozen freezes the agent CLI, changes the terminal to a smaller size and back, and
// unfreezes the agent CLI. It simulates a loaded machine, on which an agent CLI can be too slow to
// see the smaller size.
func (t *Trial) resizeFrozen(ctx context.Context, term coleo.Terminal) error {
	view, process := term.Screen(), t.Session.Handle().Process
	if err := signalGroup(process, syscall.SIGSTOP); err != nil {
		return err
	}
	var errs []error
	for _, size := range [][2]int{{view.Cols * 2 / 3, view.Rows * 2 / 3}, {view.Cols, view.Rows}} {
		errs = append(errs, term.Resize(ctx, size[0], size[1]))
	}
	limit, cancel := context.WithTimeout(ctx, frozenSize)
	defer cancel()
	for limit.Err() == nil && term.Screen().Cols != view.Cols { // wait, because Coleo may set the size with a delay
		waitFor(limit, frozenLook)
	}
	errs = append(errs, signalGroup(process, syscall.SIGCONT))
	return errors.Join(errs...)
}

// signalGroup sends a signal to the process group of the agent CLI.
func signalGroup(id coleo.Identity, signal syscall.Signal) error {
	if !process.Same(id) {
		return fmt.Errorf("process %d is no longer the agent CLI", id.PID)
	}
	if err := syscall.Kill(-id.PID, signal); err != nil {
		return fmt.Errorf("signal the agent CLI, process %d: %w", id.PID, err)
	}
	return nil
}

// waitFor waits until the given time has passed or ctx has ended.
func waitFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
