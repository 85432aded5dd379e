package reading

import (
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/printable"
)

const (
	// lapseAfter is how long the screen must contradict a claim before the claim lapses, which means that it
	// no longer counts. It applies if the turn is known to have ended, and in a few other cases (see
	// lapseBound). The time is longer than any redraw, and shorter than people would wait. It has a second
	// use: while an agent CLI starts, a claim of work counts only after it has lasted for lapseAfter.
	lapseAfter = 3 * time.Second
	// disagreeAfter is how long a witness and the screen must disagree before the Reader emits a
	// change.
	disagreeAfter = time.Second
	// forgiveAfter is how long new claims of a witness do not count after the screen has contradicted its last
	// claim for too long. The time is long enough for a person to use an arm between two forged claims. If the
	// screen agrees with a claim earlier, the claim counts at once.
	forgiveAfter = 10 * time.Second
)

// witness is a source of the state besides the screen: the program's escape sequences, its hook or its
// record. It contains the last claim of that source, which is the state that the source reports.
//
// Other programs can forge a claim. A program that prints to the terminal can print the escape sequence. A
// program that runs as the user can write the file of the hook or the record. Therefore a witness can only
// make a reading more cautious. One forged claim could otherwise block an arm forever, so a claim lapses
// (it no longer counts) if the screen contradicts it for long enough.
type witness struct {
	name   string
	word   string
	detail string
	claim  coleo.State // the state that the word adds to the screen's verdict; "" for none
	weak   bool        // the claims of this witness can only make Coleo more cautious
	at     time.Time   // when the word was reported
	// when the claim last changed to another state, or to none
	since               time.Time
	lapsed              bool
	refuted             time.Time // when the last claim lapsed because the screen refuted it; else zero
	contradictedSince   time.Time // since when the screen has contradicted the claim; zero if it does not
	silentSince         time.Time // when the witness last withdrew its claim
	disagreementEmitted bool      // the Reader has emitted the present disagreement
}

// record stores what the witness has reported: a word, its detail, and the state that it claims. While the
// screen contradicts a claim, the witness may repeat the claim, or withdraw it for a moment. The repeated
// claim counts as the same claim. Otherwise a witness could delay the lapse of its claim by repeating it.
func (w *witness) record(word, detail string, claim coleo.State, now time.Time) {
	switch {
	case claim == "" && w.claim != "":
		w.silentSince = now
	case claim != "" && w.mayClaimAgain(now):
		w.contradictedSince = time.Time{}
	}
	if claim != w.claim {
		w.since = now
	}
	w.word, w.detail, w.claim, w.at = oneLine(word), oneLine(detail), claim, now
	if w.contradictedSince.IsZero() {
		w.lapsed, w.disagreementEmitted = false, false
	}
}

// maxWord is the largest number of characters that a witness keeps of a word or a detail. It is about two
// rows of a terminal, because people read these texts.
const maxWord = 120

// oneLine returns a text as one line of at most maxWord characters, without characters that a
// terminal would execute.
func oneLine(text string) string {
	line := []rune(printable.Line(text))
	return string(line[:min(len(line), maxWord)])
}

// mayClaimAgain reports whether the next claim counts as a new claim. If the last claim lapsed because the
// screen contradicted it, forgiveAfter must have passed since then. Otherwise the witness must have claimed
// nothing for lapseAfter.
func (w *witness) mayClaimAgain(now time.Time) bool {
	if w.lapsed && !w.refuted.IsZero() {
		return now.Sub(w.refuted) >= forgiveAfter
	}
	return w.claim == "" && now.Sub(w.silentSince) >= lapseAfter
}

func (w *witness) hasReported() bool { return w.word != "" }

// claims returns the state that the witness claims, or "" if it claims none or if the claim no longer
// counts.
func (w *witness) claims() coleo.State {
	if w.lapsed {
		return ""
	}
	return w.claim
}

func (w *witness) rule() string { return w.name + " " + w.word }

func (w *witness) asWitness() coleo.Witness {
	return coleo.Witness{Name: w.name, State: w.claim, Rule: w.word, Detail: w.detail, Time: w.at, Lapsed: w.lapsed}
}

// endClaim ends the claim after an interrupt or the denial of a dialog. Both end the work that the witness
// has claimed, even if the program does not report that end.
func (w *witness) endClaim() {
	if w.claim != "" {
		w.lapsed, w.contradictedSince, w.refuted = true, time.Time{}, time.Time{}
	}
}

// isContradicted reports whether the state on the screen contradicts the claim. There are two such
// cases:
//
//   - The witness claims work, and the screen shows idle or an error.
//   - The witness claims a question, and a rule recognizes a screen without a dialog.
func (w *witness) isContradicted(screen coleo.State) bool {
	if w.claim == coleo.WaitingApproval {
		return screen != "" && screen != coleo.WaitingApproval
	}
	return w.claim != "" && (screen == coleo.Idle || screen == coleo.Failed)
}

// disagreement describes how a claim and the screen differ.
func (w *witness) disagreement(screen coleo.State) string {
	return fmt.Sprintf("%s says %s while the screen reads %s", w.name, w.word, screen)
}

// forgetContradiction forgets that the screen has contradicted the witness, because a new turn
// begins. The next claim of the witness counts.
func (w *witness) forgetContradiction() {
	w.contradictedSince, w.refuted, w.silentSince, w.disagreementEmitted = time.Time{}, time.Time{}, time.Time{}, false
}

// check ends the claim if the screen has contradicted it for at least the duration `bound`. It returns the
// kind and the note of the change that the Reader must emit, or "" for both. `next` is how long to wait
// until the next check.
func (w *witness) check(screen coleo.State, bound time.Duration, now time.Time) (kind coleo.ChangeKind, note string,
	next time.Duration) {
	if w.claim == "" || screen == "" {
		return "", "", IdleLook
	}
	if !w.isContradicted(screen) {
		w.contradictedSince, w.refuted, w.disagreementEmitted = time.Time{}, time.Time{}, false
		return "", "", IdleLook
	}
	if w.lapsed {
		return "", "", IdleLook
	}
	if w.contradictedSince.IsZero() {
		w.contradictedSince = now
	}
	note = fmt.Sprintf("%s said %s while the screen read %s", w.name, w.word, screen)
	held := now.Sub(w.contradictedSince)
	switch {
	case held >= bound:
		w.lapsed, w.refuted = true, now
		return coleo.ChangeLapse, note, IdleLook
	case held >= disagreeAfter && !w.disagreementEmitted:
		w.disagreementEmitted = true
		return coleo.ChangeDisagreement, note, bound - held
	case !w.disagreementEmitted:
		return "", "", disagreeAfter - held
	}
	return "", "", bound - held
}

// tooEarlyFor returns how much longer a claim of work does not count while the agent CLI starts.
// Some agent CLIs report "working" for a moment before they are ready. So the claim counts only
// after it has lasted for lapseAfter, or when the screen agrees. Until then it is safe to ignore,
// because Coleo types nothing into a starting agent CLI.
func (w *witness) tooEarlyFor(now time.Time) time.Duration {
	if !w.claims().Working() {
		return 0
	}
	return max(0, lapseAfter-now.Sub(w.since))
}
