package claudecode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

// compacted is a turn in which Claude Code has shortened the conversation by itself. The two lines of the compaction
// have the form of those in testdata/work-2.1.329.jsonl.gz.
const compacted = `{"type":"user","promptId":"p","message":{"role":"user","content":"do it"},"origin":{"kind":"human"}}
{"type":"assistant","message":{"id":"m1","stop_reason":"tool_use","content":[{"type":"text","text":"I begin."}]}}
{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":9,"postTokens":1}}
{"type":"user","promptId":"p","message":{"role":"user","content":"This session is continued."},"isCompactSummary":true}
{"type":"assistant","message":{"id":"m2","stop_reason":"end_turn","content":[{"type":"text","text":"It is done."}]}}
{"type":"system","subtype":"turn_duration"}
`

// A compaction in the middle of a turn is neither the end of the turn nor a prompt.
func TestACompactionDoesNotInterruptATurn(t *testing.T) {
	t.Parallel()
	d, kinds := newDecoder(), []record.Kind{}
	for line := range strings.Lines(compacted) {
		for _, e := range d.Decode([]byte(line)) {
			if e.Kind != record.Detail {
				kinds = append(kinds, e.Kind)
			}
		}
	}
	if want := []record.Kind{record.Prompt, record.Answer, record.Tool, record.Answer, record.End,
		record.End}; !slices.Equal(kinds, want) {
		t.Errorf("the record tells %q, want %q", kinds, want)
	}
}

// Claude Code writes the summary of a compaction as a message of the user. Nobody has typed it, so it is no prompt. The
// successor of the arm must not get it as the person's last prompt.
func TestTheSummaryOfACompactionIsNoPrompt(t *testing.T) {
	t.Parallel()
	for _, e := range recordtest.Entries(t, newDecoder(), "testdata/work-2.1.329.jsonl.gz") {
		if e.Kind == record.Prompt && strings.HasPrefix(e.Text, "This session is being continued") {
			t.Errorf("a summary is a prompt: %.80q", e.Text)
		}
	}
}

func TestTheAnswerComesFromAfterTheCompaction(t *testing.T) {
	t.Parallel()
	f := terminal.Facts{Home: t.TempDir(), Conversation: "c"}
	dir := filepath.Join(f.Home, ".claude", "projects", "w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "c.jsonl"), []byte(compacted), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := answer(t.Context(), f, coleo.Receipt{Text: "do it"}); err != nil || got.Text != "It is done." {
		t.Errorf("the answer is %q, %v", got.Text, err)
	}
}
