package typing

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// proveTimeout is how long an agent CLI may take to show a prompt that it has received. On a busy machine, an
// agent CLI can already work on a prompt that the screen does not show yet.
const proveTimeout = 5 * time.Second

// Past is what Coleo knows about the terminal from the time before this process attached to it.
type Past struct {
	// Screen returns the terminal as it was just before Coleo typed a prompt. It returns an error if Coleo has
	// not kept the terminal of that time.
	Screen func() (*pty.Core, error)
	// LastKey is the time of the last key. It is zero if no key was typed since Coleo was about to type the
	// prompt.
	LastKey time.Time
}

// Prove searches for proof that a prompt has arrived. An earlier process of Coleo was about to type this
// prompt at p.Time, and may have typed it. There are two proofs:
//
//   - The hook or the record has named the prompt at that time or later. For the command that shortens the
//     conversation, the record shows the compaction instead.
//   - The composer does not contain the prompt, and the transcript shows the prompt more often than at that
//     time. This proof is possible only if Coleo has kept the terminal of that time.
//
// The agent CLI may not have read the newest keys yet, so Prove waits for a proof until proveTimeout after
// the last key. It returns "" if it finds no proof, and the error of ctx if ctx ends.
func (t *Typist) Prove(ctx context.Context, p coleo.Receipt, past Past) (coleo.Proof, error) {
	found, err := t.submissionOf(p)
	text := found.Text
	if err != nil || text == "" {
		// An invalid prompt is refused before anything is typed, so it cannot have arrived.
		return "", nil
	}
	if _, err := t.view.Still(ctx, func(*reading.Reader) error { return nil }); err != nil {
		return "", err
	}
	then, err := past.Screen()
	kept, before := err == nil, 0
	if kept {
		before = rules.CountEchoes(reading.TranscriptOf(then, &t.Spec().Composer), text)
	}
	limit := time.Duration(0)
	switch {
	case t.state().State.Working():
		limit = proveTimeout
	case !past.LastKey.IsZero():
		limit = min(max(0, proveTimeout-time.Since(past.LastKey)), proveTimeout)
	}
	proof, proven := await(ctx, t.view, limit, func(r *reading.Reader) (coleo.Proof, bool) {
		switch {
		case r.PromptReported(text, p.Time), p.Compact && r.CompactionReported(p.Time):
			return coleo.ProofReported, true
		case kept && r.Picture().Released(text) && r.EchoedSince(text, before):
			return coleo.ProofStarted, true
		}
		return "", false
	})
	if proof == coleo.ProofStarted {
		t.continueTurn(found)
	}
	if !proven {
		left, done := t.turn.take()
		left.text = text // keep the text, because it may still be on its way to the agent CLI
		t.turn.own.noteTyping(text)
		done()
		t.view.Update(func(r *reading.Reader) bool { r.FoundLost(found); return false })
	}
	return proof, ctx.Err()
}

// submissionOf returns the text that an earlier process of Coleo has typed, or was about to type, for a
// prompt. It returns an error if the prompt is not valid.
func (t *Typist) submissionOf(p coleo.Receipt) (reading.Submission, error) {
	if p.Compact {
		return reading.Submission{Text: t.Spec().Keys.Compact, Command: true, Time: p.Time}, nil
	}
	text, err := t.Spec().PromptText(p.Text)
	return reading.Submission{Text: text, Time: p.Time}, err
}

// ContinueTurn records that an earlier process of Coleo submitted a prompt whose turn may still be running.
// As after SendPrompt, an idle screen counts only after a sign of work or of the turn's end.
func (t *Typist) ContinueTurn(p coleo.Receipt) {
	if s, err := t.submissionOf(p); err == nil && s.Text != "" {
		t.continueTurn(s)
	}
}

// continueTurn calls FoundSubmitted. The View then looks at the screen again, because an idle agent CLI
// may draw nothing new.
func (t *Typist) continueTurn(s reading.Submission) {
	t.view.Update(func(r *reading.Reader) bool { r.FoundSubmitted(s, time.Now()); return true })
}
