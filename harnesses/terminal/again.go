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
// have been broken for a while: then it presses submit for the second and last time, on that very
// picture. It is false when neither came.
func (s *session) submitAgain(ctx context.Context, was *submission, key [][]byte, settled func() bool) bool {
	broken := func() bool { return s.broken(was)(s.frame, s.verdict) == nil }
	if !s.await(ctx, startTimeout+digesting(was.text), func() bool { return settled() || broken() }) {
		return false
	}
	if s.await(ctx, brokenGap, func() bool { return settled() || !broken() }) {
		return true
	}
	for _, k := range key {
		if s.typeIf(ctx, s.broken(was), k) != nil {
			break // it changed meanwhile: what became of it is seen
		}
	}
	return true
}
