package typing

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
)

const (
	// goneTimeout is how long an answered dialog may stay on the screen. A loaded machine needs
	// seconds.
	goneTimeout = 10 * time.Second
	// trustTimeout is how long Coleo waits for the end of the agent CLI's start before it answers the question
	// whether to trust the folder. On a loaded machine, the start takes 3 s.
	trustTimeout = 15 * time.Second
	// markTimeout is how long the mark of a list may take to move. The mark, such as "❯", shows the option
	// that ENTER would choose. Like tickTimeout, markTimeout is long because a loaded machine needs seconds.
	markTimeout = tickTimeout
)

// Respond answers the dialog with the given fingerprint. It returns when this dialog has left the screen. It
// returns one of these errors:
//
//   - EStale if the screen shows another dialog, or no dialog
//   - EUnsupported if the dialog does not offer the decision
//   - EInvalid if the option does not exist
//   - EBusy if the screen never stopped changing
//   - ETimeout if the dialog stays on the screen
//   - the error of ctx if ctx ends first
func (t *Typist) Respond(ctx context.Context, dialog coleo.Fingerprint, d coleo.Decision) error {
	_, done := t.turn.take()
	defer done()
	if d.Key != "" || t.isStrange(dialog) {
		return t.pressAt(ctx, dialog, d)
	}
	same := checkShows(dialog)
	asked, _, err := find(ctx, t.view, func(r *reading.Reader) (question, error) {
		return question{verdict: r.Verdict(), age: time.Since(r.DialogSince())}, same(r)
	})
	if err != nil {
		return err
	}
	if err := t.awaitStart(ctx, asked.verdict.Dialog.Kind); err != nil {
		return err
	}
	// Wait, because a dialog does not read keys yet when its first picture appears.
	if err := pause(ctx, t.Spec().Timing.DialogGap.Duration()-asked.age); err != nil {
		return err
	}
	if err := t.choose(ctx, same, asked.verdict, d); err != nil {
		return err
	}
	gone := func(r *reading.Reader) bool {
		v := r.Verdict()
		return v.State != "" && (v.Dialog == nil || v.Dialog.Fingerprint != dialog) && !r.DialogDoubtful()
	}
	if d.Choice == coleo.ChoiceDeny && asked.verdict.Dialog.Kind == coleo.DialogOther {
		if err := t.closeMenu(ctx, same, asked.verdict); err != nil {
			return err
		}
	}
	if !t.view.Await(ctx, goneTimeout, gone) && t.state().State != coleo.Dead {
		t.view.Update(func(r *reading.Reader) bool { r.RenewDialog(); return true })
		return coleo.Errorf(coleo.ETimeout, "the dialog %q is still on the screen %s after it was answered",
			asked.verdict.Dialog.Title, goneTimeout)
	}
	if d.Choice == coleo.ChoiceDeny {
		t.lapseClaims()
	}
	return nil
}

// awaitStart is called before a dialog is answered. If the dialog asks whether to trust the folder,
// awaitStart waits until the agent CLI has finished its start. If Gemini CLI 0.61.0 got the answer earlier,
// it would not restart itself, and would continue as if the folder were not trusted.
func (t *Typist) awaitStart(ctx context.Context, kind coleo.DialogKind) error {
	over := func(r *reading.Reader) bool { return !r.AwaitsReady() }
	if kind != coleo.DialogTrust || peek(t.view, over) {
		return nil
	}
	if !t.view.Await(ctx, trustTimeout, over) {
		return ctx.Err() // the start may not be over, but the dialog needs an answer
	}
	return pause(ctx, t.Spec().Timing.DialogGap.Duration())
}

// question is a dialog on the screen, with its age.
type question struct {
	verdict rules.Verdict
	age     time.Duration
}

// lapseClaims discards what the hook, the record and the escape sequences claim about a turn that was
// stopped.
func (t *Typist) lapseClaims() {
	t.view.Update(func(r *reading.Reader) bool { r.LapseClaims(); return true })
}

// checkShows returns a check that passes while the screen shows the dialog with the given fingerprint. If the
// screen shows another dialog, the check fails. While the fingerprint of this other dialog can still change,
// the check fails with a TransientError, so that the caller tries again.
func checkShows(dialog coleo.Fingerprint) Check {
	return func(r *reading.Reader) error {
		v := r.Verdict()
		if v.Dialog == nil {
			e := coleo.Errorf(coleo.EStale, "that dialog is no longer on the screen: nothing was typed")
			if v.State == "" {
				return TransientError{e}
			}
			return e
		}
		if v.Dialog.Fingerprint == dialog {
			return nil
		}
		e := coleo.Errorf(coleo.EStale, "another dialog is on the screen now (%q): nothing was typed", v.Dialog.Title)
		e.Dialog = v.Dialog
		if r.DialogSettling(time.Now()) {
			return TransientError{e}
		}
		return e
	}
}

// choose types the keys of a decision.
func (t *Typist) choose(ctx context.Context, same Check, v rules.Verdict, d coleo.Decision) error {
	steps, err := v.Respond(d)
	switch {
	case err != nil:
		return err
	case steps.Ticking != nil:
		return t.tickAll(ctx, whileDrawn(same, v.Dialog.Title), v, *steps.Ticking)
	case steps.Keys != "":
		return t.pressSlowlyIf(ctx, steps.Keys, same)
	}
	same = whileDrawn(same, v.Dialog.Title)
	if steps.Option < 0 {
		if steps.Option, err = t.findText(ctx, same, steps.On); err != nil {
			return withDone(err, mayHaveMoved)
		}
	}
	return withDone(t.moveTo(ctx, same, steps), mayHaveMoved)
}

