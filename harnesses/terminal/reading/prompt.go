package reading

import (
	"time"

	"coleo.dev"
)

// noteWork records that the agent CLI was seen working or with an open dialog.
func (r *Reader) noteWork() {
	r.prompt.workSeen++
	r.prompt.sentAt = time.Time{}
}

// WorkSeen returns how often work or a dialog was seen.
func (r *Reader) WorkSeen() int { return r.prompt.workSeen }

// Starting reports whether the agent CLI is still starting. It returns false after a prompt was
// submitted, or if the Reader was created after the agent CLI's start.
func (r *Reader) Starting() bool {
	return r.reading.State == coleo.Initializing && r.prompt.none
}

// Settling reports whether the Reader still needs its first reading of a screen that was drawn before the
// Reader was created. Either the Reader has not looked at the screen yet, or the state on it has not lasted
// long enough.
func (r *Reader) Settling() bool {
	if r.reading.State != coleo.Initializing || r.prompt.none {
		return false
	}
	return !r.painting.begun.IsZero() || r.verdict.State != "" && r.picture.Composer != nil
}

// Submitted records that a prompt or a command was submitted. The state is then "processing", until
// PromptDecided is called or the screen shows work or a dialog. Submitted also adds the entries of the
// record that the Reader has held back since HoldEntries.
func (r *Reader) Submitted(s Submission, now time.Time) {
	own := r.releaseUpTo(r.hook.spec.Bare(s.Text), now)
	r.loseUnsettled(now, "another prompt was submitted before it could be seen whether this one had arrived")
	r.prompt.undecided, r.prompt.none = true, false
	r.ready = readiness{expected: r.ready.expected}
	r.settlingSince, r.prompt.sentAt, r.prompt.oldError = time.Time{}, now, oldError{}
	if r.verdict.State == coleo.Failed {
		r.prompt.oldError = oldError{r.verdict.Rule, r.verdict.Detail}
	}
	r.openTurn(s, now)
	if !r.reading.State.Working() && r.reading.State != coleo.Dead {
		r.setReading(now, coleo.Reading{State: coleo.Processing, Rule: "submitted", Known: true}, "", nil)
	}
	r.addEntries(own, now)
}

// FoundSubmitted records that an earlier process of Coleo submitted a prompt, and that the prompt has
// arrived. The agent CLI may not have begun the turn yet. So, as after Submitted, an idle screen counts
// only after a sign of work or of the turn's end. If the screen already shows an error or a dialog,
// FoundSubmitted does nothing.
func (r *Reader) FoundSubmitted(s Submission, now time.Time) {
	if st := r.verdict.State; st != "" && st != coleo.Idle && !st.Working() {
		return
	}
	r.Submitted(s, now)
	r.PromptDecided()
}

// FoundLost records a prompt that an earlier process of Coleo has typed, but for whose arrival there is no
// proof. If the record names the prompt later, the Reader emits the prompt's turn, marked as late.
func (r *Reader) FoundLost(s Submission) {
	r.turn.sent = appendBounded(r.turn.sent, sentText{bare: r.hook.spec.Bare(s.Text), time: s.Time, lost: true})
}

// oldError is the error of an earlier turn: the name of the rule that recognized it, and its detail.
// It is empty if there is none.
type oldError struct{ rule, detail string }

// isOld reports whether a reading shows the error that was on the screen when the newest prompt was
// submitted.
func (r *Reader) isOld(next coleo.Reading) bool {
	return next.State == coleo.Failed && next.Rule != "" && r.prompt.oldError == oldError{next.Rule, next.Detail}
}

// PromptDecided records that the screen shows whether the submitted prompt has arrived.
func (r *Reader) PromptDecided() { r.prompt.undecided = false }

// AwaitsWork reports whether a prompt was submitted and no work on it has been seen yet.
func (r *Reader) AwaitsWork() bool { return !r.prompt.sentAt.IsZero() }

// ExpectNoWork ends the Reader's wait for work on the submitted prompt, because that work may have
// ended before the Reader saw it.
func (r *Reader) ExpectNoWork() { r.prompt.sentAt = time.Time{} }

// ReportPromptLost emits a change that reports a prompt as lost, because nothing proves that it has
// arrived. If the agent CLI's record names the prompt later, the Reader emits the turn of the prompt too.
func (r *Reader) ReportPromptLost(now time.Time, note string, view *coleo.Screen) {
	r.turn.open = false // the turn may never have begun
	if n := len(r.turn.sent); r.prompt.undecided && n > 0 {
		r.turn.sent[n-1].lost = true
	}
	r.emit(coleo.Change{Time: now, Kind: coleo.ChangePrompt, Reading: r.reading, Note: note, Screen: view})
}

// LapseClaims must be called after somebody has stopped the agent CLI's turn. It discards the claims of all
// witnesses, such as the hook. It also ends the Reader's wait for a sign that the turn has ended.
func (r *Reader) LapseClaims() {
	r.turn.open, r.turn.unproven = false, ""
	for _, w := range r.witnesses() {
		w.endClaim()
	}
}
