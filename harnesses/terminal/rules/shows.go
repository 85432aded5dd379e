package rules

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Holds reports whether the composer ends with the last characters of the given text, or shows a note
// in place of a long pasted text.
func (p *Picture) Holds(text string) bool {
	if p.Composer == nil {
		return false
	}
	return p.Folded() || p.spec.endsLike(p.Composer.Text, text)
}

// Joined reports whether the composer contains the given text and other text before it.
func (p *Picture) Joined(text string) bool {
	if p.Composer == nil || p.Folded() || !p.Holds(text) {
		return false
	}
	shown := p.Composer.Text
	if p.spec.Tab != "" && strings.Contains(text, "\t") {
		shown = strings.ReplaceAll(shown, p.spec.Tab, "")
	}
	return utf8.RuneCountInString(squeeze(shown)) > utf8.RuneCountInString(squeeze(text))
}

// Folded reports whether the composer shows a note in place of a large paste.
func (p *Picture) Folded() bool { return p.Composer != nil && p.spec.isFolded(p.Composer.Text) }

// isFolded reports whether the given text of the composer is a note in place of a large paste.
func (c *Composer) isFolded(shown string) bool { return c.held != nil && c.held.MatchString(shown) }

// endsLike reports whether the shown text has the same end as the wanted text.
func (c *Composer) endsLike(shown, text string) bool {
	if c.Tab != "" && strings.Contains(text, "\t") {
		shown = strings.ReplaceAll(shown, c.Tab, "")
	}
	tail := squeezedEnd(text, tailRunes)
	whole := (strings.HasSuffix(squeezedEnd(shown, tailRunes), tail) || endsComposed(shown, text)) &&
		(tail != "" || shown != "")
	return whole || c.garblesTabs(text) && beginsLike(shown, text) && endsBelow(shown, text)
}

// endsComposed reports whether the shown text and the wanted text have the same end. It accepts any
// letter where the wanted text has a letter with combining marks, because the screen may show one
// character there. For example, Claude Code 2.1.329 shows the letter e and a combining accent as the
// one character é.
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

// garblesTabs reports whether the agent CLI may show a text in another order. That is possible if the
// text has tabs and the agent CLI draws rows over each other after a tab.
func (c *Composer) garblesTabs(text string) bool { return c.TabGarbles && strings.Contains(text, "\t") }

// tabOver is the number of columns by which a drawn tab is wider than the agent CLI has counted.
// Because of the difference, text can run over the edge of a row. The agent CLI then draws the next row
// over this text.
const tabOver = 3

// endsBelow reports whether the last shown row can be the end of `text`, which has tabs. The agent CLI draws
// tabs wider than it has counted, so text can run over the edge of a row. This has two effects, and endsBelow
// allows for both:
//
//   - Text from the row above ran over into the last row. The agent CLI draws the last row later, so
//     the last row begins with its own words. Behind these words, a rest of the text from above can be
//     left.
//   - Text of the last row itself ran over the edge and is lost: at most one word, and in addition
//     tabOver columns for each tab in that row.
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

// beginsLike reports whether the shown text has the same beginning as the wanted text.
func beginsLike(shown, text string) bool {
	head := firstRunes(squeeze(text), tailRunes)
	return head != "" && strings.HasPrefix(squeeze(shown), head)
}

// columns returns the width of a text in columns. A tab counts as one column and tabOver further
// columns.
func columns(text string) int {
	return utf8.RuneCountInString(text) + tabOver*strings.Count(text, "\t")
}

// behindSqueezed returns the rest of a text after the beginning that squeeze shortens to n bytes. For
// example, the rest of "a b c" for n = 2 is " c".
func behindSqueezed(text string, n int) string {
	for i, r := range text {
		if n <= 0 {
			return text[i:]
		}
		n -= len(squeeze(string(r)))
	}
	return ""
}

// Overflows reports whether the screen shows the end of the given text right before the cursor. It is
// for a composer that is taller than the screen, so that its edges are out of sight.
func (p *Picture) Overflows(text string) bool {
	c, y, text := p.spec, p.Screen.Cursor[1], squeezedEnd(text, tailRunes)
	if !c.Tall || p.Composer != nil || !p.Screen.CursorVisible || y < 0 || y >= len(p.rows) ||
		len([]rune(text)) < tailRunes {
		return false
	}
	return c.endsLike(strings.Join(p.rows[:y+1], "\n"), text)
}

// Released reports whether the picture shows a composer that does not contain the given text.
func (p *Picture) Released(text string) bool {
	if p.Composer == nil {
		return false
	}
	c := p.spec
	left := c.endsLike(p.Composer.Text, text) || c.garblesTabs(text) && beginsLike(p.Composer.Text, text) ||
		c.isFolded(p.Composer.Text)
	return p.Composer.Empty || !left
}

// OtherText returns the text in the composer that the caller has not typed, or "" if there is none. The
// parameter `typed` lists all texts that the caller has typed. The parameter `standing` lists texts of which
// the composer is known to contain one. If the composer's text ends with a text in `standing`, OtherText cuts
// off that end. It cuts off nothing else, so that no word of another person is lost.
func (p *Picture) OtherText(typed, standing []string) string {
	if p.Composer == nil || p.Composer.Empty {
		return ""
	}
	shown := p.Composer.Text
	squeezed := squeeze(shown)
	rest := squeezed
	for _, text := range typed {
		if p.spec.endsLike(shown, text) && utf8.RuneCountInString(squeezed) <= utf8.RuneCountInString(squeeze(text)) {
			return ""
		}
		rest = strings.ReplaceAll(rest, squeeze(text), "")
	}
	if rest == "" {
		return ""
	}
	for _, text := range standing {
		if text = squeeze(text); text != "" && strings.HasSuffix(squeezed, text) {
			end := behindSqueezed(shown, len(squeezed)-len(text))
			return strings.TrimSpace(strings.TrimSuffix(shown, end))
		}
	}
	return shown
}

// BeforeFold returns the text of the composer before the note that it shows in place of a large paste.
// The picture must show such a note.
func (p *Picture) BeforeFold() string {
	at := p.spec.held.FindStringIndex(p.Composer.Text)
	return strings.TrimSpace(strings.TrimSuffix(p.Composer.Text[:at[0]], "["))
}

// BeginsWith reports whether a text has the given beginning. It ignores blanks.
func BeginsWith(text, beginning string) bool {
	return strings.HasPrefix(squeeze(text), squeeze(beginning))
}
