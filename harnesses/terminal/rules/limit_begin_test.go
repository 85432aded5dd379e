package rules

import (
	"strings"
	"testing"

	"coleo.dev"
)

// The rows above an error can belong to an earlier turn or an older error (Aider 0.86.2). They must
// not be part of the error.
func TestTheTextOfAnErrorHasNoOlderRows(t *testing.T) {
	t.Parallel()
	spec := builtinSpec(t, "aider")
	line := strings.Repeat("─", 60)
	older := []string{"first", "Tokens: 2.3k sent, 1 received. Cost: $0.0023 message.", "connection: timed out"}
	newest := []string{"litellm.AuthenticationError: AuthenticationError: ", "OpenAIException - token has expired",
		"The API provider is not able to authenticate you."}
	const want = "litellm.AuthenticationError: AuthenticationError: OpenAIException - token has expired The API " +
		"provider is not able to authenticate you."
	for name, rows := range map[string][]string{
		"after another turn":       append(append(older, line, "> fail 401", ""), newest...),
		"after another error":      append([]string{"litellm.APIError: Overloaded", "Retrying in 0.2 seconds..."}, newest...),
		"at the top of the screen": newest,
	} {
		rows = append(rows, "", line, "> ")
		f := NewPicture(coleo.Screen{Cols: 60, Rows: len(rows), Lines: rows, Cursor: [2]int{2, len(rows) - 1},
			CursorVisible: true, Modes: map[string]bool{pasteMode: true}}, &spec.Composer)
		if got := strings.TrimRight(spec.ErrorOn(f), "─ "); got != want {
			t.Errorf("%s: the error is %q, want %q", name, got, want)
		}
	}
}
