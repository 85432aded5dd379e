package typing

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
)

// ignoredGap is how long the composer must show a new row, caused by the submit key, before Coleo
// presses the key again. An agent CLI treats a key as part of a paste for about 40 ms by its own
// clock, and longer on a loaded machine.
const ignoredGap = 500 * time.Millisecond

// checkIgnored returns a check that passes if the pressed key did not submit the prompt, and the
// submit key would submit it now. It returns nil if the agent CLI cannot have ignored the pressed
// key.
func (t *Typist) checkIgnored(s submission) Check {
	switch {
	case s.queued:
		return notQueued(s)
	case t.Spec().Composer.Breaks:
		return becameRow(s)
	}
	return nil
}

// screenIsResting reports whether the screen shows that the agent CLI neither works nor asks. After
// a turn that failed, the screen shows the error until the next turn begins.
func screenIsResting(r *reading.Reader) bool {
	v := r.Verdict()
	return v.Dialog == nil && isResting(v.State)
}

// notQueued returns a check that passes if the agent CLI is idle or has failed, and the composer
// still contains the text. If so, the agent CLI had finished its turn before it received the queue
// key, and ignored the key. An idle or error screen alone does not prove that the turn has ended,
// because a dialog may still open. So the check also requires other proof of the end.
func notQueued(s submission) Check {
	return func(r *reading.Reader) error {
		over := !s.before.atWork || r.TurnEnded().After(s.before.ended)
		if over && screenIsResting(r) && r.Picture().Holds(s.text) && !r.PromptReported(s.text, s.time) {
			return nil
		}
		return coleo.Errorf(coleo.EPromptLost, "the composer does not show that the prompt was not queued")
	}
}

// becameRow returns a check that passes if the submit key became an empty row:
//
//   - The composer still contains the whole text.
//   - The composer has exactly one more row than before the key, and its last row is empty.
//   - The agent CLI is idle or has failed, and has done nothing since the key was pressed.
func becameRow(s submission) Check {
	return func(r *reading.Reader) error {
		picture := r.Picture()
		c := picture.Composer
		rested := screenIsResting(r) && r.WorkSeen() == s.before.workSeen && !r.PromptReported(s.text, s.time)
		if rested && c != nil && s.before.rows > 0 && c.Rows() == s.before.rows+1 && picture.EndsEmpty() &&
			picture.Holds(s.text) {
			return nil
		}
		return coleo.Errorf(coleo.EPromptLost, "the composer does not show that submit became a new row")
	}
}

// submitIfIgnored waits until the outcome of the prompt is known, or until the agent CLI has
// ignored the pressed key for ignoredGap. In the second case, it presses the submit key a second
// and last time, if the picture still shows that the first key was ignored. It returns the last
// outcome, or false if the time runs out first.
func (t *Typist) submitIfIgnored(ctx context.Context, s submission, ignored Check) (last outcome, ok bool) {
	type look struct {
		outcome outcome
		ignored bool
	}
	lookAt := func(r *reading.Reader) look { return look{outcomeOf(r, s), ignored(r) == nil} }
	latest, hit := await(ctx, t.view, startTimeout+stallTime(s.text), func(r *reading.Reader) (look, bool) {
		now := lookAt(r)
		return now, now.outcome.isDecided() || now.ignored
	})
	if !hit {
		return latest.outcome, false
	}
	latest, hit = await(ctx, t.view, ignoredGap, func(r *reading.Reader) (look, bool) {
		now := lookAt(r)
		return now, now.outcome.isDecided() || !now.ignored
	})
	if !hit {
		// Ignore the error. If the picture has changed, pressIf presses no key, and the next read of
		// the outcome shows why.
		_ = t.pressIf(ctx, t.Spec().Keys.Submit, ignored)
	}
	return latest.outcome, true
}
