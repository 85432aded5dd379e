package typing

import (
	"context"
	"errors"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// seenTimeout is how long an agent CLI may take to show another mode or model after a key or a
// command. The slowest agent CLI needs 0.5 s, but longer on a loaded machine.
const seenTimeout = 10 * time.Second

const (
	// commandTaken is how long the composer may still show a command after the submit key. Afterwards Coleo
	// presses the key again: Qwen Code 0.24.4 sometimes applies the key to its menu of completions, and would
	// then show the whole command forever.
	commandTaken = 3 * time.Second
	// commandTries is the largest number of times that Coleo presses the submit key while the composer shows
	// the command.
	commandTries = 3
)

// SwitchMode switches the agent CLI to the mode with the given id. It returns when the screen shows the mode.
// It types only into an empty composer of an idle agent CLI. It presses one key at a time, and waits for the
// effect on the screen. If a key shows no effect, SwitchMode presses no other key. The agent CLI could still
// read the first key, and the second key would then leave the wanted mode.
//
// SwitchMode always returns what it has done, even with one of these errors:
//
//   - EUnsupported if no key and no command switches to the mode
//   - ENotFound if there is no such mode
//   - EConflict if the keys went through all modes and never reached this one
//   - ETimeout if the screen did not show another mode in time
//   - the errors of SendPrompt, if nothing can be typed
func (t *Typist) SwitchMode(ctx context.Context, id string) (out coleo.ModeSwitch, err error) {
	left, done := t.turn.take()
	defer done()
	spec := t.Spec()
	known, err := coleo.ModeByID(spec.ModeList(), id, spec.Title)
	if err != nil {
		return out, err
	}
	if !known.Switchable {
		return out, coleo.Errorf(coleo.EUnsupported, "%s has no key and no command for its mode %s: nothing was typed",
			spec.Title, id)
	}
	if out.From, err = t.readyForMode(ctx, left); err != nil {
		return out, err
	}
	if out.To = out.From; out.From == known.ID {
		return out, nil
	}
	switch mode := spec.Mode(known.ID); {
	case mode.Command != "":
		err = t.commandMode(ctx, left, mode, &out)
	case mode.Key != "":
		err = t.pressMode(ctx, mode.Key, &out)
	default:
		err = t.cycleTo(ctx, known.ID, &out)
	}
	if err == nil && out.To != known.ID {
		err = coleo.Errorf(coleo.EConflict, "%s did not come to its mode %s: %s", spec.Title, known.ID, nothingTyped)
	}
	return out, withDone(err, out.Done())
}

// readyForMode clears the composer, and returns the mode that the screen shows. It returns
// EUnrecognised if the screen shows no mode.
func (t *Typist) readyForMode(ctx context.Context, left *unseen) (string, error) {
	if err := t.readyForCommand(ctx, left); err != nil {
		return "", err
	}
	mode, _, err := find(ctx, t.view, t.modeNow)
	return mode, err
}

// atRest is a check that passes if the agent CLI accepts prompts, and is idle or has failed. At other
// times, the key that switches the mode could answer a dialog that is not drawn yet.
func (t *Typist) atRest(r *reading.Reader) error {
	if err := t.mayPrompt(r); err != nil {
		return err
	}
	if !isResting(r.Verdict().State) || !isResting(r.Reading().State) || r.MayOpenDialog(time.Now()) {
		return TransientError{coleo.Errorf(coleo.EBusy, "%s is working: wait until it is idle, or interrupt it: %s",
			t.Spec().Title, nothingTyped)}
	}
	return nil
}

// isResting reports whether an agent CLI in the state s does nothing and waits for a prompt.
func isResting(s coleo.State) bool { return s == coleo.Idle || s == coleo.Failed }

// modeNow returns the mode on the newest picture. It returns an error if a key for a mode must not
// be pressed on this picture.
func (t *Typist) modeNow(r *reading.Reader) (string, error) {
	if err := t.atRest(r); err != nil {
		return "", err
	}
	if !r.Picture().Composer.Empty {
		return "", TransientError{onScreen(r.Picture(), coleo.EBusy, "the composer of %s holds text: %s", t.Spec().Title,
			nothingTyped)}
	}
	if mode := r.ShownMode(); mode != "" {
		return mode, nil
	}
	return "", TransientError{onScreen(r.Picture(), coleo.EUnrecognised, "the screen of %s shows no mode: %s",
		t.Spec().Title, nothingTyped)}
}

// cycleTo presses the key for the next mode until the screen shows the wanted mode, or a mode that it has
// shown before. It pauses between the keys. Without the pause, Gemini CLI 0.61.0 lost a key that came as
// soon as the screen showed the mode.
func (t *Typist) cycleTo(ctx context.Context, id string, out *coleo.ModeSwitch) error {
	shown := []string{out.From}
	for out.To != id {
		if len(out.Pressed) > 0 && pause(ctx, t.Spec().Timing.DialogGap.Duration()) != nil {
			return coleo.Errorf(coleo.ETimeout, "time was up before the next key: %s", nothingTyped)
		}
		if err := t.pressMode(ctx, t.Spec().Keys.Mode, out); err != nil {
			return err
		}
		if slices.Contains(shown, out.To) {
			return nil
		}
		shown = append(shown, out.To)
	}
	return nil
}

// pressMode presses one key, and waits until the screen shows another mode. It records the key and
// the mode in out.
func (t *Typist) pressMode(ctx context.Context, key string, out *coleo.ModeSwitch) error {
	before := out.To
	_, _, err := sequenceWhile(ctx, t, key, func(r *reading.Reader) (string, error) {
		mode, err := t.modeNow(r)
		if err == nil && mode != before {
			err = coleo.Errorf(coleo.EBusy, "the mode changed to %s without Coleo: %s", mode, nothingTyped)
		}
		return mode, err
	})
	if err != nil {
		return err
	}
	out.Pressed = append(out.Pressed, key)
	return t.awaitMode(ctx, out, func(mode string) bool { return mode != before })
}

// awaitMode waits until the function `accepts` returns true for the mode in the reading, and
// records the mode in out.
func (t *Typist) awaitMode(ctx context.Context, out *coleo.ModeSwitch, accepts func(mode string) bool) error {
	mode, hit := await(ctx, t.view, seenTimeout, func(r *reading.Reader) (string, bool) {
		now := r.Reading()
		return now.Mode, accepts(now.Mode) && now.Mode == r.ShownMode() && isResting(now.State) || isAsking(r)
	})
	if mode != out.To {
		out.To, out.Seen = mode, append(out.Seen, mode)
	}
	return peek(t.view, func(r *reading.Reader) error {
		switch {
		case r.Reading().State == coleo.Dead:
			return coleo.Errorf(coleo.EExited, "the agent CLI ended while its mode was changed: %s", nothingTyped)
		case isAsking(r):
			e := coleo.Blocked(r.Reading().Dialog)
			e.Message = "a dialog opened while the mode was changed (" + nothingTyped + "): " + e.Message
			return e
		case !hit && ctx.Err() != nil:
			return coleo.Errorf(coleo.ETimeout, "time was up before %s showed another mode: %s", t.Spec().Title,
				nothingTyped)
		case !hit:
			return onScreen(r.Picture(), coleo.ETimeout, "%s showed no other mode within %s: %s", t.Spec().Title,
				seenTimeout, nothingTyped)
		}
		return nil
	})
}

// commandMode submits the command that switches to a mode, and waits until the screen shows the mode.
func (t *Typist) commandMode(ctx context.Context, left *unseen, mode *rules.Mode, out *coleo.ModeSwitch) error {
	if err := t.command(ctx, left, mode.Command, mode.CommandWhen); err != nil {
		return err
	}
	out.Pressed = append(out.Pressed, mode.Command)
	return t.awaitMode(ctx, out, func(now string) bool { return now == mode.ID })
}

// SetModel changes the model of the running agent CLI with the agent CLI's own command. It returns
// when the screen shows the model. The error is EUnsupported if there is no such command. SetModel
// also returns the errors of SwitchMode.
func (t *Typist) SetModel(ctx context.Context, model string) error {
	left, done := t.turn.take()
	defer done()
	spec := t.Spec()
	text, err := spec.Model.CommandFor(model)
	switch {
	case err != nil:
		return err
	case text == "":
		return coleo.Errorf(coleo.EUnsupported, "%s has no command that Coleo may use for another model: %s",
			spec.Title, nothingTyped)
	}
	if err := t.command(ctx, left, text, spec.Model.When); err != nil {
		return err
	}
	shown := func(r *reading.Reader) bool { return spec.ShownModel(r.Picture()) == model }
	if t.view.Await(ctx, seenTimeout, shown) {
		return nil
	}
	return peek(t.view, func(r *reading.Reader) error {
		return onScreen(r.Picture(), coleo.ETimeout, "%s was submitted, and %s does not show the model within %s",
			text, spec.Title, seenTimeout)
	})
}

// command types a command of the agent CLI into the empty composer. It submits the command only while the
// screen meets the conditions `when`. Such a command begins no turn.
func (t *Typist) command(ctx context.Context, left *unseen, text string, when []rules.Cond) error {
	if err := t.readyForCommand(ctx, left); err != nil {
		return err
	}
	t.turn.own.noteTyping(text)
	if err := t.typeIf(ctx, t.atRest, pty.Paste(text, t.pastesInBrackets())); err != nil {
		torn := !errors.As(err, new(CallerGoneError)) && coleo.ErrorCode(err) == coleo.ETimeout
		if t.turn.own.noteFailed(torn); torn {
			*left = unseen{text: text, torn: true}
		}
		return err
	}
	left.text = text
	if !t.awaitHeld(ctx, text) {
		return t.notHeldError(ctx, text)
	}
	left.text = ""
	if pause(ctx, t.Spec().Timing.PasteGap.Duration()) != nil {
		return t.unsubmittedError()
	}
	ready := func(r *reading.Reader) error {
		switch err := t.atRest(r); {
		case err != nil:
			return err
		case !r.Picture().Holds(text) || !r.Picture().Shows(when):
			return TransientError{onScreen(r.Picture(), coleo.EBusy,
				"%s does not show %s as the command to be carried out: it was not submitted", t.Spec().Title, text)}
		}
		return nil
	}
	for range commandTries {
		if err := t.pressIf(ctx, t.Spec().Keys.Submit, ready); err != nil {
			return err
		}
		gone := func(r *reading.Reader) bool { return !r.Picture().Holds(text) }
		if t.view.Await(ctx, commandTaken, gone) || ctx.Err() != nil {
			t.turn.own.waiting = ctx.Err() != nil
			break
		}
	}
	return nil
}

// readyForCommand empties the composer. It returns an error if the agent CLI works, asks something or has
// ended.
func (t *Typist) readyForCommand(ctx context.Context, left *unseen) error {
	if err := t.provenIdle(); err != nil {
		return err
	}
	if err := t.flushUnseen(ctx, left); err != nil {
		return err
	}
	t.view.Await(ctx, settledTimeout, func(r *reading.Reader) bool { return !r.Settling() })
	if err := t.leaveTrap(ctx); err != nil {
		return err
	}
	if _, err := t.view.Still(ctx, t.atRest); err != nil {
		return err
	}
	return t.emptyComposer(ctx)
}
