package reading

import (
	"time"

	"coleo.dev"
)

// unsettled is a prompt whose submit key was pressed when a dialog opened. Either the agent
// CLI read the key before it opened the dialog and took the prompt, or the dialog got the
// key. The screen shows that only after the dialog.
type unsettled struct {
	Submission
	echoes int // how many times the transcript showed the prompt before
}

// PromptUnsettled tells the Reader that a dialog hides what became of the submitted prompt.
// The transcript had shown the prompt so many times before. Before the arm is idle again,
// the Reader reports a change: a turn if the prompt arrived, and a lost prompt if that is
// not proven.
func (r *Reader) PromptUnsettled(echoes int) {
	r.turn.open = false // it may never have begun
	r.prompt.unsettled = &unsettled{r.turn.submitted, echoes}
	if n := len(r.turn.sent); n > 0 {
		r.turn.sent[n-1].lost = true
	}
}

// settlePrompt reports what became of a prompt that was hidden by a dialog. The picture
// shows an idle agent CLI with its composer.
func (r *Reader) settlePrompt(now time.Time) {
	p := r.prompt.unsettled
	switch {
	case p == nil:
	case r.PromptReported(p.Text, p.Time), r.picture.Released(p.Text) && r.EchoedSince(p.Text, p.echoes):
		r.prompt.unsettled = nil
		r.tellLate(p.Submission, now)
	case r.picture.Holds(p.Text):
		r.loseUnsettled(now, "a dialog opened before the prompt was submitted; its text stands in the composer, and the "+
			"next prompt clears it")
	default:
		r.loseUnsettled(now, "a dialog opened while the prompt was submitted, and nothing proves that it arrived")
	}
}

// loseUnsettled reports that a prompt that was hidden by a dialog has not arrived, as far as
// can be seen.
func (r *Reader) loseUnsettled(now time.Time, why string) {
	if p := r.prompt.unsettled; p != nil {
		r.prompt.unsettled = nil
		r.tell(coleo.Change{Time: now, Kind: coleo.ChangePrompt, Reading: r.reading, Note: why + ": " + p.Text})
	}
}

// tellLate reports the turn of a prompt, unless the record has already reported it.
func (r *Reader) tellLate(p Submission, now time.Time) {
	bare := r.hook.spec.Bare(p.Text)
	for i, s := range r.turn.sent {
		if s.lost && s.bare == bare {
			r.turn.sent[i].lost = false
			r.tell(coleo.Change{Time: now, Kind: coleo.ChangeTurn, Reading: r.reading, Note: p.Text, Origin: coleo.OriginLate})
		}
	}
}
