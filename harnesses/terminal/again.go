package terminal

import (
	"context"
	"time"

	"coleo.dev"
)

// brokenGap is how long a composer must have shown that submit became a new row
// before submit is pressed again. An agent CLI that takes it for a part of what
// was pasted does so for some 40 ms, by its own clock, which a loaded machine
// holds up.
const brokenGap = 500 * time.Millisecond

// ignored says, as a check, that the key which was pressed has not submitted a prompt,
// and that the submit key will. It is nil where the harness knows of no such thing.
func (s *session) ignored(was *submission) check {
	switch {
	case was.queued:
		return s.unqueued(was)
	case s.rules().Composer.Breaks:
		return s.broken(was)
	}
	return nil
}

// unqueued says, as a check, that work had ended before the key came that queues a
// prompt: that key does nothing then, and the composer holds the text still.
func (s *session) unqueued(was *submission) check {
	return func(f *frame, v verdict) error {
		if v.dialog == nil && v.state == coleo.Idle && f.holds(was.text, &s.rules().Composer) && s.reports.turn(was.text, was.at) == nil {
			return nil
		}
		return coleo.Errorf(coleo.EPromptLost, "the composer does not show that the prompt was not queued")
	}
}

// broken says, as a check, that the submit key became an empty row: the composer
// holds the whole text still, and has one row more than before, at its end, and
// the agent CLI has done nothing since.
func (s *session) broken(was *submission) check {
	return func(f *frame, v verdict) error {
		c := f.composer
		idle := v.dialog == nil && v.state == coleo.Idle && s.worked == was.worked && s.reports.turn(was.text, was.at) == nil
		if idle && c != nil && was.rows > 0 && c.bottom-c.top == was.rows+1 && f.rowEmpty(c.bottom-1, &s.rules().Composer) && f.holds(was.text, &s.rules().Composer) {
			return nil
		}
		return coleo.Errorf(coleo.EPromptLost, "the composer does not show that submit became a new row")
	}
}

// rowEmpty tells whether a row of the composer holds no text.
func (f *frame) rowEmpty(y int, c *Composer) bool {
	row := f.rows[y]
	if c.strip != nil {
		row = c.strip.ReplaceAllString(row, "")
	}
	return squeeze(row) == ""
}

// submitAgain waits until it is settled what became of the prompt, or it is seen to
// have been ignored for a while: then it presses submit for the second and last time,
// on that very picture. It is false when neither came.
func (s *session) submitAgain(ctx context.Context, was *submission, ignored check, settled func() bool) bool {
	still := func() bool { return ignored(s.frame, s.verdict) == nil }
	if !s.await(ctx, startTimeout+digesting(was.text), func() bool { return settled() || still() }) {
		return false
	}
	if s.await(ctx, brokenGap, func() bool { return settled() || !still() }) {
		return true
	}
	_ = s.pressIf(ctx, s.rules().Keys.Submit, ignored) // it may change meanwhile: what became of the prompt is seen
	return true
}
