package typing

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
)

// ignoredGap is how long the screen must show that the agent CLI ignored the submit key. Afterwards Coleo
// presses the key again. For example, an agent CLI adds a row to the composer if it takes the key as part of
// the paste before it. It does so for keys that come within about 40 ms by its own clock, or longer on a
// loaded machine.
const ignoredGap = 500 * time.Millisecond

// checkIgnored returns a check that passes if the agent CLI has ignored the pressed key, and the submit key
// would submit the prompt now. It returns nil if this agent CLI never ignores the key.
func (t *Typist) checkIgnored(s submission) Check {
	switch {
	case s.queued:
		return notQueued(s)
	case t.Spec().Composer.Breaks:
		return becameRow(s)
	}
	return nil
}

// screenIsResting reports whether the screen shows that the agent CLI neither works nor asks. The screen of
// a failed turn counts too: it shows the error until the next turn begins.
func screenIsResting(r *reading.Reader) bool {
	v := r.Verdict()
	return v.Dialog == nil && isResting(v.State)
}

// notQueued returns a check that passes if the agent CLI has ignored the queue key, because its turn had
// ended before it received the key. The check requires all of these:
//
//   - The agent CLI is idle or has failed.
//   - The composer still contains the text.
//   - There is other proof that the turn has ended. An idle or error screen alone does not prove it,
//     because a dialog may still open.
func notQueued(s submission) Check {
	return func(r *reading.Reader) error {
		over := !s.before.atWork || r.TurnEnded().After(s.before.ended)
		if over && screenIsResting(r) && r.Picture().Holds(s.text) && !r.PromptReported(s.text, s.time) {
			return nil
		}
		return coleo.Errorf(coleo.EPromptLost, "the composer does not show that the prompt was not queued")
	}
}

// becameRow returns a check that passes if the submit key became an empty row of the composer:
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

// submitIfIgnored waits until the outcome of the prompt is known, or until the agent CLI has ignored the
// pressed key for ignoredGap. If the agent CLI ignores the key, submitIfIgnored presses the submit key a
// second and last time. It returns the last outcome. `ok` is false if the time ran out first.
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
		// Ignore the error. If the picture has changed, pressIf presses no key, and the caller then reads the
		// outcome again.
		_ = t.pressIf(ctx, t.Spec().Keys.Submit, ignored)
	}
	return latest.outcome, true
}
