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
	// disagreeAfter is how long they must disagree before that is reported.
	disagreeAfter = time.Second
	// forgiveAfter is how long after such a lapse a claim counts again, unless the screen
	// agrees with it earlier. It leaves enough time to use an arm between two forged
	// claims.
	forgiveAfter = 10 * time.Second
)

// witness is the last word of one witness beside the screen: of the program by an escape
// sequence, or of its hook. Anything that prints can forge it, so a witness can make a
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
	refuted           time.Time // when the screen made it lapse
	contradictedSince time.Time // since when the screen has contradicted its claims
	silentSince       time.Time // since when it has claimed nothing; zero: it claims
	disagreementTold  bool      // the disagreement was reported
}

// record records a word. A claim that is repeated, or withdrawn for a moment, while the
// screen contradicts it stays the same claim. It gains no time.
func (v *witness) record(word, detail string, claim coleo.State, now time.Time) {
	switch {
	case claim == "" && v.claim != "":
		v.silentSince = now
	case claim != "" && v.mayClaimAgain(now):
		v.contradictedSince = time.Time{}
	}
	if claim != v.claim {
		v.since = now
	}
	v.word, v.detail, v.claim, v.at = brief(word), brief(detail), claim, now
	if v.contradictedSince.IsZero() {
		v.lapsed, v.disagreementTold = false, false
	}
}

// maxWord bounds the kept length of a word, in characters: it is for people.
const maxWord = 120

// brief returns a text in one line without characters that act on a terminal.
func brief(text string) string {
	line := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text))
	return string(line[:min(len(line), maxWord)])
}

// mayClaimAgain reports whether the last contradiction is long enough ago for a claim to count
// as a new one.
func (v *witness) mayClaimAgain(now time.Time) bool {
	if v.lapsed && !v.refuted.IsZero() {
		return now.Sub(v.refuted) >= forgiveAfter
	}
	return v.claim == "" && now.Sub(v.silentSince) >= lapseAfter
}

func (v *witness) used() bool { return v.word != "" }

// claims returns the state that the witness adds to the screen's verdict, "" for none.
func (v *witness) claims() coleo.State {
	if v.lapsed {
		return ""
	}
	return v.claim
}

func (v *witness) rule() string { return v.name + " " + v.word }

func (v *witness) asWitness() coleo.Witness {
	return coleo.Witness{Name: v.name, State: v.claim, Rule: v.word, Detail: v.detail, Time: v.at, Lapsed: v.lapsed}
}

// lapse ends a claim. An interrupt or a denial ends what the claim was about, even if the
// program does not report so.
func (v *witness) lapse() {
	if v.claim != "" {
		v.lapsed, v.contradictedSince, v.refuted = true, time.Time{}, time.Time{}
	}
}

// isContradicted reports whether the screen shows that a claim is wrong: work on an idle
// screen, or a question without a dialog.
func (v *witness) isContradicted(screen coleo.State) bool {
	if v.claim == coleo.WaitingApproval {
		return screen != "" && screen != coleo.WaitingApproval
	}
	return v.claim != "" && (screen == coleo.Idle || screen == coleo.Failed)
}

// disagreement describes how a claim and the screen differ.
func (v *witness) disagreement(screen coleo.State) string {
	return fmt.Sprintf("%s says %s while the screen reads %s", v.name, v.word, screen)
}

// check makes a claim lapse that the screen has contradicted for lapseAfter. It returns
// the change to report, if any, and when to weigh again.
func (v *witness) check(screen coleo.State, now time.Time) (kind coleo.ChangeKind, note string, again time.Duration) {
	if v.claim == "" || screen == "" {
		return "", "", IdleLook
	}
	if !v.isContradicted(screen) {
		v.contradictedSince, v.refuted, v.disagreementTold = time.Time{}, time.Time{}, false
		return "", "", IdleLook
	}
	if v.lapsed {
		return "", "", IdleLook
	}
	if v.contradictedSince.IsZero() {
		v.contradictedSince = now
	}
	said := fmt.Sprintf("%s said %s while the screen read %s", v.name, v.word, screen)
	held := now.Sub(v.contradictedSince)
	switch {
	case held >= lapseAfter:
		v.lapsed, v.refuted = true, now
		return coleo.ChangeLapse, said, IdleLook
	case held >= disagreeAfter && !v.disagreementTold:
		v.disagreementTold = true
		return coleo.ChangeDisagreement, said, lapseAfter - held
	case !v.disagreementTold:
		return "", "", disagreeAfter - held
	}
	return "", "", lapseAfter - held
}

// tooEarlyFor returns for how much longer a claim of work does not count while the agent CLI
// starts. Some agent CLIs report "working" for a moment before they are ready, and
// nothing is typed into a starting one anyway. So a claim counts only when it holds, or
// when the screen agrees.
func (v *witness) tooEarlyFor(now time.Time) time.Duration {
	if !v.claims().Working() {
		return 0
	}
	return max(0, lapseAfter-now.Sub(v.since))
}
