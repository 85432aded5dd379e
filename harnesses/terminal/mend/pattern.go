package mend

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a piece of a pattern.
type tokenKind string

const (
	literal tokenKind = "literal" // one character of text
	class   tokenKind = "class"   // [...]
	escape  tokenKind = "escape"  // an escape such as \d, or a dot
	anchor  tokenKind = "anchor"  // ^ and $
	other   tokenKind = "other"   // a group, or |
)

// token is one piece of a pattern.
type token struct {
	kind       tokenKind
	text       string // the character, if the token is a literal
	start, end int    // offsets in the pattern, without a repetition such as *
	repeat     int    // offset of the end of the repetition; the same as `end` without a repetition
	depth      int    // number of groups around the token
}

var (
	groupHead  = regexp.MustCompile(`^\((\?(P<\w+>|[a-zA-Z]*:|[a-zA-Z-]+\)))?`)
	repetition = regexp.MustCompile(`^([*+?]|\{\d+(,\d*)?\})\??`)
	charClass  = regexp.MustCompile(`^\[\^?\]?(\[:\w+:\]|\\.|[^\]\\])*\]`)
)

// tokens divides a pattern into its pieces.
func tokens(pattern string) []token {
	var out []token
	for at, depth := 0, 0; at < len(pattern); {
		rest := pattern[at:]
		t := token{kind: other, start: at, depth: depth}
		size := 1
		switch c := pattern[at]; c {
		case '(':
			head := groupHead.FindString(rest)
			if size = len(head); !strings.HasSuffix(head, ")") {
				depth++
			}
		case ')':
			depth--
		case '|':
		case '^', '$':
			t.kind = anchor
		case '.':
			t.kind = escape
		case '[':
			t.kind, size = class, max(1, len(charClass.FindString(rest)))
		case '\\':
			_, n := utf8.DecodeRuneInString(rest[1:])
			t.kind, size = escape, 1+n
			if ch := rest[1 : 1+n]; ch == "n" || !unicode.IsLetter(rune(ch[0])) && !unicode.IsDigit(rune(ch[0])) {
				t.kind, t.text = literal, strings.Replace(ch, "n", "\n", 1)
			}
		default:
			_, size = utf8.DecodeRuneInString(rest)
			t.kind, t.text = literal, rest[:size]
		}
		t.end = at + size
		t.repeat = t.end
		if t.kind != anchor && (t.kind != other || pattern[at] == ')') {
			t.repeat += len(repetition.FindString(pattern[t.end:]))
		}
		out = append(out, t)
		at = t.repeat
	}
	return out
}

// plain reports whether a token matches exactly one literal character, and this character is not a
// line end.
func (t token) plain() bool { return t.kind == literal && t.text != "\n" && t.repeat == t.end }

// gap is a piece of a pattern that may be wrong.
type gap struct {
	start, end int    // offsets in the pattern
	text       string // the literal text of the piece
	kind       gapKind
}

// gapKind is the kind of text that can fill a gap, a piece of a pattern that may be wrong.
type gapKind string

const (
	gapRun   gapKind = "words"  // one word or several
	gapWord  gapKind = "word"   // one word
	gapGlyph gapKind = "glyph"  // one character
	gapClass gapKind = "class"  // a character that a class such as [ab] lacks
	gapNew   gapKind = "insert" // a word that the pattern lacks
)

