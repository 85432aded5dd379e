package codex

import (
	"encoding/json"
	"slices"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

const (
	recorded     = "testdata/record-0.169.0.jsonl.gz"
	recordedWork = "testdata/work-0.169.0.jsonl.gz"      // with a model that Codex knows
	recordedMore = "testdata/work-0.169.0-more.jsonl.gz" // with an unknown model, to which Codex offers other tools
)

func TestTheRecordTellsTheWork(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	const done, failed, denied = coleo.ToolSuccess, coleo.ToolError, coleo.ToolDenied
	recordtest.CheckWork(t, recordedWork, list, []coleo.ToolOutcome{done, done, done, done, failed, failed, denied,
		failed, failed, failed, failed, failed})
	calls := recordtest.All[coleo.ToolCall](list)
	if c := calls[0]; c.Kind != coleo.ToolExecute || c.Command != "ls -a" {
		t.Errorf("a command is told as %+v", c)
	}
	if c := calls[2]; c.Kind != coleo.ToolEdit || !slices.Equal(c.Files, []string{"new.txt"}) {
		t.Errorf("a patch is told as %+v", c)
	}
	if end := recordtest.End(t, list, 4); end.ExitCode == nil || *end.ExitCode != 3 || end.Output != "out\nerr\n" {
		t.Errorf("a command that exits with 3 ended as %+v", end)
	}
	if end := recordtest.End(t, list, 3); end.ExitCode == nil || *end.ExitCode != 0 || end.Output != "old words\n" {
		t.Errorf("a command without an error ended as %+v", end)
	}
	if end := recordtest.End(t, list, 6); end.Reason != "aborted by user" {
		t.Errorf("a command that was denied ended as %+v", end)
	}
}

func TestTheRecordTellsTheCallsOfOtherKinds(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedMore)
	const done, failed, denied = coleo.ToolSuccess, coleo.ToolError, coleo.ToolDenied
	recordtest.CheckWork(t, recordedMore, list, []coleo.ToolOutcome{done, done, done, done, failed, done, denied})
	var kinds []coleo.ToolKind
	for _, c := range recordtest.All[coleo.ToolCall](list) {
		kinds = append(kinds, c.Kind)
	}
	if want := []coleo.ToolKind{coleo.ToolMCP, coleo.ToolOther, coleo.ToolSubagent, coleo.ToolSubagent, coleo.ToolRead,
		coleo.ToolExecute, coleo.ToolExecute}; !slices.Equal(kinds, want) {
		t.Errorf("the kinds of the calls are %q, want %q", kinds, want)
	}
	tasks := recordtest.All[coleo.TasksUpdated](list)
	want := []coleo.Task{{ID: "1", Text: "first", Status: coleo.TaskDone}, {ID: "2", Text: "second",
		Status: coleo.TaskRunning},
		{ID: "3", Text: "third", Status: coleo.TaskPending}}
	if len(tasks) != 1 || !slices.Equal(tasks[0].Tasks, want) {
		t.Errorf("the tasks are %+v, want %+v", tasks, want)
	}
}

func TestTheRecordTellsMoreThanCalls(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	if got := recordtest.All[coleo.Problem](list); len(got) != 1 || got[0].Retries {
		t.Errorf("problems: %+v", got)
	}
	if got := recordtest.All[coleo.Compaction](list); len(got) != 1 || got[0].Automatic || got[0].Summary == "" {
		t.Errorf("compactions: %+v", got)
	}
	in, out := recordtest.All[coleo.ShellInput](list), recordtest.All[coleo.ShellOutput](list)
	if len(in) != 1 || len(out) != 1 || in[0].ID != out[0].ID ||
		in[0].Command != "echo shell-out; echo shell-err >&2; exit 2" ||
		out[0].Output != "shell-out\nshell-err\n" || out[0].ExitCode == nil || *out[0].ExitCode != 2 || out[0].Millis == 0 {
		t.Errorf("the user's commands are %+v, and their output is %+v", in, out)
	}
	// The model answered 27 requests, and one request for a summary of the conversation.
	if got := recordtest.All[coleo.ReplyUsage](list); len(got) != 28 || got[0].Input != 11278 || got[0].Output != 2 {
		t.Errorf("the tokens of %d replies are told: %+v", len(got), got)
	}
	if got := recordtest.All[coleo.Thinking](list); len(got) != 2 || got[0].Text != "about the matter deeply" {
		t.Errorf("thoughts: %+v", got)
	}
}

// This test decodes lines of Codex's record that the recordings in testdata do not contain.
func TestRareLinesAreDecoded(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	var list []record.Entry
	for _, line := range []string{
		`{"type":"turn_context","payload":{"turn_id":"t1","model":"a","collaboration_mode":{"mode":"default"}}}`,
		`{"type":"turn_context","payload":{"turn_id":"t2","model":"b","collaboration_mode":{"mode":"plan"}}}`,
		`{"type":"event_msg","payload":{"type":"user_message","message":"go"}}`,
		`{"type":"event_msg","payload":{"type":"agent_reasoning","text":"hm"}}`,
		`{"type":"event_msg","payload":{"type":"stream_error","message":"connects again"}}`,
		`{"type":"response_item","payload":{"type":"local_shell_call","call_id":"c1","action":{"command":["bash","-lc` +
			`","ls"]}}}`,
		`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1",` +
			`"output":"{\"output\":\"x\",\"metadata\":{\"exit_code\":1}}"}}`,
		`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":5},"last_tok` +
			`en_usage":{"input_tokens":5}}}}`,
		`{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":5},"last_tok` +
			`en_usage":{"input_tokens":5}}}}`,
		`{"type":"compacted","payload":{"message":"short"}}`,
	} {
		list = append(list, d.Decode([]byte(line))...)
	}
	var got []string
	for _, a := range record.Activities(list) {
		raw, err := json.Marshal(a.Work)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(coleo.KindOf(a.Work))+" "+string(raw))
	}
	want := []string{
		`model {"from":"a","to":"b"}`, `mode {"from":"default","to":"plan"}`, ` {"text":"go"}`,
		`thinking {"id":"","text":"hm","done":true}`, `error {"text":"connects again","retries":true}`,
		`tool_call_start {"id":"c1","name":"local_shell","kind":"execute","arguments":{"command":["bash","-lc","ls"]}` +
			`,"command":"ls"}`,
		`tool_call_end {"id":"c1","outcome":"error","reason":"exit code 1","output":"x","exit_code":1}`,
		`usage {"input_tokens":5,"cached_tokens":0,"output_tokens":0,"reasoning_tokens":0,"source":"transcript","model":"b"}`,
		`compaction {"automatic":true,"summary":"short"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the lines tell\n%q\nwant\n%q", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	recordtest.Fuzz(f, newDecoder, recorded, recordedWork, recordedMore)
}
