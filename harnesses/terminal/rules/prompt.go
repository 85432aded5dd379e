package rules

import (
	"fmt"
	"strings"
	"unicode"

	"coleo.dev"
	"coleo.dev/pty"
)

// PromptText returns the prompt in a form that the composer takes as text. If the
// prompt has no such form, the error is EInvalid.
func (s *Spec) PromptText(prompt string) (string, error) {
	c, prompt := &s.Composer, plain(prompt)
	begin := strings.TrimLeftFunc(prompt, cutOff) // an agent CLI may remove these characters
	switch {
	case strings.TrimLeftFunc(prompt, invisible) == "":
		return "", coleo.Errorf(coleo.EInvalid, "an empty prompt cannot be sent")
	case c.never != nil && c.never.MatchString(begin):
		return "", coleo.Errorf(coleo.EInvalid,
			"%s would do something else with this prompt than take it as text: word it another way", s.Title)
	case c.refuse == nil || !c.refuse.MatchString(begin):
		return prompt, nil
	case c.Lead != "":
		return c.Lead + begin, nil
	}
	return "", coleo.Errorf(coleo.EInvalid,
		"%s would take a prompt that begins with %q as a command: put a word before it", s.Title, begin[:1])
}

// plain returns a prompt in the form that Coleo types. Its only line end is \n. It has no blanks at
// its end, and none of the characters that pty.Plain removes.
//
// All other checks use the result of plain. Otherwise an invisible first character,
// which is not typed, could hide the first visible character from a check.
func plain(prompt string) string {
	ends := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	return strings.TrimRight(pty.Plain(ends.Replace(prompt)), "\n ")
}

// cutOff reports whether agent CLIs remove a character from the beginning of a prompt. They remove
// blanks of all kinds and the byte order mark.
func cutOff(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// invisible reports whether a character shows nothing on the screen by itself.
func invisible(r rune) bool { return cutOff(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) }

// KeySequence turns the names of keys into their bytes. Each element of the result is one write. In
// the names, a blank separates two writes, and + joins keys into one write. So "ESCAPE ESCAPE" is
// two writes, and "y+ENTER" is one. A single character stands for itself.
func KeySequence(names string) ([][]byte, error) {
	var out [][]byte
	for group := range strings.FieldsSeq(names) {
		var keys []byte
		for name := range strings.SplitSeq(group, "+") {
			key, ok := pty.Key(name)
			if !ok && len(name) != 1 {
				return nil, fmt.Errorf("%q is not a key", name)
			}
			if !ok {
				key = []byte(name)
			}
			keys = append(keys, key...)
		}
		out = append(out, keys)
	}
	return out, nil
}
