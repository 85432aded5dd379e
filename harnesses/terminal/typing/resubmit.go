package typing

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
)

// ignoredGap is how long a composer must show that the submit key became a new row
// before the key is pressed again. For about 40 ms by its own clock, an agent CLI takes
// the key for part of a paste. A loaded machine slows that clock.
const ignoredGap = 500 * time.Millisecond

// ignored returns a check if the pressed key may be ignored by the agent CLI, and nil
// otherwise. The check passes if the pressed key did not submit the prompt and the
// submit key will do so.
func (t *Typist) ignored(s submission) Check {
	switch {
	case s.queued:
		return notQueued(s)
	case t.Spec().Composer.Breaks:
		return becameRow(s)
	}
	return nil
}

// notQueued returns a check that passes if the work ended before the key arrived that
// queues a prompt. The queue key then has no effect, and the composer still holds the
// text.
func notQueued(s submission) Check {
	return func(r *reading.Reader) error {
		v := r.Verdict()
		if v.Dialog == nil && v.State == coleo.Idle && r.Picture().Holds(s.text) && !r.PromptReported(s.text, s.time) {
			return nil
		}
		return coleo.Errorf(coleo.EPromptLost, "the composer does not show that the prompt was not queued")
	}
}

// becameRow returns a check that passes if the submit key became an empty row. The
// composer then still holds the whole text. It has one more row than before, at its
// end. The agent CLI has done nothing since the key was pressed.
func becameRow(s submission) Check {
	return func(r *reading.Reader) error {
		v, picture := r.Verdict(), r.Picture()
		c := picture.Composer
		idle := v.Dialog == nil && v.State == coleo.Idle && r.WorkSeen() == s.before.workSeen &&
			!r.PromptReported(s.text, s.time)
		if idle && c != nil && s.before.rows > 0 && c.Rows() == s.before.rows+1 && picture.EndsEmpty() &&
			picture.Holds(s.text) {
			return nil
		}
		return coleo.Errorf(coleo.EPromptLost, "the composer does not show that submit became a new row")
	}
}

// resubmit waits until the outcome of the prompt is decided, or the prompt has been
// ignored for ignoredGap. If the prompt was ignored, resubmit presses the submit key a
// second and last time, while the picture still shows this. It returns the last
// outcome. The result ok is false if neither event happened in time.
func (t *Typist) resubmit(ctx context.Context, s submission, ignored Check) (last outcome, ok bool) {
	type look struct {
		outcome outcome
		ignored bool
	}
	lookAt := func(r *reading.Reader) look { return look{outcomeOf(r, s), ignored(r) == nil} }
	seen, hit := await(ctx, t.view, startTimeout+digesting(s.text), func(r *reading.Reader) (look, bool) {
		now := lookAt(r)
		return now, now.outcome.decided() || now.ignored
	})
	if !hit {
		return seen.outcome, false
	}
	seen, hit = await(ctx, t.view, ignoredGap, func(r *reading.Reader) (look, bool) {
		now := lookAt(r)
		return now, now.outcome.decided() || !now.ignored
	})
	if !hit {
		// If the picture changes before the key is pressed, no key is pressed. The
		// caller sees what became of the prompt.
		_ = t.pressIf(ctx, t.Spec().Keys.Submit, ignored)
	}
	return seen.outcome, true
}
