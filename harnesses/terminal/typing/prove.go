package typing

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// proveTimeout bounds how long a working agent CLI may take to show the prompt that it
// works on. It draws the prompt at once, but may draw slowly.
const proveTimeout = 5 * time.Second

// Prove looks for a prompt that somebody was about to type at p.Time. The prompt has
// arrived when the hook has named it since. It has also arrived when the composer does
// not hold it and the transcript shows it once more than at that time. screenThen returns
// the terminal as it was at that time, or an error if it is not kept: then only the hook
// can prove the prompt. Prove returns an empty proof when it finds neither, and the error
// of ctx when that ends.
func (t *Typist) Prove(ctx context.Context, p coleo.Receipt,
	screenThen func() (*pty.Core, error)) (coleo.Proof, error) {
	text, err := t.Spec().PromptText(p.Text)
	if err != nil {
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
