package qwen

import (
	"slices"
	"testing"

	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

func TestTheRecordTellsHowEachTurnEnded(t *testing.T) {
	t.Parallel()
	recordtest.Check(t, newDecoder(), "testdata/record-0.24.4.jsonl.gz", []recordtest.Turn{
		{Prompt: "say finished-13551", Answer: "finished-13551"},
		{Prompt: "count to 200 every 50ms", Answer: "1 2 3"},
		{Prompt: "write hello.txt with Hello", Ending: record.Denied, Answer: "I will write hello.txt."},
		{Prompt: "write hello2.txt with Hello", Answer: "The tool has answered"},
		{Prompt: "fail 400", Ending: record.Failed},
		{Prompt: "count to 100 every 50ms", Answer: "1 2 3"},
	})
}

// Each line of a turn must report that the agent CLI works, except a reply that calls no tool. Such a reply
// may be the last line of the turn.
func TestTheLastLineOfATurnClaimsNothing(t *testing.T) {
	t.Parallel()
	entries := slices.DeleteFunc(recordtest.Entries(t, newDecoder(), "testdata/record-0.24.4.jsonl.gz"),
		func(e record.Entry) bool { return e.Kind == record.Detail })
	for i, e := range entries {
		last := i == len(entries)-1 || entries[i+1].Kind == record.Prompt
		if claims := e.Kind != record.End && !e.MayEnd; claims == last {
			t.Errorf("entry %d, %+v: last of its turn %v, work %v", i, e, last, claims)
		}
	}
}
