package reading

import (
	"time"

	"coleo.dev"
)

// unsettled is a prompt that was submitted at about the time when a dialog opened. Either the agent
// CLI took the prompt before it opened the dialog, or the dialog received the submit key. The
// screen shows which of the two has happened only after the dialog has closed.
type unsettled struct {
	Submission
	echoes int // how often the transcript showed the prompt before the submit key was pressed
}

// proofAfter is how long the Reader waits for proof of an unsettled prompt: a prompt that was submitted
// just when a dialog opened. The proof is that the idle agent CLI shows the prompt, or writes it into its
// record. The settling time alone is too short: with 30 agent CLIs on two cores, one of 1,988 prompts took
// longer (Gemini CLI 0.61.0).
const proofAfter = 10 * time.Second

// PromptUnsettled records that a dialog hides whether the submitted prompt has arrived. `echoCount` is the
// number of times that the transcript showed the prompt before Coleo submitted it. Before the arm is idle
// again, the Reader emits one of two changes: a turn if the prompt has arrived, or a lost prompt if nothing
// proves its arrival.
func (r *Reader) PromptUnsettled(echoCount int) {
	r.turn.open = false // the turn may never have begun
	r.prompt.unsettled = &unsettled{r.turn.submitted, echoCount}
	if n := len(r.turn.sent); n > 0 {
		r.turn.sent[n-1].lost = true
	}
}

// settlePrompt finds out whether the unsettled prompt has arrived, and emits the result. It does nothing if
// there is no unsettled prompt. The caller must call it when the picture shows an idle agent CLI with its
// composer.
func (r *Reader) settlePrompt(now time.Time) {
	p := r.prompt.unsettled
	switch {
	case p == nil:
	case r.hasArrived(p):
		r.prompt.unsettled = nil
		r.emitLate(p.Submission, now)
	case r.picture.Holds(p.Text):
		r.loseUnsettled(now, "a dialog opened before the prompt was submitted; its text stands in the composer, and the "+
			"next prompt clears it")
	default:
		r.loseUnsettled(now, "a dialog opened while the prompt was submitted, and nothing proves that it arrived")
	}
}

// hasArrived reports whether the record, the hook or the transcript on the screen proves that the agent CLI has taken
// the prompt p.
func (r *Reader) hasArrived(p *unsettled) bool {
	return r.PromptReported(p.Text, p.Time) || r.picture.Released(p.Text) && r.EchoedSince(p.Text, p.echoes)
}

// awaitProof returns how much longer the Reader waits for proof that the unsettled prompt has arrived. It
// returns 0 or less if the Reader does not wait. The wait is needed because of Gemini CLI 0.61.0 on a busy
// machine. It shows an empty composer for longer than the settling time, before it shows the prompt and
// writes it into its record.
func (r *Reader) awaitProof(now time.Time) time.Duration {
	p := r.prompt.unsettled
	if p == nil || r.hasArrived(p) || r.picture.Holds(p.Text) {
		return 0
	}
	return max(r.spec.Timing.Begin.Duration(), proofAfter) - now.Sub(r.settlingSince)
}

// loseUnsettled emits a change that reports the unsettled prompt as lost. It does nothing if there is no
// unsettled prompt.
func (r *Reader) loseUnsettled(now time.Time, why string) {
	if p := r.prompt.unsettled; p != nil {
		r.prompt.unsettled = nil
		r.emit(coleo.Change{Time: now, Kind: coleo.ChangePrompt, Reading: r.reading, Note: why + ": " + p.Text})
	}
}

// emitLate emits the turn of a prompt, marked as late. It does nothing if the record has already named the
// prompt.
func (r *Reader) emitLate(p Submission, now time.Time) {
	bare := r.hook.spec.Bare(p.Text)
	for i, s := range r.turn.sent {
		if s.lost && s.bare == bare {
			r.turn.sent[i].lost = false
			r.emit(coleo.Change{Time: now, Kind: coleo.ChangeTurn, Reading: r.reading, Note: p.Text, Origin: coleo.OriginLate})
		}
	}
}
