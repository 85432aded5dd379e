package typing

import (
	"context"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
)

// leaveTimeout is how long an agent CLI may take to leave a mode that takes no prompt, such as its shell
// mode. It needs some milliseconds, but longer on a loaded machine.
const leaveTimeout = 5 * time.Second

// leaveTrap makes the agent CLI leave a mode that takes no prompt, such as its shell mode. It types only
// while the agent CLI is idle or has failed. It clears the composer first, because text in the composer
// would become a part of the prompt. If the harness names no keys for leaving the mode, leaveTrap does
// nothing, and mayPrompt later refuses the prompt.
func (t *Typist) leaveTrap(ctx context.Context) error {
	keys := t.Spec().Keys.Leave
	trapped := func(r *reading.Reader) (bool, error) { return r.Picture().Trapped() && t.mayLeave(r) == nil, nil }
	if keys == "" {
		return nil
	}
	if is, _, err := find(ctx, t.view, trapped); err != nil || !is {
		return err
	}
	if err := t.clearWhile(ctx, t.mayLeave); err != nil {
		return err
	}
	if is, _, err := find(ctx, t.view, trapped); err != nil || !is {
		return err
	}
	_, _, err := sequenceWhile(ctx, t, string(keys), withoutResult(func(r *reading.Reader) error {
		switch err := t.mayLeave(r); {
		case err != nil:
			return err
		case !r.Picture().Composer.Empty:
			return TransientError{t.trappedError()}
		}
		return nil
	}))
	if err == nil {
		t.view.Await(ctx, leaveTimeout, func(r *reading.Reader) bool { return !r.Picture().Trapped() })
	}
	return err
}

// pressAll presses the keys of an interrupt. In a mode that takes no prompt, such as the shell mode, the
// first press can leave the mode instead of stopping the turn. In this case pressAll presses the keys
// again.
func (t *Typist) pressAll(ctx context.Context, out *coleo.Interruption) error {
	keys := t.Spec().Keys
	left := keys.Leave == keys.Interrupt && peek(t.view, func(r *reading.Reader) bool { return r.Picture().Trapped() })
	press := func() error {
		out.Pressed = append(out.Pressed, strings.Fields(string(keys.Interrupt))...)
		defer func() { out.Time = time.Now() }()
		return t.press(ctx, string(keys.Interrupt))
	}
	if err := press(); err != nil || !left {
		return err
	}
	runs := func(r *reading.Reader) bool { return isWorking(r) && !r.Picture().Trapped() }
	stopped := func(r *reading.Reader) bool { return !r.Reading().State.Working() }
	t.view.Await(ctx, leaveTimeout, func(r *reading.Reader) bool { return stopped(r) || runs(r) })
	if !peek(t.view, runs) {
		return nil
	}
	return press()
}

// mayLeave is the check for keys that leave a mode. It passes if the agent CLI is idle or has
// failed, and shows its composer.
func (t *Typist) mayLeave(r *reading.Reader) error {
	if err := t.mayType(r); err != nil {
		return err
	}
	if !isResting(r.Verdict().State) || !isResting(r.Reading().State) || r.MayOpenDialog(time.Now()) {
		return t.trappedError()
	}
	return nil
}

func (t *Typist) trappedError() error {
	return coleo.Errorf(coleo.EBusy, "%s is in a mode that takes no prompt: nothing was typed", t.Spec().Title)
}
