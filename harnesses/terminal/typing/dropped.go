package typing

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
)

// submitAfterProbe presses the submit key again if the agent CLI has dropped it. It is called when nothing
// shows whether the prompt has arrived. If the composer still contains the prompt, the agent CLI has either
// dropped the submit key, or not read it yet.
//
// To find out, submitAfterProbe types a probe, a single ".", after the prompt. The agent CLI reads keys in
// the order in which they were typed. So if the composer shows the probe after the prompt, the agent CLI has
// already read the submit key and dropped it. submitAfterProbe then removes the probe, and presses the submit
// key a second and last time. It returns the last outcome.
//
// Gemini CLI 0.61.0 drops the submit key if it reads the key together with the paste.
func (t *Typist) submitAfterProbe(ctx context.Context, s submission) outcome {
	composer := peek(t.view, contentOf)
	stands, probed := checkUnsubmitted(s, composer.text), checkUnsubmitted(s, composer.text+probe)
	if !composer.shown || t.typeIf(ctx, stands, []byte(probe)) != nil {
		return peek(t.view, func(r *reading.Reader) outcome { return outcomeOf(r, s) })
	}
	if result, ok := t.decidedOr(ctx, s, probed, heldTimeout+stallTime(s.text)); !ok {
		return result
	}
	if t.pressIf(ctx, "BACKSPACE", probed) != nil {
		return outcome{}
	}
	if result, ok := t.decidedOr(ctx, s, stands, heldTimeout); !ok {
		return result
	}
	if pause(ctx, t.Spec().Timing.PasteGap.Duration()) != nil || t.pressIf(ctx, t.Spec().Keys.Submit, stands) != nil {
		return outcome{}
	}
	return t.awaitDecided(ctx, s)
}

// decidedOr waits until the outcome of a prompt is known, or until a check passes. It returns the
// last outcome, and whether the check passed first.
func (t *Typist) decidedOr(ctx context.Context, s submission, check Check,
	limit time.Duration) (last outcome, passed bool) {
	last, _ = await(ctx, t.view, limit, func(r *reading.Reader) (outcome, bool) {
		now := outcomeOf(r, s)
		passed = !now.isDecided() && check(r) == nil
		return now, now.isDecided() || passed
	})
	return last, passed
}

// checkUnsubmitted returns a check for pictures after the submit key was pressed. The check passes if the
// agent CLI is idle or has failed, shows the given text in its composer, and has done nothing since the key.
func checkUnsubmitted(s submission, text string) Check {
	return func(r *reading.Reader) error {
		c := contentOf(r)
		rested := screenIsResting(r) && !r.MayOpenDialog(time.Now()) && r.WorkSeen() == s.before.workSeen &&
			!r.PromptReported(s.text, s.time)
		if rested && c.shown && !c.empty && rules.SameText(c.text, text) {
			return nil
		}
		return coleo.Errorf(coleo.EPromptLost, "the composer does not show that submit had no effect")
	}
}
