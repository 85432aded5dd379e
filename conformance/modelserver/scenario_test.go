package modelserver

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// offered parses the tools of an agent CLI from the agent CLI's own description.
func offered(t *testing.T, tools string) []Tool {
	t.Helper()
	turn, err := chat{}.decode([]byte(`{"tools":` + tools + `,"messages":[{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return turn.Tools
}

const toolsOfOne = `[
 {"function":{"name":"Write","parameters":{"properties":{"file_path":{"type":"string"},"content":{"type":"string"}},` +
	`"required":["file_path","content"]}}},
 {"function":{"name":"Bash","parameters":{"properties":{"command":{"type":"string"},"timeout":{"type":"number"}},` +
	`"required":["command"]}}},
 {"function":{"name":"AskUserQuestion","parameters":{"properties":{"questions":{"type":"array",` +
	`"items":{"required":["question","header","options","multiSelect"],"properties":{"multiSelect":{"type":"boolean"}` +
	`}}}},"required":["questions"]}}}]`

const toolsOfOther = `[
 {"function":{"name":"write","parameters":{"properties":{"filePath":{"type":"string"},"content":{"type":"string"}},` +
	`"required":["content","filePath"]}}},
 {"function":{"name":"bash","parameters":{"properties":{"command":{"type":"string"},"description":{"type":"string"},` +
	`"mode":{"enum":["fast","slow"]}},"required":["command","description","mode"]}}},
 {"function":{"name":"question","parameters":{"properties":{"questions":{"type":"array"}},"required":["questions"]}}},
 {"function":{"name":"coleo_ping","parameters":{"properties":{"text":{"type":"string"}}}}}]`

const toolsOfThird = `[
 {"function":{"name":"AskQuestion","parameters":{"properties":{"question":{"type":"string"},` +
	`"options":{"type":"array","items":{"type":"string"}}},"required":["question","options"]}}}]`

func TestToolsAreCalledAsTheyAreOffered(t *testing.T) {
	t.Parallel()
	one, other := offered(t, toolsOfOne), offered(t, toolsOfOther)
	tests := []struct {
		prompt     string
		tools      []Tool
		name, args string
	}{
		{"write a/b.txt with two words, then say N", one, "Write",
			`{"file_path":"/w/a/b.txt","content":"two words\n"}`},
		{"write /abs.txt with x", other, "write", `{"filePath":"/abs.txt","content":"x\n"}`},
		{"run ls -l && pwd then say N-1", one, "Bash", `{"command":"ls -l && pwd"}`},
		{"run ls", other, "bash", `{"command":"ls","description":"scripted","mode":"fast"}`},
		{"ask Which? with A or B", one, "AskUserQuestion",
			`{"questions":[{"question":"Which?","header":"Question","multiSelect":false,"options":[{"label":"A",` +
				`"description":"choose A"},{"label":"B","description":"choose B"}]}]}`},
		{"ask Which? with A", other, "question",
			`{"questions":[{"question":"Which?","header":"Question","options":[{"label":"A","description":"choose ` +
				`A"}]}]}`},
		{"ask Which? with A or B", offered(t, toolsOfThird), "AskQuestion",
			`{"question":"Which?","options":["A","B"]}`},
		{"mcp ping hello there", other, "coleo_ping", `{"text":"hello there"}`},
		{"mcp ping hello", one, "mcp__coleo__ping", `{"text":"hello"}`},
		{"mcp mcp__x__y hello", one, "mcp__x__y", `{"text":"hello"}`},
		{"garble", one, "Bash", `{"command": "tr`},
	}
	for _, tt := range tests {
		turn := Turn{Prompt: tt.prompt, Tools: tt.tools, Folder: "/w", System: "Deferred tools:\nmcp__coleo__ping\n"}
		steps := replyByScenario(turn, nil).Steps
		call, err := resolve(*steps[len(steps)-1].Tool, turn)
		if err != nil || call.name != tt.name || !sameJSON(call.args, tt.args) {
			t.Errorf("%q calls %s %s (%v), want %s %s", tt.prompt, call.name, call.args, err, tt.name, tt.args)
		}
	}
}

// sameJSON reports whether two JSON documents are equal. It compares texts that are not JSON as
// plain text.
func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}

func TestWordsOfThePromptAreObeyed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		turn Turn
		want []Step
	}{
		{Turn{Prompt: "say NONCE-1"}, []Step{{Text: "NONCE-1"}}},
		{Turn{Prompt: "\"Say two words\""}, []Step{{Text: "two words"}}},
		{Turn{Prompt: "Hello.\nsay x, then say y"}, []Step{{Text: "x"}, {Text: "\n\ny"}}},
		{Turn{Prompt: "hello\nthere"}, []Step{{Text: "ECHO: hello\nthere"}}},
		{Turn{Prompt: "count to 3 every 5ms"}, []Step{{Text: "1 2 3 ", Pace: 5}}},
		{Turn{Prompt: "think of a sea for 2s then say N"}, []Step{{Thinking: "of a sea", Pace: 666}, {Text: "N"}}},
		{Turn{Prompt: "pause 20ms"}, []Step{{Pause: 20}, {Text: "The pause is over."}}},
		{Turn{Prompt: "fail 529"}, []Step{{Fail: &Failure{Status: 529, Message: "scripted failure 529"}}}},
		{Turn{Prompt: "fail 500 1 time then say N"}, []Step{{Text: "N"}}},
		{Turn{Prompt: "run x then say N", HasToolResult: true}, []Step{{Text: "N"}}},
		{Turn{Prompt: "run x", HasToolResult: true, ToolResult: "a\nb"}, []Step{{Text: "The tool has answered: a b"}}},
		{Turn{Prompt: "write f with x then say N", System: "*file listing*"},
			[]Step{{Text: "f\n```\nx\n```\n\n"}, {Text: "N"}}},
		{Turn{Prompt: "run ls", System: "*SEARCH/REPLACE block*"},
			[]Step{{Text: "```bash\nls\n```\n\n"}, {Text: "Suggested."}}},
	}
	for _, tt := range tests {
		if got := replyByScenario(tt.turn, func(string) int { return 1 }).Steps; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("replyByScenario(%q) = %s, want %s", tt.turn.Prompt, mustJSON(got), mustJSON(tt.want))
		}
	}
}

func TestAMissingToolIsNamedInAText(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	_, body := ask(t, s.URL()+"/v1/messages", message("ask Which?"))
	if !strings.Contains(body, "NO TOOL: none of the 1 tools offered serves to ask") {
		t.Errorf("answer = %s", body)
	}
}

func TestEditsAreWrittenInTheFormatAskedFor(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		editWhole:   "a/f\n```\nx\ny\n```\n\n",
		editDiff:    "a/f\n```\n<<<<<<< SEARCH\n=======\nx\ny\n>>>>>>> REPLACE\n```\n\n",
		editUnified: "```diff\n--- /dev/null\n+++ a/f\n@@ ... @@\n+x\n+y\n```\n\n",
	} {
		if got := editText(format, "a/f", "x\ny\n"); got != want {
			t.Errorf("%s = %q, want %q", format, got, want)
		}
	}
}
