package typing

import (
	"context"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
)

const (
	// armedTimeout is how long the first key of an interrupt may take to show an effect. Afterwards
	// Coleo presses the key again. OpenCode 1.18.33 shows an effect within 40 ms.
	armedTimeout = time.Second
	// haltTimeout is how long an agent CLI may take to stop after the last key of an interrupt.
	// Afterwards Coleo begins the interrupt again. OpenCode 1.18.33 takes 0.1 s.
	haltTimeout = 3 * time.Second
	// drawnTimeout is how long Coleo waits for the screen to show the work that the record or the hook has
	// reported. Coleo presses no key of the interrupt before the screen shows that work. An agent CLI draws
	// its work within milliseconds, but takes longer on a loaded machine.
	drawnTimeout = 3 * time.Second
	// claimTimeout is how long Coleo waits after an interrupt if the screen shows no work, but the record or
	// the hook still reports work. Afterwards Coleo discards this report. Gemini CLI 0.61.0 can record a call
	// of the turn after the interrupt, and never records the end of this call.
	claimTimeout = 2 * time.Second
	// knownTimeout is how long Coleo waits for a picture that a rule recognizes. It is long because Coleo
	// redraws an unknown picture only after 2 s, and a slow agent CLI then needs seconds.
	knownTimeout = 12 * time.Second
)

// Interrupt stops the running turn. If a dialog is open, Interrupt denies it, which ends the turn. If no
// turn is running, Interrupt does nothing. It presses no key on a screen that no rule recognizes. On such a
// screen, the key that stops a turn could answer a question or end the agent CLI.
//
// Interrupt always returns what it has done, even with one of these errors:
//
//   - EUnsupported if the agent CLI cannot be interrupted
//   - EUnrecognised if no rule recognizes the screen
//   - EExited if the agent CLI has ended
//   - ETimeout if the turn did not stop in time
func (t *Typist) Interrupt(ctx context.Context) (out coleo.Interruption, err error) {
	_, done := t.turn.take()
	defer done()
	out.Was = t.state().State
	defer func() {
		now := t.state()
		out.State, out.Rule = now.State, now.Rule
	}()
	if !t.Spec().Capabilities.Interrupt {
		return out, coleo.Errorf(coleo.EUnsupported, "%s cannot be interrupted", t.Spec().Title)
	}
	if err := t.awaitGap(ctx); err != nil {
		return out, err
	}
	t.awaitKnown(ctx)
	_, err = t.view.Still(ctx, t.mayInterrupt)
	if coleo.ErrorCode(err) == coleo.EUnrecognised && t.awaitKnown(ctx) {
		_, err = t.view.Still(ctx, t.mayInterrupt)
	}
	if err != nil {
		return out, err
	}
	if state := t.state().State; !state.Working() && state != coleo.WaitingApproval && t.provenIdle() == nil {
		return out, nil
	}
	before := peek(t.view, beforeInterrupt)
	defer func() { t.turn.interrupted = time.Now() }()
	if err := t.pressInterrupt(ctx, &out); err != nil {
		return out, err
	}
	t.lapseClaims()
	t.view.Update(func(r *reading.Reader) bool { r.ExpectNoWork(); return false })
	return out, t.awaitStopped(ctx, &out, before)
}

// awaitGap waits until the last interrupt was so long ago that another one does not end the agent CLI.
func (t *Typist) awaitGap(ctx context.Context) error {
	left := t.Spec().Timing.InterruptGap.Duration() - time.Since(t.turn.interrupted)
	if left <= 0 {
		return nil
	}
	t.turn.withoutKeys(func() bool { return pause(ctx, left) == nil })
	return ctx.Err()
}

// mayInterrupt is a check that passes if a rule recognizes the screen. It also passes if the agent
// CLI has ended, or is still starting and has no work yet.
func (t *Typist) mayInterrupt(r *reading.Reader) error {
	if r.Verdict().State != "" || r.Starting() || r.Reading().State == coleo.Dead {
		return nil
	}
	return TransientError{onScreen(r.Picture(), coleo.EUnrecognised,
		"no rule of %s knows the screen: no key of the interrupt was pressed on it", t.Spec().Name)}
}

// awaitKnown waits until a rule recognizes the screen, and reports whether one does. The rules may not
// recognize the screen because something else has written over it, such as a sound library that finds no
// sound card. If the agent CLI cannot draw its screen again, awaitKnown does not wait.
func (t *Typist) awaitKnown(ctx context.Context) bool {
	known := func(r *reading.Reader) bool { return t.mayInterrupt(r) == nil }
	return peek(t.view, known) || t.Spec().Redraw != "" && t.turn.withoutKeys(func() bool {
		return t.view.Await(ctx, knownTimeout, known)
	})
}

