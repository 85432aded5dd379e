package reading

import (
	"strings"
	"time"
	"unicode"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// reflowWithin is how long an agent CLI may take to draw a dialog again after the terminal has changed its
// size. During this time, a dialog with the same text but other line breaks counts as the same dialog. Gemini
// CLI 0.61.0 takes 0.1 s, but seconds on a loaded machine. A redraw takes even longer, because it sets two
// sizes one after the other.
const reflowWithin = 30 * time.Second

// earlier describes a dialog that has left the screen, but that the agent CLI may draw again. For example,
// the terminal has changed its size, or the agent CLI has hidden a question for a while.
type earlier struct {
	at          time.Time // when the size changed, or when the question was hidden
	text, title string    // as in appearances
	words       string    // the text of the dialog, as wordsOf returns it
	since       time.Time
	n           int
	list        optionList
}

// noteSize records the size of a picture with a dialog. If the size has changed since the last picture with a
// dialog, noteSize stores the present dialog in `before`, because the agent CLI may draw it again with other
// line breaks. After keys that may have answered the dialog, noteSize does not store it.
func (a *appearances) noteSize(s *coleo.Screen, now time.Time) {
	size := [2]int{s.Cols, s.Rows}
	if size != a.size && a.text != "" && a.words != "" && !a.keysTyped && a.before == nil {
		a.before = &earlier{at: now, text: a.text, title: a.title, words: a.words, since: a.since, n: a.n, list: a.list}
	}
	a.size = size
}

// resumeReflowed reports whether a picture shows the dialog from before the last change of the size, only
// with other line breaks. If it does, the dialog keeps its fingerprint. resumeReflowed returns false if the
// subject is cut off, because the hidden part may differ.
func (a *appearances) resumeReflowed(v *rules.Verdict, now time.Time) bool {
	b := a.before
	if b == nil || a.hiddenSinceKeys || now.Sub(b.at) > reflowWithin || wordsOf(v) != b.words {
		return false
	}
	a.text, a.title, a.since, a.n, a.list, a.words = b.text, b.title, b.since, b.n, b.list, b.words
	a.list.about, a.doubtful = hashOf(v, nil), false
	return true
}

// hiddenWithin is how long an agent CLI may take to draw a whole question again. Gemini CLI draws
// the whole question after each key, which takes seconds on a loaded machine.
const hiddenWithin = 10 * time.Second

// notePart stores the question on the screen if the new picture may show only a part of it. This can be the
// case if the agent CLI redraws dialogs of this kind, and the new dialog has the same title. In any other
// case, notePart forgets the stored question.
func (a *appearances) notePart(v *rules.Verdict, now time.Time) {
	switch {
	case !v.Dialog.Kind.Redrawn() || v.Dialog.Title != a.title:
		a.hiddenQuestion = nil
	case a.hiddenQuestion == nil:
		a.hiddenQuestion = a.openQuestion(now)
	}
}

// openQuestion returns the question on the screen. It returns nil if there is none, or if keys were typed
// that may have answered it.
func (a *appearances) openQuestion(now time.Time) *earlier {
	if a.text == "" || a.keysTyped || a.hiddenSinceKeys || !a.kind.Redrawn() {
		return nil
	}
	return &earlier{at: now, text: a.text, title: a.title, words: a.words, since: a.since, n: a.n, list: a.list}
}

// resumeHidden reports whether a picture shows the stored question again, which was hidden or drawn in parts.
// The picture must show the whole question, or a page of its list of options. If it does, the question keeps
// its fingerprint, even if a picture in between looked like another state.
//
// resumeHidden returns false after a key that may have answered the question. It also returns false for an
// approval, because an agent CLI can ask about the same command twice.
func (a *appearances) resumeHidden(v *rules.Verdict, text string, now time.Time) bool {
	b := a.hiddenQuestion
	if b == nil || a.keysTyped || a.hiddenSinceKeys || now.Sub(b.at) > hiddenWithin ||
		text != b.text && (b.title != v.Dialog.Title || !b.list.takePage(v)) {
		return false
	}
	a.text, a.title, a.since, a.n, a.list, a.words = b.text, b.title, b.since, b.n, b.list, b.words
	a.kind, a.hiddenQuestion, a.doubtful = v.Dialog.Kind, nil, false
	return true
}

// wordsOf returns the texts that identify a dialog (kind, title, subject and options), without blanks and
// line ends. It returns "" if the subject is cut off, or if the title or the options are missing.
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
