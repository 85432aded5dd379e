package modelserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func decodeAnthropic(t *testing.T, messages string) Turn {
	t.Helper()
	turn, err := anthropic{}.decode([]byte(`{"model":"m","max_tokens":9,"tools":[{"name":"Bash",` +
		`"input_schema":{"type":"object"}}],` +
		`"system":[{"type":"text","text":"You are it."}],"messages":` + messages + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func TestAnthropicPromptIsTheUsersLastText(t *testing.T) {
	t.Parallel()
	const reminder = `{"type":"text","text":"<system-reminder>\nWorking directory: /not/this\n</system-reminder>"}`
	tests := []struct {
		name, messages, prompt, result string
		has                            bool
	}{
		{"a bare string", `[{"role":"user","content":"  hi \n"}]`, "  hi \n", "", false},
		{"reminders around it are the agent CLI's", `[{"role":"user","content":[` + reminder +
			`,{"type":"text","text":"hi"},` + reminder + `]}]`, "hi", "", false},
		{"system entries after it are not the user's",
			`[{"role":"user","content":"hi"},{"role":"system","content":"more"}]`, "hi", "", false},
		{"the last of several turns",
			`[{"role":"user","content":"one"},{"role":"assistant","content":"x"},{"role":"user","content":"two"}]`,
			"two",
			"", false},
		{"a tool result keeps the prompt before it",
			`[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"1",` +
				`"name":"Bash","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text",` +
				`"text":"done"}]},` + reminder + `]}]`,
			"hi", "done", true},
		{"a text after a tool result is a new prompt",
			`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"denied"},` +
				`{"type":"text","text":"[Request interrupted by user for tool use]"},{"type":"text","text":"next"}]}]`,
			"next", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := decodeAnthropic(t, tt.messages)
			if got.Prompt != tt.prompt || got.ToolResult != tt.result || got.HasToolResult != tt.has {
				t.Errorf("turn = %q, result %q %v, want %q, %q %v", got.Prompt, got.ToolResult, got.HasToolResult,
					tt.prompt, tt.result, tt.has)
			}
		})
	}
}

// Claude Code tells the model with a notice that a task in the background has ended. A notice after the
// model's last word begins a turn. A notice beside, within or right after the result of a tool belongs to the
// running turn.
func TestAnthropicANoticeBeginsATurnIfNoToolHasAnswered(t *testing.T) {
	t.Parallel()
	const notice = `<task-notification>\n<result>It is done.</result>\n</task-notification>`
	const sent = `{"type":"text","text":"<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\nNo human.\n\n` +
		notice + `\n</system-reminder>"}`
	const called = `{"role":"user","content":"start it"},{"role":"assistant","content":[{"type":"tool_use","id":"1",` +
		`"name":"Agent","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"ok"}`
	const answered = `]},{"role":"assistant","content":[{"type":"text","text":"Started."}]},`
	const reminder = `{"type":"text","text":"<system-reminder>\nToday.\n</system-reminder>"}`
	plain := strings.ReplaceAll(notice, `\n`, "\n")
	for name, tt := range map[string]struct {
		messages string
		want     Turn
	}{
		"after the last word": {called + answered + `{"role":"user","content":[` + sent + `,` + reminder + `]}`,
			Turn{Prompt: plain, Notice: true, Notices: 1}},
		"and a call in its turn": {called + answered + `{"role":"user","content":[` + sent +
			`]},{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"Bash","input":{}}]},{"role":"user",` +
			`"content":[{"type":"tool_result","tool_use_id":"2","content":"listed"}]}`,
			Turn{Prompt: plain, Notice: true, Notices: 1, HasToolResult: true, ToolResult: "listed"}},
		"and the next prompt": {called + answered + `{"role":"user","content":[` + sent +
			`]},{"role":"assistant","content":"Read."},{"role":"user","content":"next"}`, Turn{Prompt: "next", Notices: 1}},
		"beside a result": {called + `,` + sent + `]}`,
			Turn{Prompt: "start it", Notices: 1, HasToolResult: true, ToolResult: "ok"}},
		"within a result": {strings.Replace(called, `"content":"ok"}`,
			`"content":[{"type":"text","text":"ok"},`+sent+`]}`, 1) + `]}`,
			Turn{Prompt: "start it", Notices: 1, HasToolResult: true, ToolResult: "ok"}},
		"behind a result": {called + `]},{"role":"user","content":[` + sent + `]}`,
			Turn{Prompt: "start it", Notices: 1, HasToolResult: true, ToolResult: "ok"}},
	} {
		got := decodeAnthropic(t, `[`+tt.messages+`]`)
		if got.Prompt != tt.want.Prompt || got.Notice != tt.want.Notice || got.Notices != tt.want.Notices ||
			got.HasToolResult != tt.want.HasToolResult || got.ToolResult != tt.want.ToolResult {
			t.Errorf("%s: the turn is %+v, want %+v", name, got, tt.want)
		}
	}
}

func TestAnthropicFolderStandsInTheSystemEntries(t *testing.T) {
	t.Parallel()
	got := decodeAnthropic(t,
		`[{"role":"user","content":"hi"},{"role":"system","content":"# Environment\n - Primary working directory: `+
			`/w/a b\n - x"}]`)
	if got.Folder != "/w/a b" || !strings.HasPrefix(got.System, "You are it.\n# Env") {
		t.Errorf("folder = %q, system = %q", got.Folder, got.System)
	}
}

func TestAnthropicRefusesWhatIsNotARequest(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `[]`, `{"messages":[]}`, `{"messages":[{"role":"user","content":7}]}`} {
		if _, err := (anthropic{}).decode([]byte(body)); err == nil {
			t.Errorf("decode %q succeeded", body)
		}
	}
}

// event is one server-sent event.
type event struct {
	name string
	data map[string]any
}

func eventsOf(t *testing.T, stream string) []event {
	t.Helper()
	var list []event
	for part := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		var e event
		for line := range strings.SplitSeq(part, "\n") {
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				e.name = name
			}
			data, ok := strings.CutPrefix(line, "data: ")
			if ok && data != "[DONE]" {
				if err := json.Unmarshal([]byte(data), &e.data); err != nil {
					t.Fatalf("event %q: %v", line, err)
				}
			}
		}
		list = append(list, e)
	}
	return list
}

