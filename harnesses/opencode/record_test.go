package opencode

import (
	"testing"
	"time"

	"coleo.dev/record"
	"coleo.dev/record/databasetest"
	"coleo.dev/record/recordtest"
)

const recorded = "testdata/record-1.18.33.jsonl.gz"

// database is a database like OpenCode's.
type database struct {
	*databasetest.Database

	t *testing.T
}

func newDatabase(t *testing.T) database { return newDatabaseOf(t, recorded) }

func newDatabaseOf(t *testing.T, path string) database {
	t.Helper()
	return database{Database: databasetest.NewDatabase(t, path), t: t}
}

func (d database) tail(since int64) record.Tail {
	tail := openTail(d.Path, record.Where{Conversation: d.Rows[0].Session, Since: time.UnixMilli(since)})
	d.t.Cleanup(tail.Close)
	return tail
}

var recordedTurns = []recordtest.Turn{
	{Prompt: "say finished-23266", Ending: record.Finished, Answer: "finished-23266"},
	{Prompt: "count to 200 every 50ms", Ending: record.Interrupted},
	{Prompt: "write hello.txt with Hello", Ending: record.Denied},
	{Prompt: "write hello2.txt with Hello", Ending: record.Finished, Answer: "The tool has answered"},
	{Prompt: "fail 400", Ending: record.Failed},
	{Prompt: "count to 100 every 50ms", Ending: record.Finished, Answer: "1 2 3"},
	{Prompt: "think of it for 2s, then say thought", Ending: record.Finished, Answer: "thought"},
	{Prompt: "run ls, then say done", Ending: record.Finished, Answer: "done"},
}

func TestTheRecordTellsHowEachTurnEnded(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for _, r := range d.Rows {
		d.Put(r, string(r.Data))
	}
	recordtest.CheckEntries(t, recorded, d.tail(0).Next(), recordedTurns)
}

// OpenCode writes a message before its text, and changes a reply until the reply is complete. Each
// entry must be returned only once, at the time when its message is ready.
func TestAMessageIsReadOnceWhenItIsWritten(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	tail := d.tail(0)
	prompt, reply := d.Rows[0], d.Rows[1]
	expect := func(step string, want ...record.Kind) {
		t.Helper()
		var got []record.Kind
		for _, e := range tail.Next() {
			got = append(got, e.Kind)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %v, want %v", step, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", step, got, want)
			}
		}
	}
	expect("nothing is written")
	d.Put(prompt, string(prompt.Data))
	expect("the prompt has no text yet")
	d.Put(databasetest.Row{Part: "p1", Message: prompt.Message}, `{"type":"text","text":"do it"}`)
	expect("the prompt is whole", record.Prompt)
	d.Put(reply, `{"role":"assistant","time":{"created":1}}`)
	expect("the reply begins", record.Answer)
	d.Put(databasetest.Row{Part: "p2", Message: reply.Message}, `{"type":"text","text":"a"}`)
	expect("the reply grows")
	d.Put(reply, `{"role":"assistant","finish":"stop","time":{"completed":2}}`)
	expect("the reply is whole", record.Answer, record.End)
	expect("nothing is new")
}

// If the user denies a tool with a comment, OpenCode passes the comment on to the model and continues. So this
// denial must not end the turn.
func TestADenialWithWordsEndsNoTurn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	reply := d.Rows[1]
	d.Put(reply, `{"role":"assistant","finish":"tool-calls"}`)
	d.Put(databasetest.Row{Part: "p", Message: reply.Message}, `{"type":"tool","state":{"status":"error",
		"error":"The user rejected permission to use this specific tool call with the following feedback: no"}}`)
	if got := d.tail(0).Next(); len(got) != 1 || got[0].Kind != record.Tool {
		t.Errorf("the record says %+v, want a tool", got)
	}
}

// OpenCode asks the user when a model repeats the same call. If the user denies, OpenCode records this as an
// error of the whole reply. Coleo must report a denial and not an error.
func TestADenialOfRepeatedCallsIsNoError(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]record.Ending{
		"The user rejected permission to use this specific tool call.": record.Denied,
		"The model is away": record.Failed,
	} {
		d := newDatabase(t)
		d.Put(d.Rows[1], `{"role":"assistant","error":{"name":"UnknownError","data":{"message":"`+message+`"}}}`)
		if got := d.tail(0).Next(); len(got) != 1 || got[0].Kind != record.End || got[0].Ending != want {
			t.Errorf("%q: the record says %+v, want the end %s", message, got, want)
		}
	}
}

// When the user dismisses a question, the turn ends. This is true for OpenCode, and also for Kilo CLI 7.7.7,
// which records that the tool is completed.
func TestADismissedQuestionEndsTheTurn(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{
		"OpenCode": `{"status":"error","error":"The user dismissed this question"}`,
		"Kilo CLI": `{"status":"completed","output":"User dismissed the question.",` +
			`"metadata":{"answers":[],"dismissed":true}}`,
	} {
		d := newDatabase(t)
		reply := d.Rows[1]
		d.Put(reply, `{"role":"assistant","finish":"tool-calls"}`)
		d.Put(databasetest.Row{Part: "p", Message: reply.Message}, `{"type":"tool","tool":"question","state":`+state+`}`)
		if got := d.tail(0).Next(); len(got) != 1 || got[0].Kind != record.End || got[0].Ending != record.Denied {
			t.Errorf("%s: the record says %+v, want a denied end", name, got)
		}
	}
}

func TestACommandOfTheUserIsNoTurn(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/work-1.18.33.jsonl.gz", "testdata/work-kilo-7.7.7.jsonl.gz"} {
		for _, n := range []int{1, databasetest.AtTheEnd} {
			d := newDatabaseOf(t, path)
			recordtest.CheckUserCommands(t, d.Entries(account{"opencode"}.record(), n))
		}
	}
}
