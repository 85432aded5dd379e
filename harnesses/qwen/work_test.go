package qwen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

const (
	recorded     = "testdata/record-0.24.4.jsonl.gz"
	recordedWork = "testdata/work-0.24.4.jsonl.gz"
)

func TestTheRecordTellsTheWork(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	const done, failed, denied = coleo.ToolSuccess, coleo.ToolError, coleo.ToolDenied
	// If the arguments of a tool call are not valid JSON, Qwen Code asks the model once more, and then completes
	// them itself.
	recordtest.CheckWork(t, recordedWork, list, []coleo.ToolOutcome{done, done, done, done, done, failed, failed, denied,
		"", failed, failed, failed, done, done}, 8, 9)
	var kinds []coleo.ToolKind
	for _, c := range recordtest.All[coleo.ToolCall](list) {
		kinds = append(kinds, c.Kind)
	}
	const execute, read, edit, other = coleo.ToolExecute, coleo.ToolRead, coleo.ToolEdit, coleo.ToolOther
	if want := []coleo.ToolKind{execute, execute, edit, read, edit, read, execute, execute, execute, execute, other, other,
		coleo.ToolSubagent, coleo.ToolMCP}; !slices.Equal(kinds, want) {
		t.Errorf("the kinds of the calls are %q, want %q", kinds, want)
	}
	if end := recordtest.End(t, list, 6); end.ExitCode == nil || *end.ExitCode != 3 || end.Output != "out\nerr" {
		t.Errorf("a command that exits with 3 ended as %+v", end)
	}
	if got := recordtest.All[coleo.Compaction](list); len(got) != 1 || got[0].Automatic || got[0].Before != 23714 ||
		got[0].After != 18365 || !strings.Contains(got[0].Summary, "Scripted summary") {
		t.Errorf("compactions: %+v", got)
	}
	if got := recordtest.All[coleo.Problem](list); !slices.Equal(got,
		[]coleo.Problem{{Text: "400 scripted failure 400"}}) {
		t.Errorf("problems: %+v", got)
	}
	if got := recordtest.All[coleo.Thinking](list); len(got) != 2 || got[0].Text != "about the matter deeply" {
		t.Errorf("thoughts: %+v", got)
	}
}

// This test decodes lines of Qwen Code's record that the recordings in testdata do not contain.
func TestRareLinesAreDecoded(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	var list []record.Entry
	for _, line := range []string{
		`{"type":"assistant","uuid":"r1","model":"a","message":{"parts":[{"text":"x"}]}}`,
		`{"type":"assistant","uuid":"r2","model":"b","message":{"parts":[{"functionCall":{"id":"c1","name":"todo_write",` +
			`"args":{"todos":[{"id":"7","content":"one","status":"in_progress"}]}}}]}}`,
		`{"type":"tool_result","message":{"parts":[{"functionResponse":{"id":"c1","response":{"output":"ok"}}}]}}`,
	} {
		list = append(list, d.Decode([]byte(line))...)
	}
	var kinds []coleo.EventKind
	for _, a := range record.Activities(list) {
		kinds = append(kinds, coleo.KindOf(a.Work))
	}
	if want := []coleo.EventKind{coleo.EventAssistantText, coleo.EventModel, coleo.EventToolStart, coleo.EventToolEnd,
		coleo.EventTasks}; !slices.Equal(kinds, want) {
		t.Errorf("the lines tell %q, want %q", kinds, want)
	}
}

// Qwen Code records an event with the tokens of each reply. Only its field `prompt_id` shows whether a
// subagent received the reply. After a subagent has run, `subagent_name` contains its name in each event, so
// this field must be ignored.
func TestTheTokensOfSubagentsAreRead(t *testing.T) {
	t.Parallel()
	event := func(prompt string, input int) string {
		return fmt.Sprintf(`{"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":`+
			`"qwen-code.api_response","model":"gpt-5","input_token_count":%d,"output_token_count":4,"prompt_id":"%s",`+
			`"subagent_name":"general-purpose"}}}`+"\n", input, prompt)
	}
	const id = "06b86421-a398-49b2-9a09-6cfcfbb7b3b7"
	got := recordtest.Tokens(t, conversations, id, map[string]string{".qwen/projects/-w/chats/" + id + ".jsonl": event(
		id+"########0", 100) + `{"type":"assistant","uuid":"r1","model":"gpt-5","message":{"parts":[{"text":"x"}]},` +
		`"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":4}}` + "\n" +
		event(id+"#general-purpose-call_5c171e47453f482986bd#0", 300) + event(id+"########1", 200)})
	recordtest.CheckTokens(t, got, 100, -300)
}

func FuzzDecode(f *testing.F) { recordtest.Fuzz(f, newDecoder, recorded, recordedWork) }
