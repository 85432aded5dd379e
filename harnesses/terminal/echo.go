package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"coleo.dev/pty"
)

// markup is what a transcript may leave out of a prompt: Claude Code 2.1.329
// draws `code` without its marks.
const markup = "`*_~"

// echoes tells whether the transcript above the composer shows how the text
// begins, or how it ends: of a long one the beginning has scrolled away.
func (f *frame) echoes(text string) bool {
	if f.composer == nil {
		return false
	}
	return echoed(f.behind(), text) > 0 || occurrences(f.behind(), text, lastRunes) > 0
}

// echoed counts how often the transcript shows how a prompt begins, in what has
// scrolled off too. The caller holds mu.
func (s *session) echoed(prompt string) int { return echoed(s.frame.since(s.screen), prompt) }

// echoedSince tells whether it does so more often than it did, on the newest whole
// picture: with rows of an older one what has scrolled off may be counted twice. One
// without a composer proves nothing: what stands in that may be half drawn there.
func (s *session) echoedSince(prompt string, before int) bool {
	return s.paint.begun.IsZero() && s.frame.composer != nil && s.echoed(prompt) > before
}

// since are the rows above the composer, behind those that have scrolled off.
func (f *frame) since(screen *pty.Core) []string {
	return append(screen.History(historyRows), f.behind()...)
}

// echoed counts how often rows show how a prompt begins.
func echoed(rows []string, prompt string) int {
	line, _, _ := strings.Cut(strings.TrimLeft(prompt, " \t\n"), "\n")
	return occurrences(rows, line, firstRunes)
}

// behind are the rows above the composer, all where there is none.
func (f *frame) behind() []string {
	if f.composer == nil {
		return f.rows
	}
	return f.rows[:f.composer.top]
}

// occurrences counts how often rows show the piece of a text that cut leaves of
// it, however they break it and whatever they make of its markup. A text of
// pictures alone must be there as it is.
func occurrences(rows []string, text string, cut func(string, int) string) int {
	for _, bare := range []func(string) string{unmarked, unspaced} {
		if piece := edge(text, bare, cut); piece != "" {
			return strings.Count(bare(strings.Join(rows, "")), piece)
		}
	}
	return 0
}

// edge is what cut leaves of a text that bare has gone over. Of a long text it tries
// pieces at the edge first, each larger than the one before.
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

// without drops the runes of a text that are such.
func without(s string, such func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if such(r) {
			return -1
		}
		return r
	}, s)
}
