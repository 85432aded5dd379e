package claudecode

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

const (
	recorded     = "testdata/record-2.1.329.jsonl.gz"
	recordedWork = "testdata/work-2.1.329.jsonl.gz"
)

func TestTheRecordTellsTheWork(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	const done, failed, denied = coleo.ToolSuccess, coleo.ToolError, coleo.ToolDenied
	recordtest.CheckWork(t, recordedWork, list, []coleo.ToolOutcome{done, done, done, done, done, done, failed,
		failed, denied, failed, failed, failed, done, done, done, done})
	calls := recordtest.All[coleo.ToolCall](list)
	var kinds []coleo.ToolKind
	for _, c := range calls {
		kinds = append(kinds, c.Kind)
	}
	const execute, other = coleo.ToolExecute, coleo.ToolOther
	if want := []coleo.ToolKind{execute, execute, coleo.ToolEdit, coleo.ToolMCP, coleo.ToolRead, coleo.ToolEdit,
		coleo.ToolRead, execute, execute, execute, other, other, other, other, other,
		coleo.ToolSubagent}; !slices.Equal(kinds, want) {
		t.Errorf("the kinds of the calls are %q, want %q", kinds, want)
	}
	if calls[0].Command != "ls -a >> both.log" || len(calls[4].Files) != 1 || !strings.HasSuffix(calls[4].Files[0],
		"there.txt") {
		t.Errorf("the calls have the command %q and the files %q", calls[0].Command, calls[4].Files)
	}
	exited := recordtest.End(t, list, 7)
	if exited.ExitCode == nil || *exited.ExitCode != 3 || exited.Output != "out\nerr" {
		t.Errorf("a command that exits with 3 ended as %+v", exited)
	}
	if end := recordtest.End(t, list, 0); end.ExitCode == nil || *end.ExitCode != 0 {
		t.Errorf("a command without an error ended as %+v", end)
	}
}

// One reply has a thought, two texts and two calls. They must be reported in the order of the
// reply.
func TestAReplyIsToldInItsOrder(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	first := slices.IndexFunc(list, func(a coleo.Activity) bool { _, ok := a.Work.(coleo.ToolCall); return ok })
	var got []coleo.EventKind
	for _, a := range list {
		if a.Reply == list[first].Reply && coleo.KindOf(a.Work) != coleo.EventUsage {
			got = append(got, coleo.KindOf(a.Work))
		}
	}
	if want := []coleo.EventKind{coleo.EventThinking, coleo.EventAssistantText, coleo.EventToolStart,
		coleo.EventAssistantText, coleo.EventToolStart, coleo.EventToolEnd, coleo.EventToolEnd}; !slices.Equal(got, want) {
		t.Errorf("the reply is told as %q, want %q", got, want)
	}
}

func TestTheRecordTellsMoreThanCalls(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	var tasks []coleo.TaskStatus
	for _, u := range recordtest.All[coleo.TasksUpdated](list) {
		tasks = append(tasks, u.Tasks[0].Status)
	}
	if !slices.Equal(tasks, []coleo.TaskStatus{coleo.TaskPending, coleo.TaskRunning, coleo.TaskDone}) {
		t.Errorf("the task was %q", tasks)
	}
	if got := recordtest.All[coleo.ModeChanged](list); !slices.Equal(got, []coleo.ModeChanged{{From: "default",
		To: "acceptEdits"}}) {
		t.Errorf("changes of the mode: %+v", got)
	}
	if got := recordtest.All[coleo.ModelChanged](list); !slices.Equal(got, []coleo.ModelChanged{{From: "mock-1",
		To: "mock-2"}}) {
		t.Errorf("changes of the model: %+v", got)
	}
	if got := recordtest.All[coleo.Problem](list); !slices.Equal(got,
		[]coleo.Problem{{Text: "API Error: 400 scripted failure 400"}}) {
		t.Errorf("problems: %+v", got)
	}
	if got := recordtest.All[coleo.Compaction](list); len(got) != 1 || got[0].Automatic ||
		got[0].Before <= got[0].After || got[0].After == 0 {
		t.Errorf("compactions: %+v", got)
	}
	in, out := recordtest.All[coleo.ShellInput](list), recordtest.All[coleo.ShellOutput](list)
	if len(in) != 1 || len(out) != 1 || in[0].ID != out[0].ID ||
		in[0].Command != "echo shell-out; echo shell-err >&2; exit 2" ||
		out[0].Errors != "shell-out\nshell-err\n" {
		t.Errorf("the user's commands are %+v, and their output is %+v", in, out)
	}
	if got := recordtest.All[coleo.Remark](list); len(got) != 2 || !strings.HasPrefix(got[0].Text, "Set model to") {
		t.Errorf("remarks: %+v", got)
	}
	if got := recordtest.All[coleo.Thinking](list); len(got) != 2 || got[0].Text != "about the matter deeply" ||
		!got[0].Done {
		t.Errorf("thoughts: %+v", got)
	}
}

// This test decodes lines of Claude Code's record that the recordings in testdata do not contain.
func TestRareLinesAreDecoded(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	var list []record.Entry
	for _, line := range []string{
		`{"type":"system","subtype":"api_error","error":{"status":529,"message":"overloaded"},"retryAttempt":1,"maxRe` +
			`tries":10}`,
		`{"type":"assistant","isSidechain":true,"message":{"id":"m0","content":[{"type":"tool_use","id":"c0","name":"` +
			`Bash"}]}}`,
		`{"type":"assistant","message":{"id":"m1","usage":{"output_tokens":1},"content":[{"type":"text","text":"cut o"}]}}`,
		`{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`,
		`{"type":"assistant","message":{"id":"m2","stop_reason":"tool_use","content":[{"type":"tool_use","id":"c1","n` +
			`ame":"TodoWrite",` +
			`"input":{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"cancelled"}]}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}}`,
		`{"type":"user","toolDenialKind":"rule","message":{"content":[{"type":"tool_result","tool_use_id":"c2",` +
			`"is_error":true,"content":"no"}]}}`,
	} {
		list = append(list, d.Decode([]byte(line))...)
	}
	got := record.Activities(list)
	var kinds []coleo.EventKind
	for _, a := range got {
		kinds = append(kinds, coleo.KindOf(a.Work))
	}
	if want := []coleo.EventKind{coleo.EventError, coleo.EventAssistantText, coleo.EventUsage, coleo.EventToolStart,
		coleo.EventToolEnd, coleo.EventTasks, coleo.EventToolEnd}; !slices.Equal(kinds, want) {
		t.Fatalf("the lines tell %q, want %q", kinds, want)
	}
	if end := got[6].Work.(coleo.ToolEnd); end.Outcome != coleo.ToolDenied || end.Reason != "no" {
		t.Errorf("a call that a rule forbids ended as %+v", end)
	}
	if p := got[0].Work.(coleo.Problem); p.Text != "overloaded" || !p.Retries {
		t.Errorf("a request that is tried again is told as %+v", p)
	}
	if u := got[2]; u.Reply != "m1" || list[2].Kind != record.Detail || list[3].Kind != record.End {
		t.Errorf("the tokens of a reply that was cut off are told as %+v", u)
	}
	if tasks := got[5].Work.(coleo.TasksUpdated).Tasks; len(tasks) != 1 || tasks[0] != (coleo.Task{ID: "1", Text: "a",
		Status: coleo.TaskRunning}) {
		t.Errorf("the tasks are %+v", tasks)
	}
}

func FuzzDecode(f *testing.F) { recordtest.Fuzz(f, newDecoder, recorded, recordedWork) }
