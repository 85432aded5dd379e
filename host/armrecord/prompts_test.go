package armrecord

import (
	"testing"

	"coleo.dev"
)

// A session types a prompt without control characters and without the end marker of a paste. When the prompt
// arrives late, the session reports the text that it has typed.
func TestAPromptIsRecognizedByTheTextThatWasTyped(t *testing.T) {
	t.Parallel()
	for typed, prompt := range map[string]string{
		"fix the bug":      "fix \x1b[201~the bug",
		"fix [31mthe bug":  "fix \x1b[31mthe bug",
		"why: fix the bug": "fix the\tbug\r\n",
	} {
		if !Mentions(typed, coleo.Receipt{Text: prompt}) {
			t.Errorf("%q is not recognized as the prompt %q", typed, prompt)
		}
	}
	if raw := "fix \x1b[201~the bug"; !Mentions(raw, coleo.Receipt{Text: raw}) {
		t.Error("a session that sends the prompt unchanged does not recognize it")
	}
	if Mentions("fix the bug", coleo.Receipt{Text: "fix 201 bugs"}) {
		t.Error("another prompt is recognized")
	}
}
