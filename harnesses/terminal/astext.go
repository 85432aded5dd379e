package terminal

import (
	"strings"
	"unicode"

	"coleo.dev"
	"coleo.dev/pty"
)

// plain is a prompt as it is typed: with one kind of line end, without blanks behind
// it, and without what pty.Plain takes out. All else is asked of this text: what
// hides a sign at its beginning must not be gone only when it is typed.
func plain(prompt string) string {
	ends := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	return strings.TrimRight(pty.Plain(ends.Replace(prompt)), "\n ")
}

// cutOff tells whether a character is one that agent CLIs cut off at the beginning
// of a prompt: blanks of all kinds, and the mark of a byte order.
func cutOff(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// invisible tells whether a character shows nothing by itself.
func invisible(r rune) bool { return cutOff(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) }

// asText returns a prompt in the form that the composer takes as text, and says
// no to what none would.
func (s *session) asText(prompt string) (string, error) {
	c := &s.rules().Composer
	begin := strings.TrimLeftFunc(prompt, cutOff) // as an agent CLI may see it that cuts them off
	switch {
	case strings.TrimLeftFunc(prompt, invisible) == "":
		return "", coleo.Errorf(coleo.EInvalid, "an empty prompt cannot be sent")
	case c.never != nil && c.never.MatchString(begin):
		return "", coleo.Errorf(coleo.EInvalid, "%s would do something else with this prompt than take it as text: word it another way", s.rules().Title)
	case c.refuse == nil || !c.refuse.MatchString(begin):
		return prompt, nil
	case c.Lead != "":
		return c.Lead + begin, nil
	}
	return "", coleo.Errorf(coleo.EInvalid, "%s would take a prompt that begins with %q as a command: put a word before it", s.rules().Title, begin[:1])
}