// replaceablePieces returns the pieces of a pattern that may be wrong because a new version of the
// agent CLI shows another text there.
func replaceablePieces(pattern string) []gap {
	all := tokens(pattern)
	var out []gap
	add := func(from, to int, kind gapKind) {
		g := gap{start: all[from].start, end: all[to-1].end, kind: kind}
		for _, t := range all[from:to] {
			g.text += t.text
		}
		if !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	for i := 0; i < len(all); {
		t := all[i]
		switch {
		case t.kind == class:
			add(i, i+1, gapClass)
		case t.kind == literal && !t.plain() && t.text != "\n" && t.text != " ":
			add(i, i+1, gapGlyph)
		}
		end := i
		for end < len(all) && all[end].plain() {
			end++
		}
		if end > i {
			addRun(all, i, end, add)
		}
		i = max(end, i+1)
	}
	return append(out, insertGaps(all)...)
}

// addRun adds the gaps in a run of literal characters: each word, each symbol, and the whole run. A gap
// is a piece of the pattern that may be wrong.
func addRun(all []token, from, end int, add func(from, to int, kind gapKind)) {
	word := from
	for i := from; i <= end; i++ {
		if i < end && all[i].text != " " {
			if r, _ := utf8.DecodeRuneInString(all[i].text); !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				add(i, i+1, gapGlyph)
			}
			continue
		}
		if i > word {
			add(word, i, gapWord)
		}
		word = i + 1
	}
	first, last := from, end
	for first < last && all[first].text == " " {
		first++
	}
	for last > first && all[last-1].text == " " {
		last--
	}
	if last-first > 1 {
		add(first, last, gapRun)
	}
	if last-first == 1 {
		add(first, last, gapGlyph)
	}
}

// insertGaps returns an empty gap before each word that follows a blank, because the pattern may lack a
// word there.
func insertGaps(all []token) []gap {
	var out []gap
	for i, t := range all {
		if t.plain() && t.text != " " && i > 0 && all[i-1].text == " " {
			out = append(out, gap{start: t.start, end: t.start, kind: gapNew})
		}
	}
	return out
}

// holes are the patterns that match the text in a gap.
var holes = map[gapKind][]string{
	gapRun:   {`\S+(?: \S+){0,7}?`},
	gapWord:  {`[^\s]+`},
	gapGlyph: {`[^\s]`},
	gapClass: {`[^\s]`},
	gapNew:   {`(?:\S+ ){1,3}`},
}

// findIn returns the texts that could fill the gap of a pattern. To find them, it matches `text` with a
// copy of the pattern that accepts any text in the gap. The parameter `limit` is the largest number of
// results.
func (g gap) findIn(pattern, text string, limit int) []string {
	var out []string
	for _, hole := range holes[g.kind] {
		re, err := regexp.Compile(pattern[:g.start] + `(?P<gap>` + hole + `)` + pattern[g.end:])
		if err != nil {
			continue
		}
		at := re.SubexpIndex("gap")
		for _, m := range re.FindAllStringSubmatch(text, limit) {
			if found := m[at]; found != "" && found != g.text && !slices.Contains(out, found) {
				out = append(out, found)
			}
		}
	}
	return out
}

