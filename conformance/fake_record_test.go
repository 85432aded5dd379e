package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/record"
)

// recordingFake is like fakeHarness, but its harness also reads the fake's notes, the file in which the fake
// agent CLI records its conversation. The built-in harnesses read their agent CLIs' records in the same way.
func recordingFake(t *testing.T, edits ...string) coleo.Harness {
	t.Helper()
	spec, err := rules.ParseSpec("fake.toml", []byte(fakeDescription(t, edits...)))
	if err != nil {
		t.Fatal(err)
	}
	notes := record.Source{Pattern: "{id}.jsonl", Open: record.Lines(func() record.Decoder { return notesDecoder{} })}
	return accounting{terminal.New(spec, terminal.Hooks{Record: notes}, testprogram.HoldCommand(), terminal.NewShared())}
}

// notesDecoder decodes the fake's notes. It skips the work of subagents.
type notesDecoder struct{}

func (notesDecoder) Decode(line []byte) []record.Entry {
	var n fakeagent.Note
	if json.Unmarshal(line, &n) != nil || n.Below {
		return nil
	}
	e := record.Entry{Text: n.Text, Time: n.At, Reply: fmt.Sprint(n.Reply)}
	switch n.Kind {
	case fakeagent.NotedPrompt:
		e.Kind, e.ByUser, e.Reply = record.Prompt, true, ""
	case fakeagent.NotedText:
		e.Kind, e.Work = record.Answer, coleo.AssistantText{Block: record.Whole(n.Text)}
	case fakeagent.NotedCall:
		e.Kind, e.Text, e.Work = record.Tool, n.Tool, record.Call(n.ID, n.Tool, kindOfFakeTool(n.Tool), n.Text)
	case fakeagent.NotedResult:
		e.Kind, e.Text, e.Reply = record.Tool, "", ""
		e.Work = coleo.ToolEnd{ID: n.ID, Outcome: coleo.ToolOutcome(n.Outcome), Output: n.Text}
	case fakeagent.NotedEnd:
		e.Kind, e.Reply = record.End, ""
		e.Ending = map[string]record.Ending{"error": record.Failed, "interrupted": record.Interrupted}[n.Outcome]
		if e.Ending == "" {
			e.Ending = record.Finished
		}
	}
	return []record.Entry{e}
}

func kindOfFakeTool(name string) coleo.ToolKind {
	kinds := map[string]coleo.ToolKind{"write": coleo.ToolEdit, "shell": coleo.ToolExecute, "subagent": coleo.ToolSubagent}
	if kind := kinds[name]; kind != "" {
		return kind
	}
	return coleo.ToolOther
}

// If a harness does not declare which events it reports, the checks of events must be skipped.
func TestChecksOfEventsAreSkippedWithoutEvents(t *testing.T) {
	t.Parallel()
	h := fakeHarness(t, "calls = true\ntexts = true\n", "", "subagent_tool = \"subagent\"\n", "",
		"subagent_input = '{\"task\":\"{{.Task}}\"}'\n", "")
	report, err := Run(t.Context(), h, fakeConfig(t), pick([]string{"tool_events", "text_blocks", "subagent_events"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if !r.Skipped || !strings.Contains(r.Details, "its events report no ") {
			t.Errorf("%s: %s", r.Name, r.Details)
		}
	}
}
