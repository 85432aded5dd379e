package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// squeeze removes all blanks, because different screens break lines at different places. It also
// removes combining marks, joiners and symbols such as emoji, because programs disagree about their
// width. Some agent CLIs assume that such a character is narrower than it is, and paint over it.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.So) {
			return -1
		}
		return r
	}, s)
}

// squeezedEnd returns the last n runes of squeeze(s). It squeezes only as much of s as it needs,
// because a prompt may be long, and Coleo compares every picture with the prompt.
func squeezedEnd(s string, n int) string { return squeeze(s[endOf(s, n):]) }

// endOf returns the offset in s at which the last n runes of squeeze(s) begin, or 0 if squeeze(s)
// has fewer than n runes.
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

// boxDrawing contains the characters that draw a box or a scroll bar, and the blank.
const boxDrawing = "─━═╌╍┄┅│┃║╭╮╰╯┌┐└┘├┤█▀▄ "

// joinRows joins rows into one text, without indents and without rows that only draw frames.
func joinRows(rows []string) string {
	var out []string
	for _, row := range rows {
		if strings.Trim(row, boxDrawing) != "" {
			out = append(out, strings.TrimSpace(row))
		}
	}
	return strings.Join(out, "\n")
}

// anyLetter stands for any letter. In the text that Coleo searches for, anyLetter replaces each letter that
// has a combining mark.
const anyLetter = '\uffff'

// tailRunes is how many characters of a prompt Coleo must see: the last ones in the composer, and
// the first ones in the transcript. So many characters rarely agree by chance.
const tailRunes = 24

// markup contains the characters of a prompt that a transcript may lack. Claude Code 2.1.329 draws
// `code` without the backquotes.
const markup = "`*_~"

// Echoes reports whether the transcript above the composer shows the beginning or the end of the
// given text. The end counts because the beginning of a long text may have scrolled away.
func (p *Picture) Echoes(text string) bool {
	if p.Composer == nil {
		return false
	}
	return CountEchoes(p.Above(), text) > 0 || occurrences(p.Above(), text, lastRunes) > 0
}

// CountEchoes returns how many times the rows show the beginning of the prompt's first line.
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

// occurrences returns how many times the rows show a piece of a text. The function `cut` returns the
// piece. Line breaks, blanks and markup do not count, and emoji count only if the text consists of
// emoji alone.
func occurrences(rows []string, text string, cut func(string, int) string) int {
	for _, bare := range []func(string) string{unmarked, unspaced} {
		if piece := strippedEdge(text, bare, cut); piece != "" {
			return strings.Count(bare(strings.Join(rows, "")), piece)
		}
	}
	return 0
}

// strippedEdge strips a text with stripText, and returns the piece that cutPiece takes from the
// result. It first strips only a short part of a long text, to save time. If the piece is then too
// short, strippedEdge tries a part that is eight times as long.
func strippedEdge(text string, stripText func(string) string, cutPiece func(string, int) string) string {
	for size := 8 * tailRunes; size < len(text); size *= 8 {
		if piece := cutPiece(stripText(cutPiece(text, size)), tailRunes); utf8.RuneCountInString(piece) == tailRunes {
			return piece
		}
	}
	return cutPiece(stripText(text), tailRunes)
}

func unmarked(s string) string {
	return dropRunes(squeeze(s), func(r rune) bool { return strings.ContainsRune(markup, r) })
}

func unspaced(s string) string { return dropRunes(s, unicode.IsSpace) }

// dropRunes returns s without the runes for which the function `drop` returns true.
func dropRunes(s string, drop func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if drop(r) {
			return -1
		}
		return r
	}, s)
}
