package gemini

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
)

// After /clear, Gemini CLI writes to the session file of another conversation. Until Coleo follows that file,
// it reads the old file, which contains only earlier turns. An answer of these turns must not count as the
// answer to the new prompt.
func TestTheAnswerOfAnEarlierTurnIsNoAnswer(t *testing.T) {
	t.Parallel()
	f := terminal.Facts{Home: t.TempDir(), Conversation: "01a20a40-6c87"}
	dir := filepath.Join(f.Home, ".gemini", "tmp", "w", "chats")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	text := `{"type":"user","timestamp":"2026-11-23T12:00:00.000Z","content":"say  one"}
{"type":"gemini","timestamp":"2026-11-23T12:00:01.000Z","content":"one"}
`
	if err := os.WriteFile(filepath.Join(dir, "session-1-01a20a40.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		prompt string
		sent   time.Time
		want   string
	}{
		{"say one", at.Add(-time.Second), "one"},
		{"say one, reworded by Gemini CLI", at.Add(-time.Second), "one"},
		{"say one", at.Add(time.Second), "one"}, // typed by hand: Coleo learns of the prompt from the record
		{"say two", at.Add(time.Minute), ""},
	} {
		a, err := answer(t.Context(), f, coleo.Receipt{Text: c.prompt, Time: c.sent})
		if err != nil || a.Text != c.want {
			t.Errorf("the answer to %q is %q, %v, want %q", c.prompt, a.Text, err, c.want)
		}
	}
}
