package gemini

import (
	"testing"

	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

func TestTheRecordTellsHowEachTurnEnded(t *testing.T) {
	t.Parallel()
	recordtest.Check(t, newDecoder(), "testdata/record-0.61.0.jsonl.gz", []recordtest.Turn{
		{Prompt: "say finished-465", Answer: "finished-465"},
		{Prompt: "count to 200 every 50ms", Ending: record.Interrupted},
		{Prompt: "write hello.txt with Hello", Ending: record.Interrupted, Answer: "I will write hello.txt."},
		{Prompt: "write hello2.txt with Hello", Answer: "The tool has answered"},
		{Prompt: "fail 400", Ending: record.Failed},
		{Prompt: "count to 100 every 50ms", Answer: "1 2 3"},
		{Prompt: "say queued-1", Answer: "queued-1"},
		{Prompt: "think of it for 2s, then say thought", Answer: "thought"},
		{Prompt: "run ls, then say done", Answer: "done"},
	})
}

func TestACommandOfTheUserIsNoTurn(t *testing.T) {
	t.Parallel()
	list := recordtest.Entries(t, newDecoder(), recordedWork)
	recordtest.CheckUserCommands(t, list)
	for _, e := range list {
		if e.Kind == record.Prompt && ranByUser.MatchString(e.Text) {
			t.Errorf("a command of the user is told as the prompt %q", e.Text)
		}
	}
}