// mayHaveMoved replaces "nothing was typed" in the error of an answer that failed before it had chosen an
// option. The answer may have moved the mark of the list, such as "❯".
const mayHaveMoved = "at most the mark of the list was moved"

// whileDrawn returns a check that is like `same`, with one exception. If the screen shows another dialog with
// the same title, the check fails with a TransientError, so that the caller tries again. An agent CLI may
// draw the dialog in parts after each key that moves the mark of a list.
func whileDrawn(same Check, title string) Check {
	return func(r *reading.Reader) error {
		err := same(r)
		var e *coleo.Error
		if errors.As(err, &e) && e.Code == coleo.EStale && e.Dialog != nil && e.Dialog.Title == title {
			return TransientError{e}
		}
		return err
	}
}

// moveTo moves the mark of a list, such as "❯", to an option. When the screen shows the mark there, moveTo
// presses ENTER, which chooses the option. If moveTo has moved the mark, it waits before ENTER, because
// Gemini CLI 0.61.0 loses an ENTER that comes right after the new picture.
func (t *Typist) moveTo(ctx context.Context, same Check, steps rules.Steps) error {
	for moved := false; ; moved = true {
		marked, _, err := find(ctx, t.view, func(r *reading.Reader) (int, error) { return markedOption(r), same(r) })
		switch {
		case err != nil:
			return err
		case marked == steps.Option && steps.Text != "":
			return t.enterText(ctx, same, steps)
		case marked == steps.Option && moved:
			if err := pause(ctx, t.Spec().Timing.DialogGap.Duration()); err != nil {
				return err
			}
			return t.enter(ctx, same, steps.Option)
		case marked == steps.Option:
			return t.enter(ctx, same, steps.Option)
		case marked < 0:
			return coleo.Errorf(coleo.EUnsupported,
				"which option of the list is marked cannot be seen: nothing was chosen")
		}
		key := steps.On
		if marked > steps.Option {
			key = steps.Back
		}
		if err := t.moveMark(ctx, same, key, marked); err != nil {
			return err
		}
	}
}

// moveMark presses a key, and waits until the mark of a list, such as "❯", has left the option with the index
// `marked`.
func (t *Typist) moveMark(ctx context.Context, same Check, key string, marked int) error {
	if err := t.pressSlowlyIf(ctx, key, same); err != nil {
		return err
	}
	hasMoved := func(r *reading.Reader) bool { return r.Verdict().Dialog == nil || markedOption(r) != marked }
	if !t.view.Await(ctx, markTimeout, hasMoved) {
		return coleo.Errorf(coleo.ETimeout, "the mark of the list did not move from option %d: nothing was chosen", marked+1)
	}
	return nil
}

// findText moves the mark of a list, such as "❯", down until the screen shows the free-text option. It
// returns the index of that option.
func (t *Typist) findText(ctx context.Context, same Check, on string) (int, error) {
	for last := -1; ; {
		var d coleo.Dialog
		_, _, err := find(ctx, t.view, func(r *reading.Reader) (int, error) {
			err := same(r)
			if err == nil {
				d = *r.Verdict().Dialog
			}
			return d.Default, err
		})
		switch {
		case err != nil:
			return 0, err
		case d.TextOption > 0:
			return d.TextOption - 1, nil
		case d.Default <= last: // the mark is not visible, or has jumped from the last option to the first
			return 0, coleo.Errorf(coleo.EUnsupported,
				"the dialog %q takes no words: pick an option, or deny and send a prompt", d.Title)
		}
		last = d.Default
		if err := t.moveMark(ctx, same, on, last); err != nil {
			return 0, err
		}
	}
}

// markedOption returns the index of the option that the list marks, for example with "❯". It returns -1 if
// the screen shows no mark.
func markedOption(r *reading.Reader) int {
	if d := r.Verdict().Dialog; d != nil {
		return d.Default
	}
	return -1
}

// enterText types a text into the marked option, and presses ENTER when the dialog shows the text
// there.
func (t *Typist) enterText(ctx context.Context, same Check, steps rules.Steps) error {
	holds := func(text string) Check {
		return func(r *reading.Reader) error {
			if err := same(r); err != nil {
				return err
			}
			if d := r.Verdict().Dialog; d.Default != steps.Option || !rules.SameText(d.Typed, text) {
				return coleo.Errorf(coleo.EStale, "option %d holds %q and option %d is marked: nothing was chosen",
					steps.Option+1, d.Typed, d.Default+1)
			}
			return nil
		}
	}
	if err := pause(ctx, t.Spec().Timing.DialogGap.Duration()); err != nil {
		return err
	}
	if err := t.typeInside(ctx, holds(""), []byte(steps.Text)); err != nil {
		return err
	}
	const done = "the text was typed and not submitted"
	if err := t.awaitText(ctx, same, steps.Text); err != nil {
		return withDone(err, done)
	}
	if err := pause(ctx, t.Spec().Timing.DialogGap.Duration()); err != nil {
		return err
	}
	return withDone(t.pressSlowlyIf(ctx, "ENTER", holds(steps.Text)), done)
}

// enter presses ENTER if the list marks the given option, for example with "❯".
func (t *Typist) enter(ctx context.Context, same Check, option int) error {
	return t.pressSlowlyIf(ctx, "ENTER", func(r *reading.Reader) error {
		if err := same(r); err != nil {
			return err
		}
		if markedOption(r) != option {
			return coleo.Errorf(coleo.EStale,
				"the mark of the list moved away from option %d: nothing was chosen", option+1)
		}
		return nil
	})
}
