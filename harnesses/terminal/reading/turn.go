package reading

import (
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// quietAfter is for a turn without any sign of its end, such as a turn that a person broke
// off. The screen must be idle for this time, and the text above the composer must stand
// still. The arm then counts as idle, and this state is called unproven. Only rarely does a
// model think for so long without a sign of work.
const quietAfter = 60 * time.Second

// beginAfter is how long a turn may take to show a sign of its beginning, if the agent CLI
// has a record: work on the screen, or the prompt in the record or the hook. On a loaded
// machine, one agent CLI took 18 s for the first prompt of its process. After that the arm
// counts as idle, and this state is called unproven.
const beginAfter = 30 * time.Second

// Submission is a prompt, or a command of the agent CLI, whose submit key was pressed.
type Submission struct {
	Text    string
	Command bool
	Time    time.Time // a time before the key was pressed
}

// sentText is a prompt that Coleo has submitted.
type sentText struct {
	bare string // as rules.Hook.Bare returns it
	time time.Time
	lost bool // it was reported as lost
}

// newestTurn is what is known about the end of the newest turn.
type newestTurn struct {
	submitted Submission // the newest one
	sent      []sentText // the newest prompts that Coleo has submitted
	// open is true while that turn has no sign of an end. It is false if the turn has
	// ended, or if this agent CLI gives no such sign.
	open     bool
	ended    time.Time // when the last sign of an end came
	unproven string    // why the idle state is not proven; "" if nothing speaks against it
	shown    bool      // the screen has shown work or a dialog in this turn
	queued   bool      // the newest prompt was submitted before the turn before had ended
	worked   bool      // the screen has shown work since the newest prompt
	told     bool      // the newest entry of the record, or report of the hook, tells the turn's end
	denied   time.Time // since when the screen has been idle while another witness claims work; zero: it does not
	blind    bool      // in the last turn with work, the screen showed no sign of it
	above    []string  // the rows above the composer on the last idle screen
	still    time.Time // since when those rows have not changed
}

// blindAfter is how long a turn must run without a sign of work on the screen until the
// screen counts as blind. Shorter turns end before some screens draw anything.
const blindAfter = 2 * time.Second

const blindNote = "the screen shows no sign of work in this set-up: only the agent CLI's record, hook or escape " +
	"sequences tell when a turn runs"

// noteWitnessedWork keeps track of whether the screen shows the work that other witnesses
// claim.
func (r *Reader) noteWitnessedWork(now time.Time) {
	switch {
	case r.verdict.State.Working() || r.verdict.Dialog != nil:
		r.turn.shown, r.turn.blind, r.turn.denied = true, false, time.Time{}
		r.turn.worked = r.turn.worked || r.verdict.State.Working()
	case r.verdict.State == coleo.Idle && r.turn.denied.IsZero() && !r.prompt.none && r.AtWork():
		r.turn.denied = now
	}
}

// openTurn notes that a prompt or a command was submitted. If the agent CLI's record has
// signs for the ends of turns, the arm is not idle until the record or the hook shows the
// end of this turn. A command is an exception, because it may leave no trace in the record.
// Claims that the screen contradicted in the turn before count again in this turn.
func (r *Reader) openTurn(s Submission, now time.Time) {
	r.turn.unproven, r.turn.still = "", now
	r.turn.queued = r.reading.State.Working() || r.turn.open
	r.turn.worked, r.turn.told = false, false
	r.turn.submitted, r.turn.open = s, r.recorded.tellsEnds && !s.Command
	r.turn.sent = appendBounded(r.turn.sent, sentText{bare: r.hook.spec.Bare(s.Text), time: s.Time})
	for _, w := range r.witnesses() {
		w.forgive()
	}
}

// tellTurn reports a change if entry e of the record is a prompt that Coleo has not
// submitted, or has reported as lost. It ignores prompts from before the Reader was made,
// because an earlier host agent may have submitted them.
func (r *Reader) tellTurn(e record.Entry, at, now time.Time) {
	bare := r.hook.spec.Bare(e.Text)
	if bare == "" || at.Before(r.began) {
		return
	}
	c := coleo.Change{Time: now, Kind: coleo.ChangeTurn, Reading: r.reading, Note: e.Text, Origin: coleo.OriginSelf}
	if e.ByUser {
		c.Origin = coleo.OriginHand
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
	r.tell(c)
}

// noteTaken notes that the record or the hook has named a prompt. If it is the newest prompt,
// nothing needs to be waited for until work on it is seen.
func (r *Reader) noteTaken(bare string, at time.Time) {
	s := r.turn.submitted
	if bare == r.hook.spec.Bare(s.Text) && !at.Before(s.Time.Truncate(time.Millisecond)) {
		r.prompt.sentAt = time.Time{}
	}
}

// closeTurn notes that the newest turn has ended at a time by the agent CLI's clock. It
// ignores a time from before the newest prompt, because that is the end of an earlier turn.
// It compares milliseconds, because records have no finer times.
func (r *Reader) closeTurn(at time.Time) {
	if at.Before(r.turn.submitted.Time.Truncate(time.Millisecond)) {
		return
	}
	if !r.turn.shown && !r.turn.denied.IsZero() && at.Sub(r.turn.denied) >= blindAfter && !r.turn.blind {
		r.turn.blind = true
		r.tell(coleo.Change{Time: at, Kind: coleo.ChangeBlind, Reading: r.reading, Note: blindNote})
	}
	r.turn.open, r.turn.unproven, r.turn.denied, r.turn.shown = false, "", time.Time{}, false
	if at.After(r.turn.ended) {
		r.turn.ended = at
	}
}

// tellEnd is like closeTurn, but for a sign that the record or the hook gives. A claim that
// is withdrawn in band may come back at once.
func (r *Reader) tellEnd(at time.Time) {
	if r.closeTurn(at); !at.Before(r.turn.submitted.Time.Truncate(time.Millisecond)) {
		r.turn.told = true
	}
}

// idleSince returns since when an idle screen counts as settling. That is now, with one
// exception: the record or the hook has told the end of a turn whose work the screen has
// shown. Then it is the time since when the screen alone has been idle and has stood still.
// A claim may have hidden that. Where prompts are queued, the next turn may begin at once.
func (r *Reader) idleSince(now time.Time) time.Time {
	if r.turn.told && r.turn.worked && !r.turn.queued && !r.turn.still.IsZero() {
		return r.turn.still
	}
	return now
}

// isNewest reports whether t, a turn from the hook's reports, is the newest turn. The hook
// may report the end of an earlier turn late. If named is true, the prompt of t comes from
// the report of its end, so t.taken says nothing about when the turn began. Then the
// prompt must be the newest one.
func (r *Reader) isNewest(t *turn, named bool) bool {
	return !t.taken.Before(r.turn.submitted.Time) && (!named || t.prompt == r.hook.spec.Bare(r.turn.submitted.Text))
}

// AtWork reports whether something other than the screen says that a turn is running. The
// screen of some set-ups shows no sign of work.
func (r *Reader) AtWork() bool {
	return r.turn.open || slices.ContainsFunc(r.witnesses(), func(w *witness) bool {
		return !w.weak && w.claims().Working()
	})
}

// Unproven returns why the idle state is not proven. It returns "" if the arm is not idle,
// or if nothing speaks against its being idle.
func (r *Reader) Unproven() string {
	if r.reading.State != coleo.Idle {
		return ""
	}
	return r.turn.unproven
}

// lapseBound returns how long the screen must contradict the claim of a witness until the
// claim lapses. Without a sign that the turn has ended, this takes quietAfter. Three kinds
// of claim lapse sooner: a claim of a weak witness, a claim from before the first prompt,
// and a claim that something is asked while the screen shows work.
func (r *Reader) lapseBound(w *witness) time.Duration {
	switch {
	case w.weak, !r.turn.ended.Before(w.at), r.verdict.State.Working():
		return lapseAfter
	case r.prompt.none && w != &r.recorded.witness:
		return lapseAfter
	}
	return quietAfter
}

// noteStill keeps track of how long the text above an idle composer has stood still. It
// reports whether the text has changed since the last call.
func (r *Reader) noteStill(now time.Time) (changed bool) {
	if r.prompt.none && !r.recorded.witness.used() {
		return false
	}
	if r.verdict.State != coleo.Idle {
		r.turn.still = now
		return false
	}
	above := r.picture.Above()
	if changed = !slices.Equal(above, r.turn.above); changed {
		r.turn.above, r.turn.still = above, now
		for _, w := range r.witnesses() {
			if !w.weak {
				w.contradictedSince = time.Time{}
			}
		}
	}
	return changed
}

// awaitBegin returns how long an idle screen must still wait for a sign that work on the
// newest prompt has begun. It returns 0 if it need not wait. The screen may show the prompt
// in its transcript for some time before it shows work.
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

// awaitEnd returns how long an idle screen must still wait for a sign that the newest turn
// has ended. It returns 0 if it need not wait.
func (r *Reader) awaitEnd(now time.Time) time.Duration {
	if !r.turn.open {
		return 0
	}
	if left := quietAfter - now.Sub(r.turn.still); left > 0 {
		return left
	}
	r.turn.open, r.turn.unproven = false, "nothing has told that the turn has ended"
	return 0
}
