package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/patience"
	"coleo.dev/pty"
)

// leftovers contains texts that somebody has typed into a composer without sending them, and keys
// that then move the cursor.
var leftovers = [][2]string{
	{"one line", ""}, {"one line", "LEFT LEFT LEFT"}, {"one\ntwo\n\nthree", ""}, {"one\ntwo\n\nthree", "UP UP"},
	{"one\n\n", ""}, {strings.Repeat("row\n", 12), ""},
}

// leftoverTimeout is how long a composer may take to show a paste.
const leftoverTimeout = 20 * time.Second

// A person may leave a text in the composer. Coleo must send the next prompt without this text, wherever the
// cursor is.
func TestLeftoversAreClearedBeforeAPrompt(t *testing.T) {
	eachAgentCLI(t, func(t *testing.T, name string) {
		runPart(t, name, "all", func(t *testing.T) tally { return sendOverLeftovers(t, safetyTrial(t, name)) })
	})
}

func sendOverLeftovers(t *testing.T, trial *Trial) tally {
	t.Helper()
	short := modelserver.Rule{Name: "short", Reply: []modelserver.Step{{Text: "Done."}}}
	if err := trial.Model.SetScript(modelserver.Script{Rules: []modelserver.Rule{short}}); err != nil {
		t.Fatal(err)
	}
	for _, left := range leftovers {
		leaveText(t, trial, left[0], left[1])
		prompt := "hello " + Nonce()
		if _, err := sendAndSee(t, trial, prompt); err != nil {
			t.Fatalf("%q, %s: %v%s", left[0], left[1], err, screenOf(err))
		}
	}
	return tally{Proven: len(leftovers)}
}

// leaveText pastes text and presses keys. It waits until the text is on the screen. It does not
// wait for the keys, because keys that are typed later come after them anyway.
func leaveText(t *testing.T, trial *Trial, text, keys string) {
	t.Helper()
	term, ok := trial.Session.(coleo.Terminal)
	if !ok {
		t.Skip("it has no composer")
	}
	ctx, cancel := patience.With(t.Context(), leftoverTimeout)
	defer cancel()
	before := picture(term)
	if err := term.Input(ctx, pty.Paste(text, true)); err != nil {
		t.Fatal(err)
	}
	pollUntil(ctx, func() bool { return picture(term) != before })
	if ctx.Err() != nil {
		t.Fatalf("nothing is seen of %q", text)
	}
	for name := range strings.FieldsSeq(keys) {
		key, _ := pty.Key(name)
		if err := term.Input(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
}

// picture returns the contents of a terminal, including the cursor.
func picture(term coleo.Terminal) string {
	s := term.Screen()
	return fmt.Sprint(s.Cursor, s.Lines)
}
