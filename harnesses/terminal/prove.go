package terminal

import (
	"context"
	"time"

	"coleo.dev"
)

// proveTimeout bounds how long an agent CLI that is at work may take to show the
// prompt that it works on: it draws it at once, but may be slow to draw.
const proveTimeout = 5 * time.Second

var _ coleo.Prover = (*session)(nil)

// Prove looks for a prompt that somebody was about to type. It has arrived when
// the hook has named it since, or when the composer does not hold it and the
// transcript shows it once more often than it did then.
func (s *session) Prove(ctx context.Context, r coleo.Receipt) (coleo.Proof, error) {
	text, err := s.asText(plain(r.Text))
	if err != nil {
		return "", nil // nobody can have typed it
	}
	if err := s.present(ctx); err != nil {
		return "", err
	}
	then, err := screenAt(s.Handle(), r.Time)
	known, before := err == nil, 0 // else what it showed is not kept: only the hook can tell
	if known {
		before = echoed(newFrame(then.View(), &s.rules().Composer).since(then), text)
	}
	var proof coleo.Proof
	seen := func() bool {
		switch {
		case s.reports.turn(text, r.Time) != nil:
			proof = coleo.ProofReported
		case known && s.frame.lets(text, &s.rules().Composer) && s.echoedSince(text, before):
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
		s.unseen = text // it may be on its way
		s.typing.Unlock()
	}
	return proof, ctx.Err()
}