// awaitStopped waits until the screen shows that an interrupt has ended the turn. If the turn still opens a
// dialog, awaitStopped denies it, and records that in `out`. It denies no dialog of a later turn. It discards
// what the record and the hook still claim about the turn.
func (t *Typist) awaitStopped(ctx context.Context, out *coleo.Interruption, before uninterrupted) error {
	limit, begin := t.Spec().Timing.Interrupted.Duration(), time.Now()
	over := func(r *reading.Reader) bool { return isResting(r.Reading().State) || before.newDialog(r) != "" }
	for {
		left := limit - time.Since(begin)
		halted := t.turn.withoutKeys(func() bool { return t.view.Await(ctx, min(left, claimTimeout), over) })
		dialog := peek(t.view, before.newDialog)
		var err error
		switch {
		case halted && dialog != "" && peek(t.view, (*reading.Reader).TurnEnded).Equal(before.ended):
			before.dialog = dialog
			err = t.denyLate(ctx, out)
		case halted:
			return nil
		case ctx.Err() != nil || left <= claimTimeout || t.state().State == coleo.Dead:
			return t.notStopped(ctx, limit)
		case peek(t.view, func(r *reading.Reader) bool { return isResting(r.Verdict().State) }):
			t.lapseClaims()
		}
		if err != nil {
			return err
		}
	}
}

// uninterrupted is what the Reader knew before the keys of an interrupt.
type uninterrupted struct {
	ended  time.Time         // when the last turn had ended
	dialog coleo.Fingerprint // the open dialog; "" if there was none
}

func beforeInterrupt(r *reading.Reader) uninterrupted {
	return uninterrupted{r.TurnEnded(), uninterrupted{}.newDialog(r)}
}

// newDialog returns the open dialog, or "" if there is none. The dialog from before the interrupt does not
// count, because the screen can still show it for a moment after the key that has denied it.
func (u uninterrupted) newDialog(r *reading.Reader) coleo.Fingerprint {
	d := r.Verdict().Dialog
	if d == nil || d.Fingerprint == u.dialog {
		return ""
	}
	return d.Fingerprint
}

// denyLate denies a dialog that the turn has opened after the keys of the interrupt.
func (t *Typist) denyLate(ctx context.Context, out *coleo.Interruption) error {
	keys, err := rules.KeySequence(t.Spec().Keys.Interrupt)
	if err != nil {
		return err
	}
	now, err := t.awaitProgress(ctx)
	if err != nil || now.phase != phaseAsking {
		return err
	}
	most, err := t.pressNext(ctx, now, keys, out)
	if code := coleo.ErrorCode(err); err != nil && code != coleo.EBusy && code != coleo.EStale {
		return err
	}
	t.view.Await(ctx, most, func(r *reading.Reader) bool { return t.hasAdvanced(r, now) })
	return ctx.Err()
}

// notStopped returns the error of an interrupt that did not stop the turn within the limit.
func (t *Typist) notStopped(ctx context.Context, limit time.Duration) error {
	return peek(t.view, func(r *reading.Reader) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case r.Reading().State == coleo.Dead:
			return coleo.Errorf(coleo.EExited, "the agent CLI ended when it was interrupted")
		case r.Verdict().State == "":
			return onScreen(r.Picture(), coleo.EUnrecognised,
				"nothing shows whether %s stopped: no rule knows the screen %s after the interrupt", t.Spec().Title,
				limit)
		}
		return coleo.Errorf(coleo.ETimeout, "%s did not stop within %s of the interrupt", t.Spec().Title, limit)
	})
}

// pressInterrupt presses the keys of an interrupt until no turn is running. It records in `out` what it has
// done.
//
// Some agent CLIs need several keys, and show a hint after the first one, such as "esc again to interrupt".
// If the Spec describes such a hint, pressInterrupt presses the first key until the hint appears. It
// presses the last key only while the screen shows the hint.
func (t *Typist) pressInterrupt(ctx context.Context, out *coleo.Interruption) error {
	names := t.Spec().Keys.Interrupt
	keys, err := rules.KeySequence(names)
	if err != nil {
		return err
	}
	if len(t.Spec().InterruptWhen) == 0 {
		return t.pressAll(ctx, out)
	}
	limit, cancel := context.WithTimeout(ctx, t.Spec().Timing.Interrupted.Duration())
	defer cancel()
	t.view.Await(limit, drawnTimeout, func(r *reading.Reader) bool {
		return t.phaseOf(r) != phaseHalted || !r.Reading().State.Working()
	})
	for limit.Err() == nil {
		t.awaitKnown(limit)
		now, err := t.awaitProgress(limit)
		switch {
		case coleo.ErrorCode(err) == coleo.EUnrecognised && t.awaitKnown(limit):
			continue
		case coleo.ErrorCode(err) == coleo.EUnrecognised:
			return err
		case err != nil || now.phase == phaseHalted || t.state().State == coleo.Dead:
			return ctx.Err()
		}
		most, err := t.pressNext(limit, now, keys, out)
		code := coleo.ErrorCode(err)
		switch {
		case err == nil:
			t.view.Await(limit, most, func(r *reading.Reader) bool { return t.hasAdvanced(r, now) })
		// EBusy and EStale mean that the screen has changed. In these two cases the loop tries again.
		case limit.Err() == nil && code != coleo.EBusy && code != coleo.EStale:
			return err
		}
	}
	return ctx.Err()
}

