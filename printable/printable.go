// Package printable makes texts safe to show to a person. The texts come from arms, from models or from files
// of a repository. A terminal obeys control characters in such a text. Invisible characters can hide what a
// text says or reverse its direction.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text without invisible characters. It keeps line feeds and tabs. Any other
// invisible white space, such as a carriage return without a line feed, becomes one space.
func Text(s string) string { return keepVisible(s, removed) }

// Marked is like Text, but shows "?" in place of each invisible character. So a person who decides
// about the text sees where characters are hidden.
func Marked(s string) string { return keepVisible(s, '?') }

// Line returns a text as one line without invisible characters. Each run of white space becomes one
// space.
func Line(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// removed is the value for which strings.Map drops a character.
const removed = -1

// keepVisible replaces each invisible character of a text. It treats a byte that is not UTF-8 as an
// invisible character. It removes an emojiForm after a symbol.
func keepVisible(s string, replacement rune) string {
	mark := ""
	if replacement != removed {
		mark = string(replacement)
	}
	s = strings.ReplaceAll(strings.ToValidUTF8(s, mark), "\r\n", "\n")
	var last rune
	return strings.Map(func(r rune) rune {
		before := last
		last = r
		switch {
		case r == emojiForm && unicode.Is(unicode.So, before):
			return removed // many texts have this character after a symbol, and one of them hides nothing
		case r == '\n' || r == '\t' || IsVisible(r):
			return r
		case replacement == removed && unicode.IsSpace(r):
			return ' '
		}
		return replacement
	}, s)
}

const (
	emojiForm    = '\ufe0f' // makes the symbol before it a colourful one
	brailleBlank = '\u2800' // has no ink, although Unicode calls it a symbol
)

// IsVisible reports whether a person sees the character, or a blank in its place. Unicode calls some characters
// graphic that nobody sees, such as variation selectors and Hangul fillers.
func IsVisible(r rune) bool {
	return unicode.IsGraphic(r) && r != brailleBlank &&
		!unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Escaped writes each invisible character as a Go escape, such as \x1b or \u202e. It also escapes
// line feeds, tabs and all other white space except the space, U+00A0 and U+3000.
func Escaped(s string) string {
	var out strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, s[0])
		case IsVisible(r) && (unicode.IsPrint(r) || r == '\u00a0' || r == '\u3000'):
			out.WriteString(s[:size])
		case r < utf8.RuneSelf:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		s = s[size:]
	}
	return out.String()
}

// Shortened returns at most 40 characters of a text, for a message. It adds "…" to a text that it has cut.
func Shortened(s string) string {
	const most = 40
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
