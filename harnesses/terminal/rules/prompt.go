package rules

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"coleo.dev"
	"coleo.dev/pty"
)

// PromptText returns the prompt in a form that the composer treats as text, and not as a command. If
// the prompt has no such form, the error is EInvalid.
func (s *Spec) PromptText(prompt string) (string, error) {
	c, prompt := &s.Composer, plainPrompt(prompt)
	begin := strings.TrimLeftFunc(prompt, cutOff) // drop leading characters that an agent CLI may remove
	switch {
	case strings.TrimLeftFunc(prompt, invisible) == "":
		return "", coleo.Errorf(coleo.EInvalid, "an empty prompt cannot be sent")
	case c.never != nil && c.never.MatchString(begin):
		return "", s.notText(begin, c.never)
	case c.refuse == nil || !c.refuse.MatchString(begin):
		return prompt, nil
	case c.Lead != "":
		return c.Lead + begin, nil
	}
	return "", s.notText(begin, c.refuse)
}

// shownWord is the number of columns after which an error cuts off the first word of a prompt. Commands
// are shorter.
const shownWord = 40

// notText returns the error for a prompt that the agent CLI would not treat as text. The parameter
// `pattern` matches the part of the prompt that the agent CLI would treat in another way.
func (s *Spec) notText(prompt string, pattern *regexp.Regexp) error {
	at := pattern.FindStringIndex(prompt)
	if at[0] == 0 {
		word := strings.Fields(prompt)[0]
		return coleo.Errorf(coleo.EInvalid, "nothing was typed, because %s would take %q at the beginning of the prompt as "+
			"a command: put a word before it; to give a command yourself, use 'coleo arm attach'",
			s.Title, pty.Cut(word, shownWord))
	}
	part := strings.TrimSpace(prompt[at[0]:at[1]])
	if at[1] < len(prompt) {
		return coleo.Errorf(coleo.EInvalid, "nothing was typed, because %s "+
			"would not take %q in the prompt as text: leave it out", s.Title, part)
	}
	return coleo.Errorf(coleo.EInvalid, "nothing was typed, because %s would not take %q at the end of the prompt as "+
		"text: put a word after it, or leave it out", s.Title, part)
}

// plainPrompt returns a prompt in the form that Coleo types. Its only line end is \n. It has no blanks
// at its end, and none of the characters that pty.Plain removes.
//
// All other checks use the result of plainPrompt, because Coleo does not type the removed characters.
// In the original prompt, an invisible first character could hide the first visible character from a
// check.
func plainPrompt(prompt string) string {
	ends := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	return strings.TrimRight(pty.Plain(ends.Replace(prompt)), "\n ")
}

// cutOff reports whether agent CLIs remove a character from the beginning of a prompt. They remove blanks
// of all kinds and the byte order mark.
func cutOff(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// invisible reports whether a character alone is invisible on the screen.
func invisible(r rune) bool { return cutOff(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) }

// KeySequence turns the names of keys into their bytes. Each element of the result is one write. In the
// names, a blank separates two writes, and + joins keys into one write. So "ESCAPE ESCAPE" is two writes,
// and "y+ENTER" is one. A single character stands for itself.
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
