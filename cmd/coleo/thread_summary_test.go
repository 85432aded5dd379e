package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
)

// TestM27ALongConversationIsSummarisedOverAllItsPages summarises a conversation that was made
// without Coleo.
func TestM27ALongConversationIsSummarisedOverAllItsPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	path := w.conversation("long-id", w.dir, "the first prompt", "an answer")
	var more strings.Builder
	for i := range 300 {
		for _, m := range []map[string]any{
			{"type": "user", "message": map[string]any{"content": fmt.Sprint("prompt ", i)}},
			{"type": "assistant", "message": map[string]any{"content": []any{map[string]any{"type": "text",
				"text": fmt.Sprint("answer ", i, " ", strings.Repeat("long ", 1000))}}}},
		} {
			m["cwd"], m["timestamp"] = w.dir, "2026-11-22T12:01:00Z"
			line, err := json.Marshal(m)
			w.check(err)
			fmt.Fprintf(&more, "%s\n", line)
		}
	}
	w.check(os.WriteFile(path, []byte(w.read(strings.TrimPrefix(path, w.dir+"/"))+more.String()), 0o600))
	w.must("up")
	s := decode[coleo.ThreadSummary](w, "thread", "summary", "long")
	if s.Prompts != 301 || s.Answers != 301 || s.First != "the first prompt" || strings.Join(s.Recent, ", ") !=
		"prompt 297, prompt 298, prompt 299" || !strings.HasPrefix(s.Answer, "answer 299 long") || len(s.Answer) > 1300 {
		t.Errorf("the summary is %+v", s)
	}
	out := w.must("thread", "summary", "long-id")
	for _, want := range []string{"First prompt:\n  the first prompt", "Last prompts:\n  prompt 297\n",
		"Last answer:\n  answer 299"} {
		if !strings.Contains(out, want) {
			t.Errorf("the summary lacks %q:\n%s", want, out)
		}
	}
	if again := w.must("thread", "summary", "long-id"); again != out {
		t.Errorf("a second summary is another one:\n%s", again)
	}
	if e := w.fails(4, "thread", "summary", "nothing"); !strings.Contains(e.Message,
		"no conversation has the id nothing") {
		t.Errorf("a summary of no conversation: %+v", e)
	}
}

// TestM27TheSummaryOfARealConversationNamesItsFiles: the summary must contain texts from the agent
// CLI's own record, and the file from the arm's events.
func TestM27TheSummaryOfARealConversationNamesItsFiles(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	l.asks("wanted.txt")
	l.must("arm", "approve", l.name)
	l.wait(l.name, coleo.Idle)
	last := conformance.Nonce()
	end := decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "say "+last)
	id := l.arm(l.name).SessionID
	s := decode[coleo.ThreadSummary](l.world, "thread", "summary", id)
	if !strings.Contains(s.First, "wanted.txt") || len(s.Recent) != 1 || s.Recent[0] != "say "+last ||
		s.Answer != end.Answer || s.Tools == 0 || s.Folder != l.workdir {
		t.Errorf("the summary is %+v", s)
	}
	if len(s.Files) != 1 || filepath.Base(s.Files[0]) != "wanted.txt" {
		t.Errorf("the changed files are %q", s.Files)
	}
}
