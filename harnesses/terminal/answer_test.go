package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

func TestAnswersInATranscript(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	rule := rules.Transcript{File: "logs/*/{id}.jsonl", Prompt: "type=user", Answer: "type=model", Text: "m.parts.text",
		Without: "thought"}
	user := func(text string) string { return `{"type":"user","m":{"parts":[{"text":"` + text + `"}]}}` + "\n" }
	model := func(text string) string {
		return `{"type":"model","m":{"parts":[{"text":"hm","thought":true},{"text":"` + text + `"}]}}` + "\n"
	}
	path := filepath.Join(home, "logs", "a", "id1.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	sent := coleo.Receipt{Text: "the second", Time: time.Now().Add(-time.Minute)}
	for name, c := range map[string]struct{ content, want string }{
		"the last behind the prompt": {user("first") + model("a") + user("the second") + model("b") +
			model("c"), "c"},
		"none while another prompt is last":  {user("first") + model("a"), ""},
		"none before the model has said any": {user("first") + model("a") + user("the second"), ""},
		"a result of a tool is no prompt": {user("the second") + `{"type":"user","m":{"result":1}}` + "\n" +
			model("b"), "b"},
		"a line that is still written is none": {user("the second") + model("b") + strings.TrimSpace(model("c")), "b"},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := transcriptAnswer(&rule, Facts{Home: home, Conversation: "id1"}, sent)
		if err != nil || a.Text != c.want {
			t.Errorf("%s: %q, %v, want %q", name, a.Text, err, c.want)
		}
	}
	late := coleo.Receipt{Text: "the second", Time: time.Now().Add(time.Minute)}
	if a, err := transcriptAnswer(&rule, Facts{Home: home, Conversation: "id1"}, late); a.Text != "" || err != nil {
		t.Errorf("a file from before the prompt answers %q, %v", a.Text, err)
	}
	if a, err := transcriptAnswer(&rule, Facts{Home: home}, sent); a.Text != "" || err != nil {
		t.Errorf("without an id it answers %q, %v", a.Text, err)
	}
}
