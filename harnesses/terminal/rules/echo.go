package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// markup is what a transcript may leave out of a prompt: Claude Code 2.1.329 draws `code`
// without the backquotes.
const markup = "`*_~"

// Echoes reports whether the transcript above the composer shows how the text begins or
// how it ends. The beginning of a long text has scrolled away.
func (p *Picture) Echoes(text string) bool {
	if p.Composer == nil {
		return false
	}
	return CountEchoes(p.Above(), text) > 0 || occurrences(p.Above(), text, lastRunes) > 0
}

// CountEchoes returns how often rows show how a prompt begins.
func CountEchoes(rows []string, prompt string) int {
	line, _, _ := strings.Cut(strings.TrimLeft(prompt, " \t\n"), "\n")
	return occurrences(rows, line, firstRunes)
}

// Above returns the rows above the composer, or all rows where there is no composer.
func (p *Picture) Above() []string {
	if p.Composer == nil {
		return p.rows
	}
	return p.rows[:p.Composer.top]
}

// occurrences returns how often rows show a piece of a text: the piece that cut returns.
// Line breaks and markup in the rows make no difference. A text of emoji alone must be
// there as it is.
func occurrences(rows []string, text string, cut func(string, int) string) int {
	for _, bare := range []func(string) string{unmarked, unspaced} {
		if piece := edge(text, bare, cut); piece != "" {
			return strings.Count(bare(strings.Join(rows, "")), piece)
		}
	}
	return 0
}

// edge returns the piece that cut leaves of a text after bare has been applied to it. For
// a long text it tries pieces at the edge first, each larger than the one before.
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

// without removes the runes for which such returns true.
func without(s string, such func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if such(r) {
			return -1
		}
		return r
	}, s)
}
