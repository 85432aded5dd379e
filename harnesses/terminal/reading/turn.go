package reading

import (
	"slices"
	"time"

	"coleo.dev"
)

// quietAfter is how long the screen must be idle, and the text above the composer must
// stand still, until an arm counts as idle although nothing proves that its turn has
// ended. A turn that a person broke off may never get an end. Models think for this long
// without a sign only rarely. The idle state is then called unproven.
const quietAfter = 60 * time.Second

// newestTurn is what is known about the end of the newest turn.
type newestTurn struct {
	// open is when the newest prompt was submitted, while its turn has no sign of an end.
	// It is zero if the turn has ended, or if this agent CLI gives no such sign.
	open     time.Time
	ended    time.Time // when the last sign of an end came
	unproven string    // why the idle state is not proven; "" if nothing speaks against it
	above    []string  // the rows above the composer on the last idle screen
	still    time.Time // since when those rows have not changed
}

// openTurn tells the evidence that a prompt or a command was submitted. If the agent CLI's
// record tells the ends of turns, the arm is not idle before the record or the hook has
// told the end of this one. A command may leave no trace in the record. What the screen
// contradicted in the turn before does not count in this one.
func (r *Reader) openTurn(now time.Time, command bool) {
	r.turn.unproven, r.turn.still = "", now
	if r.recorded.tellsEnds && !command {
		r.turn.open = now
	}
	for _, w := range r.witnesses() {
		w.forgive()
	}
}

// closeTurn tells the evidence that a turn has ended at a time. The end of an earlier turn
// does not count. The records' times are cut to milliseconds.
func (r *Reader) closeTurn(at time.Time) {
	if at.Before(r.turn.open.Truncate(time.Millisecond)) {
		return
	}
	r.turn.open, r.turn.unproven = time.Time{}, ""
	if at.After(r.turn.ended) {
		r.turn.ended = at
	}
}

// AtWork reports whether something other than the screen says that a turn is running. The
// screen of some set-ups shows no sign of work.
func (r *Reader) AtWork() bool {
	return !r.turn.open.IsZero() || slices.ContainsFunc(r.witnesses(), func(w *witness) bool {
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

// lapseBound returns how long the screen must contradict a witness until its claim lapses.
// If nothing says that the turn has ended, only a quiet screen makes the claim lapse. These
// claims lapse sooner: a claim of a weak witness, a claim before the first prompt, and a
// claim that something is asked while the screen shows work.
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

// awaitEnd returns how long an idle screen must still wait for a sign that the newest turn
// has ended. It returns 0 if it need not wait.
func (r *Reader) awaitEnd(now time.Time) time.Duration {
	if r.turn.open.IsZero() {
		return 0
	}
	if left := quietAfter - now.Sub(r.turn.still); left > 0 {
		return left
	}
	r.turn.open, r.turn.unproven = time.Time{}, "nothing has told that the turn has ended"
	return 0
}
