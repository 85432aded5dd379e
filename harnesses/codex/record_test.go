package codex

import (
	"testing"

	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

func TestTheRecordTellsHowEachTurnEnded(t *testing.T) {
	t.Parallel()
	recordtest.Check(t, newDecoder(), "testdata/record-0.169.0.jsonl.gz", []recordtest.Turn{
		{Prompt: "say finished-4360", Ending: record.Finished, Answer: "finished-4360"},
		{Prompt: "count to 200 every 50ms", Ending: record.Interrupted},
		{Prompt: "write hello.txt with Hello", Ending: record.Interrupted, Answer: "I will write hello.txt."},
		{Prompt: "write hello2.txt with Hello", Ending: record.Finished, Answer: "The tool has answered"},
		{Prompt: "fail 400", Ending: record.Failed},
		{Prompt: "count to 100 every 50ms", Ending: record.Finished, Answer: "1 2 3"},
		{Prompt: "think of it for 2s, then say thought", Ending: record.Finished, Answer: "thought"},
		{Prompt: "run ls, then say done", Ending: record.Finished, Answer: "done"},
	})
}