// pressNext presses the next key of an interrupt, and records it in `out`. `most` is how long the agent CLI
// may take to show an effect.
func (t *Typist) pressNext(ctx context.Context, now progress, keys [][]byte, out *coleo.Interruption) (
	most time.Duration, err error) {
	key := 0
	switch now.phase {
	case phaseAsking:
		if err = t.deny(ctx, now.verdict, keys[0]); err == nil {
			out.Denied = now.verdict.Dialog.Title
		}
		return armedTimeout, err
	case phaseArmed:
		key, most = len(keys)-1, haltTimeout
	case phaseRunning:
		most = armedTimeout
	case phaseUnbegun, phaseHalted: // no key would have an effect in these phases
		return armedTimeout, nil
	}
	if err = t.typeIf(ctx, t.inPhase(now.phase), keys[key]); err == nil {
		out.Pressed = append(out.Pressed, strings.Fields(t.Spec().Keys.Interrupt)[key])
		out.Time = time.Now()
	}
	return most, err
}

// deny denies the dialog of a turn that is being interrupted. If the harness has no way to deny the
// dialog, deny presses the key of the interrupt.
func (t *Typist) deny(ctx context.Context, v rules.Verdict, key []byte) error {
	same := checkShows(v.Dialog.Fingerprint)
	err := t.choose(ctx, same, v, coleo.Decision{Choice: coleo.ChoiceDeny})
	if coleo.ErrorCode(err) == coleo.EUnsupported {
		return t.typeIf(ctx, same, key)
	}
	return err
}

// phase is a stage of an interrupt.
type phase string

const (
	phaseUnbegun phase = "unbegun" // a prompt was submitted, but the screen shows no work on it yet
	phaseRunning phase = "running"
	phaseAsking  phase = "asking" // a dialog is open
	phaseArmed   phase = "armed"  // the screen shows that the first key had its effect
	phaseHalted  phase = "halted"
)

// progress is the phase that an interrupt has reached on a picture, together with the verdict of the rules.
type progress struct {
	phase   phase
	verdict rules.Verdict
}

// awaitProgress waits for a picture that a rule recognizes, and returns which phase the interrupt has
// reached.
func (t *Typist) awaitProgress(ctx context.Context) (progress, error) {
	now, _, err := find(ctx, t.view, func(r *reading.Reader) (progress, error) {
		return progress{t.phaseOf(r), r.Verdict()}, t.mayInterrupt(r)
	})
	return now, err
}

// phaseOf returns the phase on the newest picture.
func (t *Typist) phaseOf(r *reading.Reader) phase {
	armed := r.Picture().Shows(t.Spec().InterruptWhen)
	switch {
	case r.Verdict().Dialog != nil:
		return phaseAsking
	case isWorking(r) && armed:
		return phaseArmed
	case isWorking(r):
		return phaseRunning
	case r.AwaitsWork():
		return phaseUnbegun
	}
	return phaseHalted
}

// hasAdvanced reports whether the screen now shows a later phase of the interrupt than `was`.
func (t *Typist) hasAdvanced(r *reading.Reader, was progress) bool {
	now := t.phaseOf(r)
	switch {
	case r.Verdict().State == "":
		return false
	case was.phase == phaseAsking && now == phaseAsking:
		return r.Verdict().Dialog.Fingerprint != was.verdict.Dialog.Fingerprint
	case was.phase == phaseRunning || was.phase == phaseUnbegun:
		return now != was.phase
	}
	// An earlier phase does not count. After the last key, the screen can show an earlier phase for a moment,
	// because the work has not ended yet.
	return now == phaseHalted || now == phaseAsking
}

// inPhase returns a check that passes while the interrupt is in the given phase.
func (t *Typist) inPhase(was phase) Check {
	return func(r *reading.Reader) error {
		if now := t.phaseOf(r); now != was {
			return coleo.Errorf(coleo.EBusy, "the interrupt is %s, no longer %s", now, was)
		}
		return nil
	}
}
