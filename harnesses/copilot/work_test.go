package copilot

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

const (
	recorded     = "testdata/record-1.0.102.jsonl.gz"
	recordedWork = "testdata/work-1.0.102.jsonl.gz"
)

func TestTheRecordTellsTheWork(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	const done, failed, denied = coleo.ToolSuccess, coleo.ToolError, coleo.ToolDenied
	recordtest.CheckWork(t, recordedWork, list, []coleo.ToolOutcome{done, done, done, done, done, failed, failed, denied,
		failed, failed, done, done, done}, 8) // Copilot CLI does not keep arguments that are not JSON
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
}

func TestTheRecordTellsMoreThanCalls(t *testing.T) {
	t.Parallel()
	list := recordtest.Work(t, newDecoder(), recordedWork)
	if got := recordtest.All[coleo.Compaction](list); len(got) != 1 || got[0].Automatic || got[0].Before <= got[0].After ||
		!strings.Contains(got[0].Summary, "Scripted summary") {
		t.Errorf("compactions: %+v", got)
	}
	if got := recordtest.All[coleo.Problem](list); !slices.Equal(got,
		[]coleo.Problem{{Text: "400 scripted failure 400"}}) {
		t.Errorf("problems: %+v", got)
	}
	if got := recordtest.All[coleo.Thinking](list); len(got) != 2 || got[0].Text != "about the matter deeply" {
		t.Errorf("thoughts: %+v", got)
	}
	in, out := recordtest.All[coleo.ShellInput](list), recordtest.All[coleo.ShellOutput](list)
	if len(in) != 1 || len(out) != 1 || in[0].ID != out[0].ID ||
		in[0].Command != "echo shell-out; echo shell-err >&2; exit 2" {
		t.Errorf("the user's commands are %+v, and their output is %+v", in, out)
	}
	for _, a := range list { // no work of the subagent may be reported
		if text, ok := a.Work.(coleo.AssistantText); ok && text.Text == "hi" {
			t.Errorf("%+v is what a subagent said", a)
		}
	}
}

// This test decodes events of Copilot CLI's record that the recordings in testdata do not contain.
func TestRareLinesAreDecoded(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	var list []record.Entry
	for _, line := range []string{
		`{"type":"session.model_change","data":{"newModel":"a"}}`,
		`{"type":"session.model_change","data":{"newModel":"c"},"agentId":"x"}`,
		`{"type":"session.model_change","data":{"newModel":"b"}}`,
		`{"type":"session.mode_changed","data":{"previousMode":"interactive","newMode":"plan"}}`,
		`{"type":"session.info","data":{"message":"hello"}}`,
		`{"type":"session.usage_record","data":{"usage":{"inputTokens":1}}}`,
		`{"type":"session.usage_record","data":{"usage":{"inputTokens":2}}}`,
		`{"type":"assistant.message","data":{"messageId":"r","toolRequests":[{"toolCallId":"c1","name":"bash"}]}}`,
		`{"type":"permission.completed","data":{"toolCallId":"c1","result":{"kind":"denied-by-rules"}}}`,
		`{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":false}}`,
	} {
		list = append(list, d.Decode([]byte(line))...)
	}
	var kinds []coleo.EventKind
	for _, a := range record.Activities(list) {
		kinds = append(kinds, coleo.KindOf(a.Work))
	}
	if want := []coleo.EventKind{coleo.EventModel, coleo.EventMode, coleo.EventInfo, coleo.EventUsage,
		coleo.EventToolStart,
		coleo.EventUsage, coleo.EventToolEnd}; !slices.Equal(kinds, want) {
		t.Errorf("the lines tell %q, want %q", kinds, want)
	}
}

func FuzzDecode(f *testing.F) { recordtest.Fuzz(f, newDecoder, recorded, recordedWork) }

func TestTheTokensOfASubagentAreTold(t *testing.T) {
	t.Parallel()
	var own, subagents int
	for _, u := range recordtest.All[coleo.ReplyUsage](recordtest.Work(t, newDecoder(), recordedWork)) {
		if !u.Subagent {
			own++
			continue
		}
		if subagents++; u.Input != 3894 || u.Output != 1 || u.Model != "mock-1" {
			t.Errorf("the subagent's tokens are %+v", u)
		}
	}
	if own != 28 || subagents != 1 {
		t.Errorf("there are the tokens of %d replies and of %d replies to subagents, want 28 and 1", own, subagents)
	}
}
