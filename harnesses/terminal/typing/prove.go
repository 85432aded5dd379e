package typing

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// proveTimeout is how long a working agent CLI may take to show the prompt on which it
// works. It begins to draw the prompt at once, but may draw slowly.
const proveTimeout = 5 * time.Second

// Prove looks for a prompt that somebody was about to type at the time p.Time. The hook
// proves that the prompt arrived if it has named the prompt since then. The screen
// proves it if the composer does not hold the prompt and the transcript shows the
// prompt once more than at that time. screenThen returns the terminal as it was at that
// time. It returns an error if no such terminal is kept. Then only the hook can prove
// the prompt. If Prove finds neither proof, it returns an empty proof. If ctx ends, it
// returns the error of ctx.
func (t *Typist) Prove(ctx context.Context, p coleo.Receipt,
	screenThen func() (*pty.Core, error)) (coleo.Proof, error) {
	text, err := t.Spec().PromptText(p.Text)
	if p.Compact {
		text, err = t.Spec().Keys.Compact, nil
	}
	if err != nil || text == "" {
		// No caller can have typed a prompt that is not valid.
		return "", nil
	}
	if _, err := t.view.Still(ctx, func(*reading.Reader) error { return nil }); err != nil {
		return "", err
	}
	then, err := screenThen()
	kept, before := err == nil, 0
	if kept {
		before = rules.CountEchoes(reading.TranscriptOf(then, &t.Spec().Composer), text)
	}
	limit := time.Duration(0)
	if t.state().State.Working() {
		limit = proveTimeout
	}
	proof, proven := await(ctx, t.view, limit, func(r *reading.Reader) (coleo.Proof, bool) {
		switch {
		case r.PromptReported(text, p.Time):
			return coleo.ProofReported, true
		case kept && r.Picture().Released(text) && r.EchoedSince(text, before):
			return coleo.ProofStarted, true
		}
		return "", false
	})
	if !proven {
		left, done := t.turn.take()
		left.text = text // the prompt may still be on its way
		done()
	}
	return proof, ctx.Err()
}
