package modelserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func decodeChat(t *testing.T, messages string) Turn {
	t.Helper()
	turn, err := chat{}.decode([]byte(`{"model":"m","messages":` + messages + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func TestChatPromptIsTheUsersLastText(t *testing.T) {
	t.Parallel()
	rules := strings.Repeat("You MUST use this format. ", 20)
	tests := []struct {
		name, messages, prompt string
		has                    bool
	}{
		{"a string", `[{"role":"system","content":"s"},{"role":"user","content":" hi\n"}]`, " hi\n", false},
		{"parts", `[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url"}]}]`, "hi", false},
		{"a reminder among the parts",
			`[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text",` +
				`"text":"<system-reminder>x</system-reminder>"}]}]`, "hi", false},
		{"a tool result",
			`[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[]},{"role":"tool",` +
				`"content":"done"}]`, "hi", true},
		{"the system text repeated after it", `[{"role":"system","content":` + mustJSON("Be good.\n"+rules) +
			`},{"role":"user","content":` + mustJSON("a\n\nb \n\n"+rules) + `}]`, "a\n\nb ", false},
		{"a long end that is the user's own", `[{"role":"system","content":"s"},{"role":"user","content":` +
			mustJSON("a\n\n"+rules) + `}]`, "a\n\n" + rules, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := decodeChat(t, tt.messages)
			if got.Prompt != tt.prompt || got.HasToolResult != tt.has {
				t.Errorf("turn = %q, result %v, want %q, %v", got.Prompt, got.HasToolResult, tt.prompt, tt.has)
			}
		})
	}
}

func chatBody(more string) string {
	return `{"model":"m",` + more + `"messages":[{"role":"user","content":"go"}]}`
}

func TestChatStream(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Script: everything})
	_, body := ask(t, s.URL()+"/v1/chat/completions",
		chatBody(`"stream":true,"stream_options":{"include_usage":true},`))
	if !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("stream ends with %q", body[max(0, len(body)-40):])
	}
	var text, thought string
	args := map[float64]string{}
	var finish, tokens any
	for _, e := range eventsOf(t, body) {
		delta := at(e.data, "choices", 0, "delta")
		text += str(at(delta, "content"))
		thought += str(at(delta, "reasoning_content"))
		if call := at(delta, "tool_calls", 0); call != nil {
			args[at(call, "index").(float64)] += str(at(call, "function", "arguments"))
		}
		if f := at(e.data, "choices", 0, "finish_reason"); f != nil {
			finish = f
		}
		if u := at(e.data, "usage", "total_tokens"); u != nil {
			tokens = u
		}
	}
	if text != "I will do it." || thought != "hm hm" || args[0] != `{"command":"ls"}` || args[1] != `{"command": ` {
		t.Errorf("stream says %q, thinks %q, calls %v", text, thought, args)
	}
	if finish != "tool_calls" || tokens == nil {
		t.Errorf("finish = %v, tokens = %v", finish, tokens)
	}
}

func TestChatStreamHasUsageOnlyIfAskedTo(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	if _, body := ask(t, s.URL()+"/v1/chat/completions", chatBody(`"stream":true,`)); strings.Contains(body, "usage") {
		t.Errorf("stream = %s, want no usage", body)
	}
}

func TestChatWhole(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Script: everything})
	_, body := ask(t, s.URL()+"/v1/chat/completions", chatBody(""))
	var got any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	message := at(got, "choices", 0, "message")
	if at(message, "content") != "I will do it." ||
		at(message, "tool_calls", 1, "function", "arguments") != `{"command": ` ||
		at(got, "choices", 0, "finish_reason") != "tool_calls" || at(got, "usage", "prompt_tokens") == nil {
		t.Errorf("completion = %s", body)
	}
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	list := chat{}.fixedReply("GET", "/v1/models", nil)
	if !strings.Contains(mustJSON(list), modelListed) {
		t.Errorf("models = %v", list)
	}
	if status, _ := ask(t, s.URL()+"/v1/models", ""); status != 404 {
		t.Errorf("POST of models = %d, want 404", status)
	}
}

func TestToolsThatQwenCodeOnlyMentionsAreRecorded(t *testing.T) {
	t.Parallel()
	got, err := chat{}.decode([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":` +
		`"<system-reminder>\nThe following tools are reachable through ` + "`tool_search`" + ` and it.\n\n### Bundled\n` +
		`- \"cron_list\": \"Lists - \\\"no_tool\\\": it\"\n- \"mcp__one__ping\": \"Pings\"\n</system-reminder>"},` +
		`{"type":"text","text":"- \"mine\": hi"}]}]}`))
	if err != nil || !slices.Equal(got.Deferred, []string{"cron_list", "mcp__one__ping"}) {
		t.Errorf("turn = %+v, %v; want the names of the tools", got, err)
	}
}
