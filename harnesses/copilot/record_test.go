package copilot

import (
	"testing"

	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

func TestTheRecordTellsHowEachTurnEnded(t *testing.T) {
	t.Parallel()
	recordtest.Check(t, newDecoder(), "testdata/record-1.0.102.jsonl.gz", []recordtest.Turn{
		{Prompt: "say finished-18289", Ending: record.Finished, Answer: "finished-18289"},
		{Prompt: "count to 200 every 50ms", Ending: record.Interrupted},
		{Prompt: "write hello.txt with Hello", Ending: record.Denied, Answer: "I will write hello.txt."},
		{Prompt: "write hello2.txt with Hello", Ending: record.Finished, Answer: "The tool has answered"},
		{Prompt: "fail 400", Ending: record.Failed},
		{Prompt: "count to 100 every 50ms", Ending: record.Finished, Answer: "1 2 3"},
	})
}

// Each turn must have one end, after everything else that belongs to the turn.
func TestATurnEndsOnce(t *testing.T) {
	t.Parallel()
	ended := true
	for _, e := range recordtest.Entries(t, newDecoder(), "testdata/record-1.0.102.jsonl.gz") {
		if e.Kind == record.Detail {
			continue
		}
		if e.Kind != record.Prompt && ended {
			t.Errorf("%+v comes behind the end of its turn", e)
		}
		ended = e.Kind == record.End
	}
}

// The messages of a subagent must not end the turn.
func TestASubagentEndsNoTurn(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	for _, line := range []string{
		`{"type":"user.message","data":{"content":"do it"}}`,
		`{"type":"assistant.message","data":{"content":"","toolRequests":[{"name":"task"}]}}`,
		`{"type":"assistant.message","data":{"content":"done","toolRequests":[],"parentToolCallId":"c1"}}`,
		`{"type":"assistant.turn_end","data":{}}`,
	} {
		for _, e := range d.Decode([]byte(line)) {
			if e.Kind == record.End {
				t.Errorf("%s ends the turn", line)
			}
		}
	}
}

func TestACommandOfTheUserIsNoTurn(t *testing.T) {
	t.Parallel()
	recordtest.CheckUserCommands(t, recordtest.Entries(t, newDecoder(), recordedWork))
}
