package modelserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRefusedScriptsNameFileAndEntry(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"{\n\n\"rules\": [,]}": "line 3",
		`{"rules":[{"reply":[{"text":"a"}]},{"name":"b","reply":[]}]}`:    `rule 2 ("b"): reply has no steps`,
		`{"rules":[{"reply":[{"text":"a","stall":true}]}]}`:               "step 1 has 2 of text",
		`{"rules":[{"reply":[{"txt":"a"}]}]}`:                             `unknown field "txt"`,
		`{"rules":[{"when":{"matches":"("},"reply":[{"text":"a"}]}]}`:     "matches: error parsing regexp",
		`{"rules":[{"when":{"dialect":"latin"},"reply":[{"text":"a"}]}]}`: `no dialect is called "latin"`,
		`{"rules":[{"when":{"side":"left"},"reply":[{"text":"a"}]}]}`:     `no side request is called "left"`,
		`{"rules":[{"reply":[{"text":"a"},{"fail":{"status":200}}]}]}`:    "step 2 fail: status 200",
		`{"rules":[{"reply":[{"tool":{"does":"fly"}}]}]}`:                 `does "fly"`,
		`{"rules":[{"reply":[{"tool":{}}]}]}`:                             "want one of name and does",
		`{"rules":[{"times":-1,"reply":[{"text":"a"}]}]}`:                 "times is negative",
		`{"rules":[{"reply":[{"usage":{"input_tokens":-1}}]}]}`:           "step 1 usage: has a negative",
		`{"rules":[{"reply":[{"usage":{"input_tokens":9,"cached_tokens":5,` +
			`"written_tokens":5}}]}]}`: "are more than it",
		`{"rules":[{"reply":[{"usage":{"output_tokens":1,"reasoning_tokens":2}}]}]}`: "reasoning_tokens is a part",
		`{"rules":[{"reply":[{"usage":{}},{"text":"a"},{"usage":{}}]}]}`:             "reply has 2 steps with usage",
		`{"rules":[]}{}`: "more than one",
	}
	for script, want := range tests {
		path := filepath.Join(t.TempDir(), "script.json")
		if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadScript(path); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("LoadScript of %s = %v, want %q and the file's name", script, err, want)
		}
	}
	if _, err := LoadScript(filepath.Join(t.TempDir(), "none.json")); err == nil {
		t.Error("LoadScript of no file succeeded")
	}
}

func TestTheFirstRuleThatMatchesAnswers(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	var c chooser
	c.set(Script{Rules: []Rule{
		{Name: "once", When: When{Contains: "a"}, Times: 1, Reply: []Step{{Text: "first"}}},
		{Name: "after", When: When{Contains: "a", ToolResult: &yes}, Reply: []Step{{Text: "got ${result}"}}},
		{Name: "chat", When: When{Dialect: chatDialect, ToolResult: &no}, Reply: []Step{{Text: "chat"}}},
		{Name: "pattern", When: When{Matches: `^a(\w+)`}, Reply: []Step{{Text: "${1} of ${prompt} ${2}${x}"}}},
		{Name: "names", When: When{Side: SideTitle}, Reply: []Step{{Text: "a name"}}},
	}})
	tests := []struct {
		turn       Turn
		rule, text string
	}{
		{Turn{Prompt: "abc"}, "rule 1 (once)", "first"},
		{Turn{Prompt: "abc", HasToolResult: true, ToolResult: "R"}, "rule 2 (after)", "got R"},
		{Turn{Prompt: "abc", Dialect: chatDialect}, "rule 3 (chat)", "chat"},
		{Turn{Prompt: "abc"}, "rule 4 (pattern)", "bc of abc ${x}"},
		{Turn{Prompt: "abc", Side: SideTitle}, "rule 5 (names)", "a name"},
		{Turn{Prompt: "abc", Side: SideCommit}, "side", "chore: apply the scripted change"},
		{Turn{Prompt: "say x"}, "words", "x"},
	}
	for _, tt := range tests {
		rule, steps := c.choose(tt.turn, func(string) int { return 0 })
		if rule != tt.rule || len(steps) != 1 || steps[0].Text != tt.text {
			t.Errorf("choose(%+v) = %s, %+v, want %s, %q", tt.turn, rule, steps, tt.rule, tt.text)
		}
	}
}

