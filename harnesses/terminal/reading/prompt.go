package reading

import (
	"time"

	"coleo.dev"
)

// noteWork notes that the agent CLI was seen at work or with an open dialog.
func (r *Reader) noteWork() {
	r.prompt.workSeen++
	r.prompt.sentAt = time.Time{}
}

// WorkSeen returns the number of looks that have seen work or a dialog.
func (r *Reader) WorkSeen() int { return r.prompt.workSeen }

// Starting reports whether the agent CLI is still starting. It returns false if the
// agent CLI was not seen from its start, or has been sent a prompt.
func (r *Reader) Starting() bool {
	return r.reading.State == coleo.Initializing && r.prompt.none
}

// Settling reports whether a screen that was drawn before the Reader began has no
// reading yet. Either the screen has not been looked at, or the verdict of its rule has
// not held for long enough.
func (r *Reader) Settling() bool {
	if r.reading.State != coleo.Initializing || r.prompt.none {
		return false
	}
	return !r.painting.begun.IsZero() || r.verdict.State != "" && r.picture.Composer != nil
}

// Submitted tells the Reader what was submitted. The reading is then processing until
// PromptDecided is called, or until the screen shows work.
func (r *Reader) Submitted(s Submission, now time.Time) {
	r.loseUnsettled(now, "another prompt was submitted before it could be seen whether this one had arrived")
	r.prompt.undecided, r.prompt.none = true, false
	r.ready = readiness{told: r.ready.told}
	r.settlingSince, r.prompt.sentAt = time.Time{}, now
	r.openTurn(s, now)
	if !r.reading.State.Working() && r.reading.State != coleo.Dead {
		r.become(now, coleo.Reading{State: coleo.Processing, Rule: "submitted", Known: true}, "", nil)
	}
}

// PromptDecided tells the Reader that the screen shows what became of the submitted
// prompt.
func (r *Reader) PromptDecided() { r.prompt.undecided = false }

// AwaitsWork reports whether a prompt was submitted and no work on it has been seen
// yet.
func (r *Reader) AwaitsWork() bool { return !r.prompt.sentAt.IsZero() }

// ExpectNoWork tells the Reader that the work on the submitted prompt may have ended
// before it was seen.
func (r *Reader) ExpectNoWork() { r.prompt.sentAt = time.Time{} }

// TellPromptLost reports as a change that a prompt cannot be proven to have arrived. If the
// agent CLI's record names the prompt later, its turn is reported too.
func (r *Reader) TellPromptLost(now time.Time, note string, view *coleo.Screen) {
	r.turn.open = false // it may never have begun
	if n := len(r.turn.sent); r.prompt.undecided && n > 0 {
		r.turn.sent[n-1].lost = true
	}
	r.tell(coleo.Change{Time: now, Kind: coleo.ChangePrompt, Reading: r.reading, Note: note, Screen: view})
}

// LapseClaims discards what the agent CLI reported about itself before it was stopped. Its
// turn then needs no other sign of an end.
func (r *Reader) LapseClaims() {
	r.turn.open, r.turn.unproven = false, ""
	for _, w := range r.witnesses() {
		w.lapse()
	}
}
