package changes

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// escaped writes invisible characters as Go escapes, such as \x1b or \u202e.
func escaped(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r < 0x80 && !strconv.IsPrint(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case !strconv.IsPrint(r) && r != '\u00a0' && r != '\u3000': // blanks of other widths
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}
