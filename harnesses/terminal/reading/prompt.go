package reading

import (
	"time"

	"coleo.dev"
)

// noteWork notes that the agent CLI was seen working or asking.
func (r *Reader) noteWork() {
	r.prompt.workSeen++
	r.prompt.sentAt = time.Time{}
}

// WorkSeen returns how many looks have seen work or a dialog.
func (r *Reader) WorkSeen() int { return r.prompt.workSeen }

// Starting reports whether the agent CLI still starts, is seen from its start on, and was
// not sent a prompt yet.
func (r *Reader) Starting() bool {
	return r.reading.State == coleo.Initializing && r.prompt.none
}

// Submitted says that a prompt was submitted. The agent CLI reads processing until
// PromptDecided, or until the screen shows work.
func (r *Reader) Submitted(now time.Time) {
	r.prompt.undecided, r.prompt.none = true, false
	r.settlingSince, r.prompt.sentAt = time.Time{}, now
	if !r.reading.State.Working() && r.reading.State != coleo.Dead {
		r.become(now, coleo.Reading{State: coleo.Processing, Rule: "submitted", Known: true}, "", nil)
	}
}

// PromptDecided says that the screen shows what became of the prompt that was submitted.
func (r *Reader) PromptDecided() { r.prompt.undecided = false }

// AwaitsWork reports whether a prompt was submitted on which no work was seen yet.
func (r *Reader) AwaitsWork() bool { return !r.prompt.sentAt.IsZero() }

// ExpectNoWork says that there may be no work left to be seen on the prompt that was
// submitted.
func (r *Reader) ExpectNoWork() { r.prompt.sentAt = time.Time{} }

// TellPromptLost tells that a prompt cannot be proven to have arrived.
func (r *Reader) TellPromptLost(now time.Time, note string, view *coleo.Screen) {
	r.tell(coleo.Change{Time: now, Kind: coleo.ChangePrompt, Reading: r.reading, Note: note, Screen: view})
}

// LapseClaims discards what the agent CLI reported of itself before it was stopped.
func (r *Reader) LapseClaims() {
	for _, w := range r.witnesses() {
		w.lapse()
	}
}
