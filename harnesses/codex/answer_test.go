package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
)

// A prompt's run can end after the next turn has begun. An interrupt can stop a prompt before Codex begins its turn.
func TestAnAnswerIsTheAnswerToItsPrompt(t *testing.T) {
	t.Parallel()
	const id = "01a00000-0000-7000-8000-000000000000"
	f := terminal.Facts{Home: t.TempDir(), Conversation: id}
	dir := filepath.Join(f.Home, ".codex", "sessions", "2026", "11", "23")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for second, payload := range []string{`"task_started"`, `"task_complete","last_agent_message":"one"`, `"task_started"`,
		`"turn_aborted"`, `"task_started"`, `"task_complete","last_agent_message":"three"`} {
		fmt.Fprintf(&lines, `{"timestamp":"2026-11-23T10:00:0%d.000Z","payload":{"type":%s}}`+"\n", second, payload)
	}
	path := filepath.Join(dir, "rollout-2026-11-23T10-00-00-"+id+".jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	// The prompt of second 1 was typed into the running turn.
	for second, want := range map[int]string{0: "one", 1: "one", 2: "", 4: "three", 6: ""} {
		got, err := answer(t.Context(), f, coleo.Receipt{Text: "say", Time: began.Add(time.Duration(second) * time.Second)})
		if err != nil || got.Text != want {
			t.Errorf("the answer to the prompt of second %d is %q, %v, want %q", second, got.Text, err, want)
		}
	}
	late := coleo.Receipt{Text: "say", Time: began.Add(time.Hour), Origin: coleo.OriginHand}
	if got, err := answer(t.Context(), f, late); err != nil || got.Text != "three" {
		t.Errorf("the answer to a prompt that was noticed late is %q, %v", got.Text, err)
	}
}