// fillWith returns copies of the pattern with the found texts in the gap. The first copy accepts the
// found texts instead of the old text, and the second copy accepts the old text too. For a gap in a
// character class, fillWith returns only one copy.
func (g gap) fillWith(pattern string, found []string) []string {
	before, old, after := pattern[:g.start], pattern[g.start:g.end], pattern[g.end:]
	if g.kind == gapClass {
		return []string{before + widenClass(old, found) + after}
	}
	var quoted []string
	for _, f := range found {
		quoted = append(quoted, quoteText(f))
	}
	one, both := strings.Join(quoted, "|"), strings.Join(append([]string{old}, quoted...), "|")
	if len(found) > 1 {
		one = "(?:" + one + ")"
	}
	switch g.kind {
	case gapNew:
		return []string{before + one + after, before + "(?:" + one + ")?" + after}
	case gapGlyph:
		return []string{before + widenClass("[]", found) + after, before + widenClass("["+old+"]", found) + after}
	default:
		return []string{before + one + after, before + "(?:" + both + ")" + after}
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

// quoteText returns a pattern for a text. The pattern accepts any number in place of each number.
func quoteText(text string) string { return digits.ReplaceAllString(regexp.QuoteMeta(text), `\d+`) }

// classText escapes a character for use in a character class of a pattern.
func classText(char string) string {
	if strings.ContainsAny(char, `\]^-[`) {
		return `\` + char
	}
	return char
}

// braille is the range of braille characters as written in a character class. widenClass adds the
// whole range to a class if at least three of the characters were found, because many programs show
// them as an animation.
const braille = `⠁-⣿`

func notBraille(char string) bool { return char < "⠁" || char > "⣿" }

// widenClass adds the found characters to a character class. If the result has only one character,
// widenClass returns a pattern for that character instead of a class.
func widenClass(old string, found []string) string {
	body := strings.TrimSuffix(strings.TrimPrefix(old, "["), "]")
	if n := slices.IndexFunc(found, notBraille); n != 0 && len(found) > 2 && (n < 0 || n > 2) {
		body, found = body+braille, slices.DeleteFunc(slices.Clone(found), func(s string) bool { return !notBraille(s) })
	}
	for _, f := range found {
		if strings.HasPrefix(body, "^") {
			body = strings.Replace(body, f, "", 1)
		} else if !strings.Contains(body, f) {
			body += classText(f)
		}
	}
	if r, n := utf8.DecodeRuneInString(body); n == len(body) && r != utf8.RuneError {
		return regexp.QuoteMeta(body)
	}
	return "[" + body + "]"
}

// swappedParts returns copies of the pattern in which two parts have changed places.
func swappedParts(pattern string) []string {
	all := tokens(pattern)
	var out []string
	swap := func(a, b, c, d int) { // swaps the parts from a to b and from c to d
		next := pattern[:a] + pattern[c:d] + pattern[b:c] + pattern[a:b] + pattern[d:]
		if _, err := regexp.Compile(next); err == nil && next != pattern && !slices.Contains(out, next) {
			out = append(out, next)
		}
	}
	for i, t := range all {
		wide := t.text == "\n" || t.kind == escape && pattern[t.start] == '.' || t.kind == class && t.repeat > t.end
		if !wide && (t.text != " " || !t.plain()) {
			continue
		}
		a, d := i, i+1
		stop := func(k token) bool {
			if k.depth != t.depth || k.kind == anchor || k.kind == other {
				return true
			}
			if t.text == " " {
				return k.text == " " || k.kind != literal
			}
			return t.text == "\n" && k.text == "\n"
		}
		for a > 0 && !stop(all[a-1]) {
			a--
		}
		for d < len(all) && !stop(all[d]) {
			d++
		}
		if a < i && d > i+1 {
			swap(all[a].start, t.start, t.repeat, all[d-1].repeat)
		}
	}
	return out
}

// looserPatterns returns copies of the pattern that match more texts. Each copy lacks one anchor or
// one word, accepts any number of blanks in one place, or matches row by row.
func looserPatterns(pattern string) []string {
	all := tokens(pattern)
	var out []string
	cut := func(from, to int, instead string) {
		next := pattern[:from] + instead + pattern[to:]
		if _, err := regexp.Compile(next); err == nil && next != "" {
			out = append(out, next)
		}
	}
	for i, t := range all {
		switch {
		case t.kind == anchor:
			cut(t.start, t.repeat, "")
		case t.plain() && t.text == " " && (i == 0 || all[i-1].text != " "):
			end := i
			for end < len(all) && all[end].plain() && all[end].text == " " {
				end++
			}
			cut(t.start, all[end-1].end, " *")
		}
	}
	for _, g := range replaceablePieces(pattern) {
		if g.kind == gapWord && g.end < len(pattern) && pattern[g.end] == ' ' {
			cut(g.start, g.end+1, "")
		}
	}
	if !strings.HasPrefix(pattern, "(?") {
		out = append(out, "(?m)"+pattern)
	}
	return out
}

// matchesAll reports whether a pattern matches every text.
func matchesAll(pattern string) bool {
	re, err := regexp.Compile(pattern)
	return err != nil || re.MatchString("") && re.MatchString("\x01") && re.MatchString("q\nq z")
}
