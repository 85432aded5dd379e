package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// squeeze drops all blanks, because each screen breaks lines at other places. It also
// drops combining marks, joiners and symbols such as emoji, because programs disagree
// about the width of these characters. Some agent CLIs assume that such a character is
// narrower than it is, and paint over it.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.So) {
			return -1
		}
		return r
	}, s)
}

// squeezedEnd returns the last n runes of squeeze(s). It reads only as much of s as it
// needs, because a prompt may be long, and Coleo compares every picture with the
// prompt.
func squeezedEnd(s string, n int) string { return squeeze(s[endOf(s, n):]) }

// endOf returns the largest offset in s after which squeeze leaves n runes. It returns
// 0 if squeeze leaves fewer runes of s.
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

// boxDrawing holds the characters that draw a box or a scroll bar, and the blank.
const boxDrawing = "─━═╌╍┄┅│┃║╭╮╰╯┌┐└┘├┤█▀▄ "

// joinRows joins rows into one text. It drops indents and rows that only draw frames.
func joinRows(rows []string) string {
	var out []string
	for _, row := range rows {
		if strings.Trim(row, boxDrawing) != "" {
			out = append(out, strings.TrimSpace(row))
		}
	}
	return strings.Join(out, "\n")
}

// anyLetter stands for a letter with a combining mark in the text that Coleo searches
// for.
const anyLetter = '\uffff'

// tailRunes is how many characters of a prompt Coleo must see: from the end of the
// prompt in the composer, and from its beginning in the transcript.
const tailRunes = 24
