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

// After a denial, Gemini CLI writes its whole history again. The last repeated line is the result of a tool,
// which would mean that the turn continues. So the repeated lines must be ignored.
func TestARepeatedHistoryIsNoTurn(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	line := func(kind, content string) []record.Entry {
		return d.Decode([]byte(`{"id":"1","timestamp":"2026-11-23T22:46:33.957Z","type":"` + kind + `","content":` +
			content + `}`))
	}
	prompt := `[{"text":"run ls"}]`
	result := `[{"functionResponse":{"id":"a","name":"run_shell_command","response":{"output":"x"}}}]`
	if got := line("user", prompt); len(got) != 1 || got[0].Kind != record.Prompt {
		t.Errorf("the prompt is told as %+v", got)
	}
	if got := line("info", `"Request cancelled."`); len(got) != 1 || got[0].Kind != record.End {
		t.Errorf("the denial is told as %+v", got)
	}
	for _, repeated := range [][2]string{{"user", `[{"text":"<session_context>"}]`}, {"user", prompt},
		{"gemini", `[{"functionCall":{"id":"a","name":"run_shell_command"}}]`}, {"user", result}} {
		if got := line(repeated[0], repeated[1]); len(got) != 0 {
			t.Errorf("the repeated line %s is told as %+v", repeated[1], got)
		}
	}
	d.Decode([]byte(`{"$set":{"messages":[],"lastUpdated":"2026-11-23T22:46:33.968Z"}}`))
	if got := line("user", prompt); len(got) != 1 || got[0].Kind != record.Prompt {
		t.Errorf("the next prompt is told as %+v", got)
	}
}
