package terminal

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
)

// proveTimeout bounds how long a working agent CLI may take to show the prompt that it
// works on. It draws the prompt at once, but may draw slowly.
const proveTimeout = 5 * time.Second

var _ coleo.Prover = (*session)(nil)

// Prove looks for a prompt that somebody was about to type at r.Time. The prompt has
// arrived when the hook has named it since. It has also arrived when the composer does
// not hold it and the transcript shows it once more than at that time. Prove returns an
// empty proof when it finds neither, and the error of ctx when that ends.
func (s *session) Prove(ctx context.Context, r coleo.Receipt) (coleo.Proof, error) {
	text, err := s.rules().PromptText(r.Text)
	if err != nil {
		// No caller can have typed a prompt that is not valid.
		return "", nil
	}
	if err := s.present(ctx); err != nil {
		return "", err
	}
	then, err := screenAt(s.Handle(), r.Time)
	known, before := err == nil, 0 // otherwise the screen of that time is not kept: only the hook can prove it
	if known {
		before = rules.CountEchoes(reading.TranscriptOf(then, &s.rules().Composer), text)
	}
	var proof coleo.Proof
	seen := func() bool {
		switch {
		case s.PromptReported(text, r.Time):
			proof = coleo.ProofReported
		case known && s.Picture().Released(text) && s.EchoedSince(text, before):
			proof = coleo.ProofStarted
		}
		return proof != ""
	}
	limit := time.Duration(0)
	if s.State().State.Working() {
		limit = proveTimeout
	}
	if !s.await(ctx, limit, seen) {
		s.typing.Lock()
		s.unseen = text // the prompt may still be on its way
		s.typing.Unlock()
	}
	return proof, ctx.Err()
}
