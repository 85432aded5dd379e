package modelserver

import (
	"encoding/json"
	"strings"
	"testing"
)

const responsesTools = `"tools":[{"type":"function","name":"exec_command",` +
	`"parameters":{"properties":{"cmd":{"type":"string"},"sandbox_permissions":{"type":"string"}}}},
{"type":"custom","name":"apply_patch"},{"type":"namespace","name":"probe","tools":[{"type":"function","name":"echo",` +
	`"parameters":{"properties":{"text":{"type":"string"}}}}]}],`

func responsesBody(more, prompt string) string {
	return `{"model":"m",` + more + `"instructions":"be good","input":[
{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n ` +
		`<cwd>/w/dir</cwd>\n</environment_context>"}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":` + mustJSON(prompt) + `}]}]}`
}

func TestResponsesTurn(t *testing.T) {
	t.Parallel()
	got, err := responses{}.decode([]byte(responsesBody(responsesTools, "hi\n")))
	if err != nil {
		t.Fatal(err)
	}
	if got.Prompt != "hi\n" || got.Folder != "/w/dir" || got.System != "be good" || len(got.Tools) != 3 ||
		got.HasToolResult || got.Side != "" {
		t.Errorf("turn = %+v", got)
	}
	bare, err := responses{}.decode([]byte(`{"input":"hi"}`))
	if err != nil || bare.Prompt != "hi" {
		t.Errorf("turn = %+v, %v", bare, err)
	}
	answered,
		err := responses{}.decode([]byte(`{"input":[{"role":"user","content":"hi"},{"type":"function_call_output",` +
		`"output":"done"}]}`))
	if err != nil || !answered.HasToolResult || answered.ToolResult != "done" {
		t.Errorf("turn = %+v, %v", answered, err)
	}
	title := `{"input":[{"role":"user","content":"Generate a concise, single-line task title for this"}]}`
	if side, err := (responses{}).decode([]byte(title)); err != nil || side.Side != SideTitle {
		t.Errorf("side = %q, %v", side.Side, err)
	}
}

func TestResponsesCallsOfEachKind(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	for prompt, want := range map[string]fields{
		"run ls": {"type": "function_call", "name": "exec_command",
			"arguments": `{"cmd":"ls","justification":"May it run outside of the ` +
				`sandbox?","sandbox_permissions":"require_escalated"}`},
		"write a.txt with one": {"type": "custom_tool_call", "name": "apply_patch",
			"input": "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n"},
		"mcp echo ping": {"type": "function_call", "name": "echo", "namespace": "probe",
			"arguments": `{"text":"ping"}`},
	} {
		_, body := ask(t, s.URL()+"/v1/responses", responsesBody(responsesTools, prompt))
		var got any
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		items, _ := at(got, "output").([]any)
		last := items[len(items)-1]
		for key, value := range want {
			if at(last, key) != value {
				t.Errorf("%q: %s = %v, want %v", prompt, key, at(last, key), value)
			}
		}
	}
}

// A script can call a tool by its name. The call must have the form in which the agent CLI has offered the
// tool. So a custom tool must receive plain text, and a tool in a namespace must be called with its namespace.
func TestAToolCalledByItsNameKeepsItsKind(t *testing.T) {
	t.Parallel()
	turn := Turn{Tools: []Tool{{Name: "apply_patch", custom: true}, {Name: "echo", namespace: "probe"}}}
	if got, err := resolve(Call{Name: "apply_patch", Raw: "*** Begin Patch"}, turn); err != nil || !got.custom ||
		got.args != "*** Begin Patch" {
		t.Errorf("call = %+v, %v; want plain text", got, err)
	}
	if got, err := resolve(Call{Name: "echo"}, turn); err != nil || got.namespace != "probe" {
		t.Errorf("call = %+v, %v; want it in its namespace", got, err)
	}
}

func TestAFileIsWrittenByACommandWhereNoToolWrites(t *testing.T) {
	t.Parallel()
	turn := Turn{Tools: []Tool{{Name: "shell",
		schema: schema{Properties: map[string]schema{"command": {Type: "string"}}}}}}
	got, err := resolve(Call{Does: Write, Args: map[string]any{"path": "a b", "content": "it's\n"}}, turn)
	if want := `{"command":"printf %s 'it'\\''s\n' \u003e 'a b'"}`; err != nil || got.args != want {
		t.Errorf("call = %s, %v; want %s", got.args, err, want)
	}
}

func TestResponsesStream(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Script: everything})
	_, body := ask(t, s.URL()+"/v1/responses", responsesBody(`"stream":true,`, "go"))
	var text, thought string
	var kinds []string
	var usage any
	for _, e := range eventsOf(t, body) {
		if e.name != e.data["type"] {
			t.Errorf("event %q has type %v", e.name, e.data["type"])
		}
		switch e.name {
		case "response.output_text.delta":
			text += str(e.data["delta"])
		case "response.reasoning_summary_text.delta":
			thought += str(e.data["delta"])
		case "response.output_item.done":
			kinds = append(kinds, str(at(e.data, "item", "type")))
		case "response.completed":
			usage = at(e.data, "response", "usage", "total_tokens")
		}
	}
	if text != "I will do it." || thought != "hm hm" ||
		strings.Join(kinds, " ") != "reasoning message function_call function_call" || usage == nil {
		t.Errorf("stream says %q, thinks %q, has items %q, usage %v", text, thought, kinds, usage)
	}
}

func TestResponsesFailure(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	if status, body := ask(t, s.URL()+"/v1/responses", responsesBody(`"stream":true,`, "fail 429")); status != 429 ||
		!strings.Contains(body, "rate_limit_error") {
		t.Errorf("answer = %d %s", status, body)
	}
	if status, _ := ask(t, s.URL()+"/v1/responses", `{"input":[]}`); status != 400 {
		t.Errorf("no input = %d, want 400", status)
	}
}
