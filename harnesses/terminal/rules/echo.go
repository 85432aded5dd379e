package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// markup holds the characters of a prompt that a transcript may leave out. Claude Code
// 2.1.329 draws `code` without the backquotes.
const markup = "`*_~"

// Echoes reports whether the transcript above the composer shows the beginning or the
// end of text. The end counts because the beginning of a long text may have scrolled
// away.
func (p *Picture) Echoes(text string) bool {
	if p.Composer == nil {
		return false
	}
	return CountEchoes(p.Above(), text) > 0 || occurrences(p.Above(), text, lastRunes) > 0
}

// CountEchoes returns how many times rows show the beginning of the first line of
// prompt.
func CountEchoes(rows []string, prompt string) int {
	line, _, _ := strings.Cut(strings.TrimLeft(prompt, " \t\n"), "\n")
	return occurrences(rows, line, firstRunes)
}

// Above returns the rows above the composer, or all rows if there is no composer.
func (p *Picture) Above() []string {
	if p.Composer == nil {
		return p.rows
	}
	return p.rows[:p.Composer.top]
}

// occurrences returns how many times rows show a piece of text. The function cut
// chooses the piece. Line breaks, blanks and markup do not count. If text consists only
// of emoji, the emoji must be in the rows.
func occurrences(rows []string, text string, cut func(string, int) string) int {
	for _, bare := range []func(string) string{unmarked, unspaced} {
		if piece := edge(text, bare, cut); piece != "" {
			return strings.Count(bare(strings.Join(rows, "")), piece)
		}
	}
	return 0
}

// edge applies bare to text. It returns the piece that cut takes from the beginning or
// the end of the result. To save time with a long text, edge first applies bare only to
// a short part of the text. If that part gives too short a piece, edge tries a part
// that is eight times as long.
func edge(text string, bare func(string) string, cut func(string, int) string) string {
	for size := 8 * tailRunes; size < len(text); size *= 8 {
		if piece := cut(bare(cut(text, size)), tailRunes); utf8.RuneCountInString(piece) == tailRunes {
			return piece
		}
	}
	return cut(bare(text), tailRunes)
}

func unmarked(s string) string {
	return without(squeeze(s), func(r rune) bool { return strings.ContainsRune(markup, r) })
}

func unspaced(s string) string { return without(s, unicode.IsSpace) }

// without removes from s the runes for which such returns true.
func without(s string, such func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if such(r) {
			return -1
		}
		return r
	}, s)
}