func TestNamesInArgumentsAreFilledInAnewEachTime(t *testing.T) {
	t.Parallel()
	call := &Call{Name: "w", Args: map[string]any{"text": "<${prompt}>", "n": 1}}
	for _, prompt := range []string{"a", "b"} {
		steps := expand([]Step{{Tool: call}}, Turn{Prompt: prompt}, nil)
		if got := steps[0].Tool.Args["text"]; got != "<"+prompt+">" {
			t.Errorf("text = %v, want <%s>", got, prompt)
		}
	}
}

func TestRecordsKeepTheHeadOfTheSystemText(t *testing.T) {
	t.Parallel()
	kept := Turn{System: strings.Repeat("a", maxRecordedSystem-1) + "éb",
		Tools: []Tool{{Name: "x", schema: schema{Required: []string{"y"}}}}}.forRecord()
	if kept.System != strings.Repeat("a", maxRecordedSystem-1) || kept.Tools[0].schema.Required != nil {
		t.Errorf("kept %d bytes of system text and tools %+v", len(kept.System), kept.Tools)
	}
}

func TestSideRequestsAreRecognised(t *testing.T) {
	t.Parallel()
	tools := []Tool{{Name: "bash"}}
	tests := []struct {
		name string
		turn Turn
		want SideRequest
	}{
		{"a title by system text", Turn{System: "You are a title generator. Output", Prompt: "say x"}, SideTitle},
		{"the same words, but with tools", Turn{System: "You are a title generator.", Tools: tools}, ""},
		{"compaction without tools", Turn{System: "You are a context summarization agent."}, SideSummary},
		{"compaction with tools", Turn{Tools: tools,
			Prompt: "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n"}, SideSummary},
		{"compaction that asks the user's way", Turn{Tools: tools,
			Prompt: "Please provide a concise summary of our conversation so far, capturing"}, SideSummary},
		{"a title that is asked the user's way", Turn{Tools: tools,
			Prompt: "Given the following... please reply with a title for the chat that is 3-4 words"}, SideTitle},
		{"a commit message", Turn{System: "You generate concise, one-line Git commit messages based on diffs."},
			SideCommit},
		{"one token", Turn{maxTokens: 1, Tools: tools, Prompt: "quota"}, SideProbe},
		{"no tools where a main request has them", Turn{Dialect: anthropicDialect}, SideOther},
		{"no tools where that says nothing", Turn{Dialect: chatDialect, Prompt: "hi"}, ""},
		{"the user quotes a sign", Turn{Tools: tools, Prompt: strings.Repeat("x", markHead) +
			"Your task is to create a detailed summary of the conversation"}, ""},
	}
	for _, tt := range tests {
		if got := sideRequestOf(tt.turn); got != tt.want {
			t.Errorf("%s: side = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTheScriptInTheDocumentationCanBeLoaded(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/scripted-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```json\n")
	text, _, found := strings.Cut(rest, "```")
	script, err := parseScript([]byte(text))
	if err != nil || !found || len(script.Rules) != 4 {
		t.Fatalf("the example has %d rules, %v; want 4", len(script.Rules), err)
	}
	groups, ok := script.Rules[0].When.match(Turn{Prompt: "Hello, World"})
	if !ok || groups[1] != "World" {
		t.Errorf("its first rule finds %q, %v", groups, ok)
	}
	for verb := range (scenario{}).verbs() {
		if !strings.Contains(string(page), "| `"+verb) {
			t.Errorf("the page does not name the verb %q", verb)
		}
	}
}

func TestARecordThatKeepsSomeForgetsTheOldest(t *testing.T) {
	t.Parallel()
	r := newRecord(nil)
	r.minKept = 3
	for range 20 {
		r.add(Request{})
	}
	r.update(1, func(q *Request) { t.Errorf("request 1 is still there: %+v", q) })
	r.update(20, func(q *Request) { q.Done = true })
	list := r.from(1)
	if n := len(list); n < 3 || n > 6 || list[n-1].N != 20 || !list[n-1].Done {
		t.Errorf("the record is %+v, want the last 3 to 6 of 20 requests", list)
	}
	if late := r.from(20); len(late) != 1 || late[0].N != 20 {
		t.Errorf("from 20 on it is %+v, want that request", late)
	}
}
