package aider

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
)

// chat contains two prompts as Aider 0.86.2 wrote them to its chat history. The second prompt has two lines, and its
// answer has a heading.
const chat = "\n#### say one  \n\none\n\n> Tokens: 2.4k sent, 2 received.  \n\n#### say two  \n#### please  \n\n" +
	"#### Heading\n\ntwo\n\n> Tokens: 2.4k sent, 2 received.  \n"

// A prompt's run can end after the next turn has begun.
func TestAnAnswerIsTheAnswerToItsPrompt(t *testing.T) {
	t.Parallel()
	f := terminal.Facts{Workdir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(f.Workdir, ".aider.chat.history.md"), []byte(chat), 0o600); err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{"say two\nplease": "#### Heading\n\ntwo", "say one": "one", "say three": ""}
	for prompt, want := range answers {
		got, err := answer(t.Context(), f, coleo.Receipt{Text: prompt})
		if err != nil || got.Text != want {
			t.Errorf("the answer to %q is %q, %v, want %q", prompt, got.Text, err, want)
		}
	}
}
