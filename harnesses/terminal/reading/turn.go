package reading

import (
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// quietAfter is how long the screen must be idle before a turn counts as over without any sign of its end.
// For example, the turn may give no such sign because a person interrupted it. The text above the composer
// must not change during this time. Afterwards the arm counts as idle, but the idle state counts as unproven.
// A model rarely thinks for that long without a sign of work.
const quietAfter = 60 * time.Second

// beginAfter is how long a turn may take to give a sign that it has begun, if the agent CLI has a record. The
// sign is work on the screen, or the prompt in the record or in a report of the hook. Afterwards the arm
// counts as idle, but the idle state counts as unproven. On a loaded machine, one agent CLI took 18 s for the
// first prompt of its process.
const beginAfter = 30 * time.Second

// Submission is a prompt or a command that was submitted to the agent CLI.
type Submission struct {
	Text    string
	Command bool
	Time    time.Time // a time just before the submit key was pressed
}

// sentText is a prompt that Coleo has submitted.
type sentText struct {
	bare string // the text, as rules.Hook.Bare returns it
	time time.Time
	lost bool // Coleo has reported the prompt as lost
}

// newestTurn contains what is known about the newest turn, above all whether it has ended.
type newestTurn struct {
	submitted Submission // the newest prompt or command
	sent      []sentText // the newest prompts and commands that Coleo has submitted
	// open is true until a sign shows the end of the newest turn. It is always false if the agent CLI
	// gives no such signs.
	open        bool
	ended       time.Time // when a turn last ended; zero if no sign of an end has come
	unproven    string    // why idle is not proven; "" if it is
	shown       bool      // the screen has shown work or a dialog in this turn
	waits       bool      // no sign has shown that the turn of the newest prompt has begun
	queued      bool      // the newest prompt was submitted during an earlier turn
	worked      bool      // the screen has shown work since the newest prompt
	endReported bool      // the record or the hook has reported the end of the turn, and no work afterwards
	// since when the screen has been idle although another source claims work; zero if that is not the case
	denied         time.Time
	blind          bool      // the last turn that took at least blindAfter showed no work on the screen
	above          []string  // the rows above the composer on the last idle screen
	unchangedSince time.Time // since when the rows in `above` have not changed
}

// blindAfter is how long a turn must last to prove that the screen is blind: that it never shows a sign of
// work. In a shorter turn, any screen may show no such sign.
const blindAfter = 2 * time.Second

const blindNote = "the screen shows no sign of work in this set-up: only the agent CLI's record, hook or escape " +
	"sequences show when a turn runs"

// noteWitnessedWork records whether the screen shows work while other sources, such as the hook, claim
// work.
func (r *Reader) noteWitnessedWork(now time.Time) {
	switch {
	case r.verdict.State.Working() || r.verdict.Dialog != nil:
		r.turn.shown, r.turn.blind, r.turn.denied = true, false, time.Time{}
		r.turn.worked = r.turn.worked || r.verdict.State.Working()
	case r.verdict.State == coleo.Idle && r.turn.denied.IsZero() && !r.prompt.none && r.AtWork():
		r.turn.denied = now
	}
}

// openTurn records that a prompt or a command was submitted. If the record reports the ends of turns, the arm
// is idle only after the record or the hook has reported the end of the new turn. This does not hold for a
// command, because a command may leave no trace in the record. After openTurn, the next claim of each
// witness, such as the hook, counts again. This is so even if the screen has contradicted the witness before.
func (r *Reader) openTurn(s Submission, now time.Time) {
	r.turn.unproven, r.turn.unchangedSince = "", now
	r.turn.queued = r.reading.State.Working() || r.turn.open
	r.turn.worked, r.turn.endReported = false, false
	r.turn.submitted, r.turn.open, r.turn.waits = s, r.recorded.showsEnds && !s.Command, !s.Command
	r.turn.sent = appendBounded(r.turn.sent, sentText{bare: r.hook.spec.Bare(s.Text), time: s.Time})
	for _, w := range r.witnesses() {
		w.forgetContradiction()
	}
}

// emitTurn emits a change for a prompt in the record, with these exceptions:
//
//   - The prompt is from before the Reader was created. An earlier host agent may have submitted it.
//   - Coleo itself has submitted the prompt, and has not reported it as lost.
//
// The parameter `ended` is how the previous turn ended; see recordEvidence.endedBefore.
func (r *Reader) emitTurn(e record.Entry, ended coleo.State, at, now time.Time) {
	bare := r.hook.spec.Bare(e.Text)
	if bare == "" || at.Before(r.began) {
		return
	}
	c := coleo.Change{Time: now, Kind: coleo.ChangeTurn, Reading: r.reading, Note: e.Text, Origin: coleo.OriginSelf}
	if c.Ended = ended; e.ByUser {
		c.Origin, c.Ended = coleo.OriginHand, ""
	}
	for i, s := range slices.Backward(r.turn.sent) {
		if s.bare != bare || at.Before(s.time.Truncate(time.Millisecond)) {
			continue
		}
		if !s.lost {
			return
		}
		r.turn.sent[i].lost, c.Origin = false, coleo.OriginLate
		break
	}
	r.emit(c)
}

// noteTaken records that the record or the hook has named a prompt. If it is the newest prompt, the
// Reader no longer waits for work on it.
func (r *Reader) noteTaken(bare string, at time.Time) {
	s := r.turn.submitted
	if bare == r.hook.spec.Bare(s.Text) && !at.Before(s.Time.Truncate(time.Millisecond)) {
		r.prompt.sentAt, r.turn.waits = time.Time{}, false
	}
}

// closeTurn records that a turn has ended at the given time of the agent CLI's clock. If that time is
// before the newest prompt, an earlier turn has ended, and the newest turn stays open. closeTurn
// compares whole milliseconds, because the times in records are no more precise.
func (r *Reader) closeTurn(at time.Time) {
	if at.After(r.turn.ended) {
		r.turn.ended = at
	}
	if at.Before(r.turn.submitted.Time.Truncate(time.Millisecond)) {
		return
	}
	if !r.turn.shown && !r.turn.denied.IsZero() && at.Sub(r.turn.denied) >= blindAfter && !r.turn.blind {
		r.turn.blind = true
		r.emit(coleo.Change{Time: at, Kind: coleo.ChangeBlind, Reading: r.reading, Note: blindNote})
	}
	r.turn.open, r.turn.unproven, r.turn.denied, r.turn.shown = false, "", time.Time{}, false
}

// closeReported is like closeTurn, for a turn whose end the record or the hook has reported. It also sets
// endReported. Other signs of an end do not set this field, because the program can take them back. For
// example, the program may end its claim of work with an escape sequence, and claim work again a moment
// later.
func (r *Reader) closeReported(at time.Time) {
	if r.closeTurn(at); !at.Before(r.turn.submitted.Time.Truncate(time.Millisecond)) {
		r.turn.endReported = true
	}
}

// idleSince returns the time from which the settling time of an idle screen counts. Usually that is now.
// But another source may have claimed work for longer than the screen has shown it. Then idleSince returns
// the earlier time at which the screen became idle and stopped changing, if all of these hold:
//
//   - The record or the hook has reported the end of the turn.
//   - The screen has shown work in this turn.
//   - The prompt was not queued. After a queued prompt, the next turn can begin at once.
func (r *Reader) idleSince(now time.Time) time.Time {
	if r.turn.endReported && r.turn.worked && !r.turn.queued && !r.turn.unchangedSince.IsZero() {
		return r.turn.unchangedSince
	}
	return now
}

// isNewest reports whether the hook's turn `t` is the newest turn. The turn can be an earlier one, because
// the hook may report the end of a turn late. namesPrompt is true if the report of the end also names the
// prompt. Then t.taken may be the time of that report instead of the turn's beginning, so isNewest also
// compares the prompts.
func (r *Reader) isNewest(t *turn, namesPrompt bool) bool {
	return !t.taken.Before(r.turn.submitted.Time) && (!namesPrompt || t.prompt == r.hook.spec.Bare(r.turn.submitted.Text))
}

// AtWork reports whether any source except the screen shows that a turn is running. In some setups
// the screen shows no sign of work.
func (r *Reader) AtWork() bool {
	return r.turn.open || slices.ContainsFunc(r.witnesses(), func(w *witness) bool {
		return !w.weak && w.claims().Working()
	})
}

// TurnEnded returns when a turn last ended, by the clock of the agent CLI. It returns the zero time
// if no sign of an end has come.
func (r *Reader) TurnEnded() time.Time { return r.turn.ended }

// Unproven returns the reason why the idle state of the arm is not proven. It returns "" if it is
// proven, or if the arm is not idle.
func (r *Reader) Unproven() string {
	if r.reading.State != coleo.Idle {
		return ""
	}
	return r.turn.unproven
}

// lapseBound returns how long the screen must contradict the claim of a witness before the claim no longer
// counts. It returns lapseAfter in these cases:
//
//   - The witness is weak.
//   - The turn in which the witness made the claim is known to have ended.
//   - The witness claims a question, but the screen shows work or an error. For example, after an error
//     about its login, Claude Code claims a question, but asks nothing.
//   - No prompt was submitted yet, and the claim does not come from the record.
//
// In any other case it returns quietAfter.
func (r *Reader) lapseBound(w *witness) time.Duration {
	switch {
	case w.weak, !r.turn.ended.Before(w.at), r.verdict.State.Working():
		return lapseAfter
	case w.claim == coleo.WaitingApproval && r.verdict.State == coleo.Failed:
		return lapseAfter
	case r.prompt.none && w != &r.recorded.witness:
		return lapseAfter
	}
	return quietAfter
}

// noteUnchanged measures for how long the text above the composer of an idle screen has stayed the same. It
// returns true if the text has changed since the last call.
func (r *Reader) noteUnchanged(now time.Time) (changed bool) {
	if r.prompt.none && !r.recorded.witness.hasReported() {
		return false
	}
	if r.verdict.State != coleo.Idle {
		r.turn.unchangedSince = now
		return false
	}
	above := r.picture.Above()
	if changed = !slices.Equal(above, r.turn.above); changed {
		r.turn.above, r.turn.unchangedSince = above, now
		for _, w := range r.witnesses() {
			if !w.weak {
				w.contradictedSince = time.Time{}
			}
		}
	}
	return changed
}

// awaitBegin returns how much longer the Reader waits for a sign that work on the newest prompt has begun.
// It returns 0 or less if the Reader does not wait. Until the sign comes, an idle screen does not count,
// and an error of an earlier turn does not count either. Some screens show the prompt in the transcript
// some time before they show work.
func (r *Reader) awaitBegin(now time.Time) time.Duration {
	if !r.AwaitsWork() {
		return 0
	}
	bound := r.spec.Timing.Begin.Duration()
	unproven := r.recorded.expected && !r.turn.submitted.Command
	if unproven {
		bound = max(bound, beginAfter)
	}
	left := bound - now.Sub(r.prompt.sentAt)
	if left <= 0 && unproven {
		r.turn.unproven = "nothing shows that work on the newest prompt has begun"
	}
	return left
}

// awaitEnd returns how much longer the Reader waits for a sign that the newest turn has ended, or 0 if it
// does not wait. An idle screen counts only after the sign.
func (r *Reader) awaitEnd(now time.Time) time.Duration {
	if !r.turn.open {
		return 0
	}
	if left := quietAfter - now.Sub(r.turn.unchangedSince); left > 0 {
		return left
	}
	r.turn.open, r.turn.unproven = false, "nothing has shown that the turn has ended"
	return 0
}
