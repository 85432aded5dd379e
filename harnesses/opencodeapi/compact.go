package opencodeapi

import (
	"context"
	"crypto/rand"
	"time"

	"coleo.dev"
	"coleo.dev/timelimit"
)

// compactTimeout is how long Coleo waits for the answer when it asks the server to summarize the
// conversation. The server answers only after the model has written the summary.
const compactTimeout = 10 * time.Minute

// Compact makes the server shorten the conversation, which keeps its id. It returns when the server
// has begun. The error is EInvalid if the arm has no provider or no model, because a summary needs
// both. It is EPromptLost if the server did not begin. Compact also returns the other errors of
// SendPrompt.
func (s *Session) Compact(ctx context.Context) (coleo.Receipt, error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	srv, err := s.mayBegin()
	if err != nil {
		return coleo.Receipt{}, err
	}
	m := s.model()
	if m == nil {
		return coleo.Receipt{}, coleo.Errorf(coleo.EInvalid,
			"name a provider and a model for the arm: a summary needs them")
	}
	if err := timelimit.Check(ctx); err != nil {
		return coleo.Receipt{}, err
	}
	defer s.deliver()()
	before := s.factsNow()
	r := coleo.Receipt{ID: rand.Text(), Time: time.Now(), Text: coleo.CompactText, Cursor: s.log.Cursor(),
		Proof: coleo.ProofStarted, Compact: true}
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.work.Go(func() {
		path := "/session/" + s.Handle().Conversation + "/summarize"
		if err := srv.doWithin(s.ctx, compactTimeout, "POST", path, m, nil); err != nil && !mayHaveArrived(err) {
			cancel(err) // ends the call of await below, if it still waits
		}
	})
	if s.awaitTurn(waiting, srv, &r, before) {
		return r, nil
	}
	if err := context.Cause(waiting); err != nil && ctx.Err() == nil {
		return coleo.Receipt{}, err
	}
	return coleo.Receipt{}, coleo.Errorf(coleo.EPromptLost,
		"%s was asked to shorten the conversation, but did not begin", s.h.spec.Title)
}
