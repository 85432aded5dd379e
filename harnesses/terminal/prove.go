package terminal

import (
	"context"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
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
		case known && s.frame.taken(text, &s.rules().Composer) && s.echoed(text) > before:
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

// echoed counts how often the transcript shows how a prompt begins, in what has
// scrolled off too. The caller holds mu.
func (s *session) echoed(prompt string) int { return echoed(s.frame.since(s.screen), prompt) }

// echoedSince tells whether it does so more often than it did, on the newest whole
// picture: with rows of an older one what has scrolled off may be counted twice.
func (s *session) echoedSince(prompt string, before int) bool {
	return s.paint.begun.IsZero() && s.echoed(prompt) > before
}

// since are the rows above the composer, all where there is none, behind those
// that have scrolled off.
func (f *frame) since(screen *pty.Core) []string {
	rows := f.rows
	if f.composer != nil {
		rows = rows[:f.composer.top]
	}
	return append(screen.History(historyRows), rows...)
}

// echoed counts how often rows show how a prompt begins.
func echoed(rows []string, prompt string) int {
	line, _, _ := strings.Cut(prompt, "\n")
	begin := firstRunes(squeeze(line), tailRunes)
	if begin == "" {
		return 0
	}
	return strings.Count(squeeze(strings.Join(rows, "")), begin)
}
