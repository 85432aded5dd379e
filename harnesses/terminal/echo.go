package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"coleo.dev/pty"
)

// markup is what a transcript may leave out of a prompt: Claude Code 2.1.329 draws `code`
// without the backquotes.
const markup = "`*_~"

// echoes reports whether the transcript above the composer shows how the text begins or
// how it ends. The beginning of a long text has scrolled away.
func (f *frame) echoes(text string) bool {
	if f.composer == nil {
		return false
	}
	return echoed(f.behind(), text) > 0 || occurrences(f.behind(), text, lastRunes) > 0
}

// echoed returns how often the transcript shows how a prompt begins, including the rows
// that have scrolled off. The caller holds mu.
func (s *session) echoed(prompt string) int { return echoed(s.frame.since(s.screen), prompt) }

// echoedSince reports whether the newest whole picture shows the prompt's beginning more
// often than before. With the rows of an older picture, rows that have scrolled off might
// be counted twice. A picture without a composer proves nothing: the composer's own text
// may be half drawn there.
func (s *session) echoedSince(prompt string, before int) bool {
	return s.paint.begun.IsZero() && s.frame.composer != nil && s.echoed(prompt) > before
}

// since returns the rows above the composer, after those that have scrolled off.
func (f *frame) since(screen *pty.Core) []string {
	return append(screen.History(historyRows), f.behind()...)
}

// echoed returns how often rows show how a prompt begins.
func echoed(rows []string, prompt string) int {
	line, _, _ := strings.Cut(strings.TrimLeft(prompt, " \t\n"), "\n")
	return occurrences(rows, line, firstRunes)
}

// behind returns the rows above the composer, or all rows where there is no composer.
func (f *frame) behind() []string {
	if f.composer == nil {
		return f.rows
	}
	return f.rows[:f.composer.top]
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
