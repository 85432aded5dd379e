package reading

import (
	"strings"
	"time"
	"unicode"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// reflowWithin is how long an agent CLI may take to draw a dialog anew after the
// terminal got another size. In this time the same text with other line ends is the
// same appearance.
const reflowWithin = 3 * time.Second

// earlier is an appearance from before the terminal got another size.
type earlier struct {
	at          time.Time // when a picture with the other size was first seen
	text, title string    // as in appearances
	words       string    // the identity without blanks; see wordsOf
	since       time.Time
	n           int
	list        optionList
}

// noteSize notes the size of a picture with a dialog. If the size differs from that of
// the last picture, the present appearance becomes the earlier one. It does not after a
// key that may have answered the dialog.
func (a *appearances) noteSize(s *coleo.Screen, now time.Time) {
	size := [2]int{s.Cols, s.Rows}
	if size != a.size && a.text != "" && a.words != "" && !a.keysTyped && a.before == nil {
		a.before = &earlier{at: now, text: a.text, title: a.title, words: a.words, since: a.since, n: a.n, list: a.list}
	}
	a.size = size
}

// reflowed reports whether a picture shows the earlier appearance with other line ends.
// If so, that appearance continues. A subject that is cut off never counts: the hidden
// part may differ.
func (a *appearances) reflowed(v *rules.Verdict, now time.Time) bool {
	b := a.before
	if b == nil || a.hiddenSinceKeys || now.Sub(b.at) > reflowWithin || wordsOf(v) != b.words {
		return false
	}
	a.text, a.title, a.since, a.n, a.list, a.words = b.text, b.title, b.since, b.n, b.list, b.words
	a.list.about, a.doubtful = hashOf(v, nil), false
	return true
}

// wordsOf returns the identity of a dialog without its blanks and line ends. It returns
// "" if the subject is cut off.
func wordsOf(v *rules.Verdict) string {
	d := v.Dialog
	if d.Truncated || v.Partial {
		return ""
	}
	parts := append([]string{string(d.Kind), d.Title, d.Subject}, d.Options...)
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.Join(parts, "\x00"))
}
