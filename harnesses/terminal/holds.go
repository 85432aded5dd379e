package terminal

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// holds tells whether the composer shows the end of a text, or the note that
// stands for a large paste.
func (f *frame) holds(text string, c *Composer) bool {
	if f.composer == nil {
		return false
	}
	return c.folds(f.composer.text) || c.endsLike(f.composer.text, text)
}

// folds tells whether what is shown is the note that stands for a large paste.
func (c *Composer) folds(shown string) bool { return c.held != nil && c.held.MatchString(shown) }

// endsLike tells whether what is shown ends as a text does.
func (c *Composer) endsLike(shown, text string) bool {
	if c.Tab != "" && strings.Contains(text, "\t") {
		shown = strings.ReplaceAll(shown, c.Tab, "")
	}
	tail := squeezedEnd(text, tailRunes)
	whole := (strings.HasSuffix(squeezedEnd(shown, tailRunes), tail) || endsComposed(shown, text)) && (tail != "" || shown != "")
	return whole || c.garbles(text) && beginsLike(shown, text) && endsBelow(shown, text)
}

// anyLetter stands for a letter with marks, in what is looked for.
const anyLetter = '\uffff'

// endsComposed tells whether what is shown ends as a text does whose letters with
// marks behind them may be shown as one: Claude Code 2.1.329 makes é of e and its
// accent. Which letter it became is not asked.
func endsComposed(shown, text string) bool {
	var all []rune
	for _, r := range text[endOf(text, tailRunes+1):] {
		switch {
		case unicode.Is(unicode.Mn, r) && len(all) > 0:
			all[len(all)-1] = anyLetter
		case squeeze(string(r)) != "":
			all = append(all, r)
		}
	}
	want, have := all[max(0, len(all)-tailRunes):], []rune(squeezedEnd(shown, tailRunes))
	if len(have) < len(want) {
		return false
	}
	return slices.EqualFunc(want, have[len(have)-len(want):], func(w, h rune) bool {
		return w == h || w == anyLetter && unicode.IsLetter(h)
	})
}

// garbles tells whether a text may be shown in another order than its own.
func (c *Composer) garbles(text string) bool { return c.TabGarbles && strings.Contains(text, "\t") }

// tabOver is how many columns wider a tab is drawn than it was counted: what is
// drawn that far beyond the edge is drawn over.
const tabOver = 3

// endsBelow tells whether the last row that is shown is where a text ends that is
// drawn with tabs wider than they were counted. That row is drawn last: it begins
// with the words that it was meant to hold, before what has run over from the one
// above. Of its own end, what runs over is lost: a word, and all behind it.
func endsBelow(shown, text string) bool {
	last := squeeze(shown[strings.LastIndexByte(shown, '\n')+1:])
	if last == "" {
		return false
	}
	if i := strings.LastIndex(squeeze(text), last); i >= 0 {
		row, lost := behindSqueezed(text, i), behindSqueezed(text, i+len(last))
		if _, over, _ := strings.Cut(strings.TrimSpace(lost), " "); columns(over) <= tabOver*strings.Count(row, "\t") {
			return true
		}
	}
	words := strings.Fields(text)
	end := ""
	for i := len(words) - 1; i >= 0 && len(end) <= len(last); i-- {
		if end = squeeze(words[i]) + end; end != "" && strings.HasPrefix(last, end) {
			return true
		}
	}
	return false
}

// beginsLike tells whether what is shown begins as a text does.
func beginsLike(shown, text string) bool {
	head := firstRunes(squeeze(text), tailRunes)
	return head != "" && strings.HasPrefix(squeeze(shown), head)
}

// columns is how many a text takes that is drawn with tabs as blanks.
func columns(text string) int {
	return utf8.RuneCountInString(text) + tabOver*strings.Count(text, "\t")
}

// behindSqueezed returns what of a text is behind the first n bytes that squeeze
// leaves of it.
func behindSqueezed(text string, n int) string {
	for i, r := range text {
		if n <= 0 {
			return text[i:]
		}
		n -= len(squeeze(string(r)))
	}
	return ""
}

// overflows tells whether a composer that is taller than the screen shows the
// end of a long text right before the cursor: its edges are out of sight then.
func (f *frame) overflows(text string, c *Composer) bool {
	y, text := f.screen.Cursor[1], squeezedEnd(text, tailRunes)
	if !c.Tall || f.composer != nil || !f.screen.CursorVisible || y < 0 || y >= len(f.rows) || len([]rune(text)) < tailRunes {
		return false
	}
	return c.endsLike(strings.Join(f.rows[:y+1], "\n"), text)
}

// lets tells whether the composer is there and no longer holds the text.
func (f *frame) lets(text string, c *Composer) bool {
	if f.composer == nil {
		return false
	}
	left := c.endsLike(f.composer.text, text) || c.garbles(text) && beginsLike(f.composer.text, text) || c.folds(f.composer.text)
	return f.composer.empty || !left
}

// squeeze drops all blanks: where a screen breaks a line is its own affair. It
// drops marks, joiners and pictures too: how wide those are is much disputed, and
// some agent CLIs paint over the ones that they think narrower than they are.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.So) {
			return -1
		}
		return r
	}, s)
}

// squeezedEnd is the last n runes that squeeze leaves of a text. It looks at no more
// of the text than at those: a prompt may be long, and each picture is compared.
func squeezedEnd(s string, n int) string { return squeeze(s[endOf(s, n):]) }

// endOf returns where the last n runes begin that squeeze leaves of a text.
func endOf(s string, n int) int {
	at := len(s)
	for at > 0 && n > 0 {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
		n -= len([]rune(squeeze(s[at : at+size])))
	}
	return at
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

func lastRunes(s string, n int) string {
	at := len(s)
	for ; at > 0 && n > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}