// at returns the value to which the keys and indexes in path lead.
func at(v any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			list, _ := v.([]any)
			if key >= len(list) {
				return nil
			}
			v = list[key]
		}
	}
	return v
}

// everything is a script whose reply thinks, writes text and calls two tools. One of the calls is malformed.
var everything = Script{Rules: []Rule{{Reply: []Step{
	{Thinking: "hm hm"}, {Text: "I will "}, {Text: "do it."},
	{Tool: &Call{Name: "Bash", Args: map[string]any{"command": "ls"}}},
	{Tool: &Call{Name: "Bash", Raw: `{"command": `}},
}}}}

func TestAnthropicStream(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Script: everything})
	_, body := ask(t, s.URL()+"/v1/messages", strings.Replace(message("go"), "{", `{"stream":true,`, 1))
	var kinds []string
	joined := map[string]string{}
	for _, e := range eventsOf(t, body) {
		if e.name != e.data["type"] {
			t.Errorf("event %q has type %v", e.name, e.data["type"])
		}
		kind := e.name
		if b := at(e.data, "content_block", "type"); b != nil {
			kind += " " + b.(string)
		}
		if kind != "content_block_delta" {
			kinds = append(kinds, kind)
			continue
		}
		for _, name := range []string{"text", "thinking", "partial_json"} {
			part, _ := at(e.data, "delta", name).(string)
			joined[name] += part
		}
	}
	want := []string{
		"message_start", "content_block_start thinking", "content_block_stop", "content_block_start text",
		"content_block_stop",
		"content_block_start tool_use", "content_block_stop", "content_block_start tool_use", "content_block_stop",
		"message_delta", "message_stop",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("events = %q\nwant %q", kinds, want)
	}
	if joined["text"] != "I will do it." || joined["thinking"] != "hm hm" ||
		joined["partial_json"] != `{"command":"ls"}{"command": ` {
		t.Errorf("deltas = %q", joined)
	}
	events := eventsOf(t, body)
	if stop := at(events[len(events)-2].data, "delta", "stop_reason"); stop != "tool_use" {
		t.Errorf("stop_reason = %v, want tool_use", stop)
	}
}

func TestAnthropicWhole(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Script: everything})
	_, body := ask(t, s.URL()+"/v1/messages", message("go"))
	var got any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if at(got, "content", 0, "thinking") != "hm hm" || at(got, "content", 1, "text") != "I will do it." ||
		at(got, "content", 2, "input", "command") != "ls" || at(got, "stop_reason") != "tool_use" ||
		at(got, "usage", "input_tokens") == nil {
		t.Errorf("message = %s", body)
	}
}

func TestAFailureInMidStreamIsAnEvent(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Script: Script{Rules: []Rule{{Reply: []Step{{Text: "so far"},
		{Fail: &Failure{Status: 529, Message: "busy"}}}}}}})
	status, body := ask(t, s.URL()+"/v1/messages", strings.Replace(message("go"), "{", `{"stream":true,`, 1))
	events := eventsOf(t, body)
	last := events[len(events)-1]
	if status != 200 || last.name != "error" || at(last.data, "error", "type") != "overloaded_error" {
		t.Errorf("status %d, last event = %+v, want an overloaded_error", status, last)
	}
}

// Claude Code sends only the names of some tools, and their schemas when the model asks for them. The record
// must contain these names.
func TestToolsThatAreOnlyMentionedAreRecorded(t *testing.T) {
	t.Parallel()
	got, err := anthropic{}.decode([]byte(`{"model":"m","max_tokens":9,"tools":[{"name":"Bash"}],"messages":[` +
		`{"role":"user","content":"hi"},{"role":"system","content":"The following deferred tools are now available ` +
		`via ToolSearch. Call it:\nWebFetch\nmcp__one__ping\n\nAvailable agents:\n"}]}`))
	if err != nil || !slices.Equal(got.Deferred, []string{"WebFetch", "mcp__one__ping"}) || got.Prompt != "hi" {
		t.Errorf("turn = %+v, %v; want the names of the tools", got, err)
	}
}
