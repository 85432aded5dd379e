package terminal

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"coleo.dev"
)

const (
	// lapseAfter is how long the screen must contradict what a witness claims
	// before the claim no longer counts: longer than any redraw, shorter than
	// patience. So long, too, must a claim of work have held before it says more
	// of an agent CLI that starts than its screen does.
	lapseAfter = 3 * time.Second
	// disagreeAfter is how long they must disagree before it is told of.
	disagreeAfter = time.Second
	// forgiveAfter is how long after such a lapse a claim counts again, unless the
	// screen agrees with it before: long enough for an arm to be used between two
	// forged words.
	forgiveAfter = 10 * time.Second
)

// voice is the last word of one witness beside the screen: of the program
// itself by an escape sequence, or of its hook. It can make a reading more
// cautious, never less, because anything that prints can forge it; and what the
// screen contradicts lapses, or one word would hold an arm for ever.
type voice struct {
	name    string
	word    string
	detail  string
	claim   coleo.State // what the word adds to a screen's verdict; "" nothing
	weak    bool        // it proves nothing but caution
	at      time.Time   // of the word
	since   time.Time   // of the claim
	lapsed  bool
	refuted time.Time // when the screen made it lapse
	doubt   time.Time // since when the screen has contradicted its claims
	silent  time.Time // since when it has claimed nothing; zero: it claims
	told    bool      // of the disagreement
}

// say takes a word. A claim that is repeated, or given up for a moment, while
// the screen contradicts it is the same claim: it does not gain time so.
func (v *voice) say(word, detail string, claim coleo.State, now time.Time) {
	switch {
	case claim == "" && v.claim != "":
		v.silent = now
	case claim != "" && v.forgiven(now):
		v.doubt = time.Time{}
	}
	if claim != v.claim {
		v.since = now
	}
	v.word, v.detail, v.claim, v.at = brief(word), brief(detail), claim, now
	if v.doubt.IsZero() {
		v.lapsed, v.told = false, false
	}
}

// maxWord bounds what is kept of a word, in characters: it is for people.
const maxWord = 120

// brief is a text in one line that does nothing to the terminal it is shown on.
func brief(text string) string {
	return firstRunes(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text), maxWord)
}

// forgiven tells whether what the screen contradicted is so long ago that a
// claim is a new one.
func (v *voice) forgiven(now time.Time) bool {
	if v.lapsed && !v.refuted.IsZero() {
		return now.Sub(v.refuted) >= forgiveAfter
	}
	return v.claim == "" && now.Sub(v.silent) >= lapseAfter
}

func (v *voice) seen() bool { return v.word != "" }

// state is what the voice adds to a screen's verdict; "" when it adds nothing.
func (v *voice) state() coleo.State {
	if v.lapsed {
		return ""
	}
	return v.claim
}

func (v *voice) rule() string { return v.name + " " + v.word }

func (v *voice) witness() coleo.Witness {
	return coleo.Witness{Name: v.name, State: v.claim, Rule: v.word, Detail: v.detail, Time: v.at, Lapsed: v.lapsed}
}

// lapse takes the word's weight away: an interrupt or a denial ends what it
// spoke of, whether the program says so or not.
func (v *voice) lapse() {
	if v.claim != "" {
		v.lapsed, v.doubt, v.refuted = true, time.Time{}, time.Time{}
	}
}

// contradicted tells whether the screen shows that a claim is wrong: work on an
// idle screen, a question without a dialog.
func (v *voice) contradicted(screen coleo.State) bool {
	if v.claim == coleo.WaitingApproval {
		return screen != "" && screen != coleo.WaitingApproval
	}
	return v.claim != "" && (screen == coleo.Idle || screen == coleo.Failed)
}

// disagreement says how a claim and the screen differ.
func (v *voice) disagreement(screen coleo.State) string {
	return fmt.Sprintf("%s says %s while the screen reads %s", v.name, v.word, screen)
}

// weigh lets a claim lapse that the screen has contradicted for long. It
// returns what there is to tell, and when to weigh again.
func (v *voice) weigh(screen coleo.State, now time.Time) (kind coleo.ChangeKind, note string, again time.Duration) {
	if v.claim == "" || screen == "" {
		return "", "", idleLook
	}
	if !v.contradicted(screen) {
		v.doubt, v.refuted, v.told = time.Time{}, time.Time{}, false
		return "", "", idleLook
	}
	if v.lapsed {
		return "", "", idleLook
	}
	if v.doubt.IsZero() {
		v.doubt = now
	}
	said := fmt.Sprintf("%s said %s while the screen read %s", v.name, v.word, screen)
	held := now.Sub(v.doubt)
	switch {
	case held >= lapseAfter:
		v.lapsed, v.refuted = true, now
		return coleo.ChangeLapse, said, idleLook
	case held >= disagreeAfter && !v.told:
		v.told = true
		return coleo.ChangeDisagreement, said, lapseAfter - held
	case !v.told:
		return "", "", disagreeAfter - held
	}
	return "", "", lapseAfter - held
}

// early tells for how much longer a claim of work says nothing of an agent CLI
// that starts. Some say "working" for a moment before they are ready, and
// nothing is typed into one that starts anyway; so only a claim that holds, or
// that the screen shares, makes it a working one.
func (v *voice) early(now time.Time) time.Duration {
	if !v.state().Working() {
		return 0
	}
	return max(0, lapseAfter-now.Sub(v.since))
}
