package claudecode

import (
	"slices"
	"testing"

	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

func TestTheRecordTellsHowEachTurnEnded(t *testing.T) {
	t.Parallel()
	recordtest.Check(t, newDecoder(), "testdata/record-2.1.329.jsonl.gz", []recordtest.Turn{
		{Prompt: "say finished-31579", Ending: record.Finished, Answer: "finished-31579"},
		{Prompt: "count to 200 every 50ms", Ending: record.Interrupted, Answer: "1 2 3"},
		{Prompt: "write hello.txt with Hello", Ending: record.Denied, Answer: "I will write hello.txt."},
		{Prompt: "write hello2.txt with Hello", Ending: record.Finished, Answer: "The tool has answered"},
		{Prompt: "fail 400", Ending: record.Failed},
		{Prompt: "count to 100 every 50ms", Ending: record.Finished, Answer: "1 2 3"},
		{Prompt: "say queued-1", Ending: record.Finished, Answer: "queued-1"},
		{Prompt: "think of it for 2s, then say thought", Ending: record.Finished, Answer: "thought"},
		{Prompt: "run ls, then say done", Ending: record.Finished, Answer: "done"},
	})
}

func TestAQueuedPromptIsRecordedAtOnce(t *testing.T) {
	t.Parallel()
	var queued []string
	for _, e := range recordtest.Entries(t, newDecoder(), "testdata/record-2.1.329.jsonl.gz") {
		if e.Kind == record.Queued {
			queued = append(queued, e.Text)
		}
	}
	if len(queued) != 1 || queued[0] != "say queued-1" {
		t.Errorf("queued prompts: %q, want one, say queued-1", queued)
	}
}

// A command that the user runs with "!" is one prompt. The output of the command may end the turn, because
// only some versions of Claude Code ask the model afterwards.
func TestACommandOfTheUserIsOnePrompt(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	var got []record.Entry
	for _, line := range []string{
		`{"type":"user","uuid":"u1","promptId":"p","message":{"content":"<bash-input>ls\n-a</bash-input>"}}`,
		`{"type":"user","uuid":"u2","promptId":"p","message":{"content":` +
			`"<bash-stdout>one\n</bash-stdout><bash-stderr></bash-stderr>"}}`,
		`{"type":"assistant","message":{"id":"m","stop_reason":"end_turn","content":[{"type":"text","text":"fine"}]}}`,
	} {
		for _, e := range d.Decode([]byte(line)) {
			if e.Kind != record.Detail {
				got = append(got, record.Entry{Kind: e.Kind, Text: e.Text, Ending: e.Ending, ByUser: e.ByUser})
			}
		}
	}
	want := []record.Entry{{Kind: record.Prompt, Text: "!ls\n-a", ByUser: true},
		{Kind: record.End, Ending: record.Finished}, {Kind: record.Answer, Text: "fine"},
		{Kind: record.End, Text: "fine", Ending: record.Finished}}
	if !slices.EqualFunc(got, want, func(a, b record.Entry) bool {
		return a.Kind == b.Kind && a.Text == b.Text && a.Ending == b.Ending && a.ByUser == b.ByUser
	}) {
		t.Errorf("the entries are %+v, want %+v", got, want)
	}
}
