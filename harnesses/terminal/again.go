package terminal

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// brokenGap is how long a composer must show that submit became a new row before submit
// is pressed again. An agent CLI that takes the key for part of a paste does so for some
// 40 ms by its own clock. A loaded machine slows that clock.
const brokenGap = 500 * time.Millisecond

// ignored returns a check that passes when the key that was pressed did not submit the
// prompt and the submit key will. It returns nil where the harness has no such case.
func (s *session) ignored(was *submission) check {
	switch {
	case was.queued:
		return s.unqueued(was)
	case s.rules().Composer.Breaks:
		return s.broken(was)
	}
	return nil
}

// unqueued returns a check that passes when work ended before the key that queues a
// prompt arrived. That key then does nothing, and the composer still holds the text.
func (s *session) unqueued(was *submission) check {
	return func(f *rules.Picture, v rules.Verdict) error {
		if v.Dialog == nil && v.State == coleo.Idle && f.Holds(was.text) &&
			!s.PromptReported(was.text, was.at) {
			return nil
		}
		return coleo.Errorf(coleo.EPromptLost, "the composer does not show that the prompt was not queued")
	}
}

// broken returns a check that passes when the submit key became an empty row. The
// composer then still holds the whole text and has one row more than before, at its end.
// The agent CLI has done nothing since.
func (s *session) broken(was *submission) check {
	return func(f *rules.Picture, v rules.Verdict) error {
		c := f.Composer
		idle := v.Dialog == nil && v.State == coleo.Idle && s.WorkSeen() == was.worked && !s.PromptReported(was.text, was.at)
		if idle && c != nil && was.rows > 0 && c.Rows() == was.rows+1 &&
			f.EndsEmpty() && f.Holds(was.text) {
			return nil
		}
		return coleo.Errorf(coleo.EPromptLost, "the composer does not show that submit became a new row")
	}
}

// submitAgain waits until the outcome of the prompt is settled or the prompt has been
// ignored for a while. If the prompt was ignored, submitAgain presses submit a second and
// last time, on the picture that shows so. It reports false when neither happened in
// time.
func (s *session) submitAgain(ctx context.Context, was *submission, ignored check, settled func() bool) bool {
	still := func() bool { return ignored(s.Picture(), s.Verdict()) == nil }
	if !s.await(ctx, startTimeout+digesting(was.text), func() bool { return settled() || still() }) {
		return false
	}
	if s.await(ctx, brokenGap, func() bool { return settled() || !still() }) {
		return true
	}
	// The picture may change before the key is pressed. The caller sees what became of
	// the prompt.
	_ = s.pressIf(ctx, s.rules().Keys.Submit, ignored)
	return true
}
