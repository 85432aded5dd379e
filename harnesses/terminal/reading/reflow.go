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
// same appearance. Gemini CLI 0.61.0 takes 0.1 s, and seconds on a loaded machine. A
// redraw may take redrawEnd, and its second size comes behind its first.
const reflowWithin = 30 * time.Second

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

// partedWithin is how long an agent CLI may take to draw a question whole again. Gemini CLI
// draws all of it after each key, and seconds pass on a loaded machine until all of it has
// arrived.
const partedWithin = 10 * time.Second

// part keeps a question if a picture with the same title and other options replaces it. The
// picture may be a part of the same question.
func (a *appearances) part(v *rules.Verdict, now time.Time) {
	switch {
	case v.Dialog.Kind != coleo.DialogQuestion || v.Dialog.Title != a.title:
		a.parted = nil
	case a.parted == nil:
		a.parted = a.unanswered(now)
	}
}

// unanswered returns the question on the screen, or nil if there is none, or if keys that
// may have answered it were typed.
func (a *appearances) unanswered(now time.Time) *earlier {
	if a.text == "" || a.keysTyped || a.hiddenSinceKeys || a.kind != coleo.DialogQuestion {
		return nil
	}
	return &earlier{at: now, text: a.text, title: a.title, words: a.words, since: a.since, n: a.n, list: a.list}
}

// rejoined reports whether a picture shows the whole of a question that was drawn in parts,
// or a page of its list. If so, its appearance continues. Between the parts, what is left of
// the picture may look like another state. No key that may have answered the question was
// typed since. An approval never continues: the same command may be asked for twice.
func (a *appearances) rejoined(v *rules.Verdict, text string, now time.Time) bool {
	b := a.parted
	if b == nil || a.keysTyped || a.hiddenSinceKeys || now.Sub(b.at) > partedWithin ||
		text != b.text && (b.title != v.Dialog.Title || !b.list.takePage(v)) {
		return false
	}
	a.text, a.title, a.since, a.n, a.list, a.words = b.text, b.title, b.since, b.n, b.list, b.words
	a.kind, a.parted, a.doubtful = coleo.DialogQuestion, nil, false
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
