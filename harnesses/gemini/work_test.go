package gemini

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

const (
	recorded     = "testdata/record-0.61.0.jsonl.gz"
	recordedWork = "testdata/work-0.61.0.jsonl.gz"
)

func TestTheRecordTellsTheWork(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	const done, failed, denied = coleo.ToolSuccess, coleo.ToolError, coleo.ToolDenied
	recordtest.CheckWork(t, recordedWork, list, []coleo.ToolOutcome{done, done, done, done, done, failed, failed, denied,
		failed, failed, failed, done, done})
	var kinds []coleo.ToolKind
	for _, c := range recordtest.All[coleo.ToolCall](list) {
		kinds = append(kinds, c.Kind)
	}
	const execute, read, edit, other = coleo.ToolExecute, coleo.ToolRead, coleo.ToolEdit, coleo.ToolOther
	if want := []coleo.ToolKind{execute, execute, edit, read, edit, read, execute, execute, execute, other, other,
		coleo.ToolSubagent, coleo.ToolMCP}; !slices.Equal(kinds, want) {
		t.Errorf("the kinds of the calls are %q, want %q", kinds, want)
	}
	if end := recordtest.End(t, list, 6); end.ExitCode == nil || *end.ExitCode != 3 || end.Output != "out\nerr" {
		t.Errorf("a command that exits with 3 ended as %+v", end)
	}
	if end := recordtest.End(t, list, 12); end.Output != "pong: hello" {
		t.Errorf("a call of an MCP server ended as %+v", end)
	}
}

// Gemini CLI writes each reply twice, and the whole history again after a canceled turn. Each piece
// of work must still be reported only once.
func TestWorkIsToldOnce(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	seen := map[string]int{}
	for _, a := range list {
		switch w := a.Work.(type) {
		case coleo.AssistantText:
			seen["text "+w.Text]++
		case coleo.Prompted:
			seen["prompt "+w.Text]++
		}
	}
	for _, text := range []string{"text hello", "prompt say hello", "text thought",
		"prompt think about the matter deeply for 1s, then say thought",
		"text I have thought about it.bothI will run it.I will run it."} {
		if seen[text] != 1 {
			t.Errorf("%q is told %d times", text, seen[text])
		}
	}
}

func TestTheRecordTellsMoreThanCalls(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	if got := recordtest.All[coleo.Problem](list); len(got) != 1 || !strings.Contains(got[0].Text,
		"scripted failure 400") {
		t.Errorf("problems: %+v", got)
	}
	if got := recordtest.All[coleo.Compaction](list); len(got) != 1 || got[0].Automatic ||
		!strings.Contains(got[0].Summary, "Scripted summary") {
		t.Errorf("compactions: %+v", got)
	}
	in, out := recordtest.All[coleo.ShellInput](list), recordtest.All[coleo.ShellOutput](list)
	if len(in) != 1 || len(out) != 1 || in[0].ID != out[0].ID ||
		in[0].Command != "echo shell-out; echo shell-err >&2; exit 2" ||
		out[0].Output != "shell-out\nshell-err" || out[0].ExitCode == nil || *out[0].ExitCode != 2 {
		t.Errorf("the user's commands are %+v, and their output is %+v", in, out)
	}
	if got := recordtest.All[coleo.Thinking](list); len(got) != 2 || got[0].Text != "about\nthe\nmatter\ndeeply" {
		t.Errorf("thoughts: %+v", got)
	}
	if got := recordtest.All[coleo.Remark](list); len(got) != 1 || !strings.HasPrefix(got[0].Text,
		"This request failed.") {
		t.Errorf("remarks: %+v", got)
	}
	if got := recordtest.All[coleo.ReplyUsage](list); len(got) == 0 || got[0].Input != 13172 || got[0].Output != 2 {
		t.Errorf("tokens: %+v", got)
	}
}

// This test decodes lines of Gemini CLI's record that the recordings in testdata do not contain.
func TestRareLinesAreDecoded(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	var list []record.Entry
	for _, line := range []string{
		`{"type":"user","content":[{"text":"go"}]}`,
		`{"$set":{"messages":[{"type":"user","content":"x"},{"type":"user","content":"short"},{"type":"gemini",` +
			`"content":"Got it. Thanks for the additional context!"}]}}`,
		`{"id":"r1","type":"gemini","content":"","model":"a"}`,
		`{"id":"r2","type":"gemini","content":"","model":"b","toolCalls":[{"id":"c1","name":"write_todos","status":"s` +
			`uccess",` +
			`"args":{"todos":[{"description":"one","status":"blocked"}]}},{"id":"c2","name":"run_shell_command",` +
			`"status":"cancelled","args":{"command":"ls"},"timestamp":7}]}`,
	} {
		list = append(list, d.Decode([]byte(line))...)
	}
	var kinds []coleo.EventKind
	for _, a := range record.Activities(list) {
		kinds = append(kinds, coleo.KindOf(a.Work))
	}
	if want := []coleo.EventKind{"", coleo.EventCompaction, coleo.EventModel, coleo.EventToolStart, coleo.EventToolStart,
		coleo.EventToolEnd, coleo.EventTasks}; !slices.Equal(kinds, want) {
		t.Errorf("the lines tell %q, want %q", kinds, want)
	}
	if c := list[1].Work.(coleo.Compaction); !c.Automatic || c.Summary != "short" {
		t.Errorf("a compaction before a reply is told as %+v", c)
	}
}

func FuzzDecode(f *testing.F) { recordtest.Fuzz(f, newDecoder, recorded, recordedWork) }
