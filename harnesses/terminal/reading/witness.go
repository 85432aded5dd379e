package reading

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"coleo.dev"
)

const (
	// lapseAfter is how long the screen must contradict a witness's claim before the
	// claim no longer counts. It is longer than any redraw and shorter than people wait.
	// While an agent CLI starts, a claim of work must also hold this long before it
	// counts.
	lapseAfter = 3 * time.Second
	// disagreeAfter is how long they must disagree before that is told.
	disagreeAfter = time.Second
	// forgiveAfter is how long after such a lapse a claim counts again, unless the screen
	// agrees with it earlier. It leaves enough time to use an arm between two forged
	// claims.
	forgiveAfter = 10 * time.Second
)

// witness is what one source beside the screen claimed last: the program by an escape
// sequence, or its hook. Anything that prints can forge it, so a witness can make a
// reading only more cautious. A claim that the screen contradicts lapses. Otherwise one
// forged word could hold an arm for ever.
type witness struct {
	name              string
	word              string
	detail            string
	claim             coleo.State // the state that the word adds to the screen's verdict; "" for none
	weak              bool        // it is a reason for caution only
	at                time.Time   // when the word came
	since             time.Time   // since when the claim holds
	lapsed            bool
	refuted           time.Time     // when the screen made it lapse
	contradictedSince time.Time     // since when the screen has contradicted its claims
	silentSince       time.Time     // since when it has claimed nothing; zero: it claims
	disagreementTold  bool          // the disagreement was told
	lapseAfter        time.Duration // how long the screen must contradict a claim until it lapses
}

// record records a word. A claim that is repeated, or withdrawn for a moment, while the
// screen contradicts it stays the same claim. It gains no time.
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
		w.lapsed, w.disagreementTold = false, false
	}
}

// maxWord bounds the kept length of a word, in characters: it is for people.
const maxWord = 120

// oneLine returns a text in one line without characters that act on a terminal.
func oneLine(text string) string {
	line := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text))
	return string(line[:min(len(line), maxWord)])
}

// mayClaimAgain reports whether the last contradiction is long enough ago for a claim to
// count as a new one.
func (w *witness) mayClaimAgain(now time.Time) bool {
	if w.lapsed && !w.refuted.IsZero() {
		return now.Sub(w.refuted) >= forgiveAfter
	}
	return w.claim == "" && now.Sub(w.silentSince) >= lapseAfter
}

func (w *witness) used() bool { return w.word != "" }

// claims returns the state that the witness adds to the screen's verdict, "" for none.
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

// lapse ends a claim. An interrupt or a denial ends what the claim was about, even if the
// program does not report so.
func (w *witness) lapse() {
	if w.claim != "" {
		w.lapsed, w.contradictedSince, w.refuted = true, time.Time{}, time.Time{}
	}
}

// isContradicted reports whether the screen shows that a claim is wrong: work on an idle
// screen, or a question without a dialog.
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

// check makes a claim lapse that the screen has contradicted for lapseAfter. It returns
// the change to report, if any, and when to check again.
func (w *witness) check(screen coleo.State, now time.Time) (kind coleo.ChangeKind, note string, next time.Duration) {
	if w.claim == "" || screen == "" {
		return "", "", IdleLook
	}
	if !w.isContradicted(screen) {
		w.contradictedSince, w.refuted, w.disagreementTold = time.Time{}, time.Time{}, false
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
	case held >= w.lapseAfter:
		w.lapsed, w.refuted = true, now
		return coleo.ChangeLapse, note, IdleLook
	case held >= disagreeAfter && !w.disagreementTold:
		w.disagreementTold = true
		return coleo.ChangeDisagreement, note, w.lapseAfter - held
	case !w.disagreementTold:
		return "", "", disagreeAfter - held
	}
	return "", "", w.lapseAfter - held
}

// tooEarlyFor returns for how much longer a claim of work does not count while the agent
// CLI starts. Some agent CLIs report "working" for a moment before they are ready, and
// nothing is typed into a starting one anyway. So a claim counts only when it holds, or
// when the screen agrees.
func (w *witness) tooEarlyFor(now time.Time) time.Duration {
	if !w.claims().Working() {
		return 0
	}
	return max(0, lapseAfter-now.Sub(w.since))
}
