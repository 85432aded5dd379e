package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ShellWord writes a text as one word of a shell command that a person copies. It quotes the text
// if a shell would read it in another way. It writes invisible characters as escapes in $'…', which
// bash, zsh and ksh understand.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("_@%+:,./-", r)
	}
	switch {
	case s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0:
		return s
	case Escaped(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var out strings.Builder
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		one := s[:size]
		switch {
		case one == "'" || one == `\`:
			out.WriteString(`\` + one)
		case Escaped(one) == one:
			out.WriteString(one)
		default:
			for _, b := range []byte(one) {
				fmt.Fprintf(&out, `\%03o`, b)
			}
		}
		s = s[size:]
	}
	return "$'" + out.String() + "'"
}
