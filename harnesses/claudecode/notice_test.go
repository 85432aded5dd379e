package claudecode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
)

// noticed contains lines of a transcript in the order in which Claude Code 2.1.329 wrote them. The notice of
// a subagent began a turn, and during that turn the next prompt was typed. Only the fields that Coleo reads
// are kept.
const noticed = `
{"type":"user","promptId":"f032","timestamp":"2026-11-28T06:27:33.725Z","origin":{"kind":"human"},` +
	`"message":{"role":"user","content":"start it"}}
{"type":"assistant","timestamp":"2026-11-28T06:27:36.619Z",` +
	`"message":{"id":"m1","stop_reason":"end_turn","content":[{"type":"text","text":"It is started."}]}}
{"type":"system","subtype":"turn_duration","timestamp":"2026-11-28T06:27:36.890Z"}
{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-28T06:27:37.272Z",` +
	`"content":"<task-notification>done</task-notification>"}
{"type":"queue-operation","operation":"dequeue","timestamp":"2026-11-28T06:27:37.405Z"}
{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-28T06:27:37.695Z"}
{"type":"user","promptId":"ec02","timestamp":"2026-11-28T06:27:37.519Z","origin":{"kind":"task-notification"},` +
	`"message":{"role":"user","content":"<task-notification>done</task-notification>"}}
{"type":"assistant","timestamp":"2026-11-28T06:27:37.893Z",` +
	`"message":{"id":"m2","stop_reason":"end_turn","content":[{"type":"text","text":"I have read it."}]}}
{"type":"queue-operation","operation":"dequeue","timestamp":"2026-11-28T06:27:38.090Z"}
{"type":"system","subtype":"turn_duration","timestamp":"2026-11-28T06:27:38.062Z"}
{"type":"user","promptId":"df28","timestamp":"2026-11-28T06:27:38.206Z","origin":{"kind":"human"},` +
	`"message":{"role":"user","content":"say next"}}
{"type":"assistant","timestamp":"2026-11-28T06:27:38.380Z",` +
	`"message":{"id":"m3","stop_reason":"end_turn","content":[{"type":"text","text":"next"}]}}
`

func TestANoticeIsAPromptOfAnotherTurnThatNobodyHasTyped(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	var got []string
	for line := range strings.Lines(strings.TrimSpace(noticed)) {
		for _, e := range d.Decode([]byte(line)) {
			switch {
			case e.Kind == record.Prompt && e.ByUser:
				got = append(got, e.Turn+" typed")
			case e.Kind == record.Prompt:
				got = append(got, e.Turn+" by itself")
			case e.Kind == record.End:
				got = append(got, "end")
			}
		}
	}
	const want = "f032 typed, end, end, ec02 by itself, end, end, df28 typed, end"
	if all := strings.Join(got, ", "); all != want {
		t.Errorf("the record tells %s, want %s", all, want)
	}
}

// A prompt's run can end after the next turn has begun. The answer to the prompt must still come from the
// prompt's own turn.
func TestTheTranscriptTellsTheAnswerOfEachPrompt(t *testing.T) {
	t.Parallel()
	f := terminal.Facts{Home: t.TempDir(), Conversation: "c"}
	dir := filepath.Join(f.Home, ".claude", "projects", "w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.jsonl"), []byte(noticed), 0o600); err != nil {
		t.Fatal(err)
	}
	for prompt, want := range map[string]string{"start  it\n": "It is started.",
		"<task-notification>done</task-notification>": "I have read it.", "say next": "next", "unknown": "next"} {
		got, err := answer(t.Context(), f, coleo.Receipt{Text: prompt})
		if err != nil || got.Text != want {
			t.Errorf("the answer to %q is %q, %v, want %q", prompt, got.Text, err, want)
		}
	}
	late := coleo.Receipt{Text: "say next", Time: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	if got, err := answer(t.Context(), f, late); err != nil || got.Text != "" {
		t.Errorf("the answer to a prompt that the transcript does not contain is %q, %v", got.Text, err)
	}
	late.Origin = coleo.OriginHand
	if got, err := answer(t.Context(), f, late); err != nil || got.Text != "next" {
		t.Errorf("the answer to a prompt that was noticed late is %q, %v", got.Text, err)
	}
}

// Claude Code can take several queued prompts at once. The answer then belongs to all of them. A prompt that was
// interrupted has no answer.
func TestPromptsThatAreTakenTogetherHaveOneAnswer(t *testing.T) {
	t.Parallel()
	f := terminal.Facts{Home: t.TempDir(), Conversation: "c"}
	dir := filepath.Join(f.Home, ".claude", "projects", "w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, text := range []string{"zero", interrupted, "one", "two", "= both", "three", "= third"} {
		kind := "user"
		if words, ok := strings.CutPrefix(text, "= "); ok {
			kind, text = "assistant", words
		}
		fmt.Fprintf(&lines, `{"type":%q,"timestamp":"2026-11-28T06:00:00Z",`+
			`"message":{"content":[{"type":"text","text":%q}]}}`+"\n", kind, text)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.jsonl"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for prompt, want := range map[string]string{"zero": "", "one": "both", "two": "both", "three": "third"} {
		if got, err := answer(t.Context(), f, coleo.Receipt{Text: prompt}); err != nil || got.Text != want {
			t.Errorf("the answer to %q is %q, %v, want %q", prompt, got.Text, err, want)
		}
	}
}
