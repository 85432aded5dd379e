package codex

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
)

// An interrupt can stop a prompt before Codex begins its turn. The answer of the turn before must not count as its
// answer.
func TestAnAnswerIsNotOlderThanItsPrompt(t *testing.T) {
	t.Parallel()
	const id = "01a00000-0000-7000-8000-000000000000"
	f := terminal.Facts{Home: t.TempDir(), Conversation: id}
	dir := filepath.Join(f.Home, ".codex", "sessions", "2026", "11", "23")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const lines = `{"timestamp":"2026-11-23T10:00:01.000Z","payload":{"type":"task_started"}}` + "\n" +
		`{"timestamp":"2026-11-23T10:00:02.000Z","payload":{"type":"task_complete","last_agent_message":"one"}}` + "\n"
	path := filepath.Join(dir, "rollout-2026-11-23T10-00-00-"+id+".jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	complete := time.Date(2026, 11, 23, 10, 0, 2, 0, time.UTC)
	for at, want := range map[time.Time]string{complete.Add(-time.Second): "one", complete.Add(time.Second): ""} {
		got, err := answer(t.Context(), f, coleo.Receipt{Text: "say one", Time: at})
		if err != nil || got.Text != want {
			t.Errorf("the answer to a prompt of %s is %q, %v, want %q", at, got.Text, err, want)
		}
	}
}
