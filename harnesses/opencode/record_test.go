package opencode

import (
	"bufio"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev/record"
	"coleo.dev/record/recordtest"
	"coleo.dev/sqlite"
)

const recorded = "testdata/record-1.18.33.jsonl.gz"

// row is a row of OpenCode's database: of a message, of a part of one, or of an event.
type row struct {
	Message string          `json:"message"`
	Session string          `json:"session"` // "" for a part
	Part    string          `json:"part"`
	Created int64           `json:"created"`
	Seq     int64           `json:"seq"`
	Type    string          `json:"type"` // of an event; "" for a message and a part
	Data    json.RawMessage `json:"data"`
}

// database is a database like OpenCode's, which a test fills.
type database struct {
	t    *testing.T
	path string
	db   *sql.DB
	rows []row

	noEvents bool // it keeps no events, as older versions
}

func newDatabase(t *testing.T) *database { return newDatabaseOf(t, recorded) }

func newDatabaseOf(t *testing.T, recorded string) *database {
	d := &database{t: t, path: filepath.Join(t.TempDir(), "opencode.db")}
	var err error
	d.db, err = sqlite.Open(d.path, "_journal_mode=WAL")
	d.check(err)
	t.Cleanup(func() { d.check(d.db.Close()) })
	d.exec("CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT)")
	d.exec("CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, time_created INTEGER, data TEXT)")
	d.exec("CREATE TABLE event (id TEXT PRIMARY KEY, aggregate_id TEXT, seq INTEGER, type TEXT, data TEXT)")
	file, err := os.Open(recorded)
	d.check(err)
	defer file.Close()
	lines, err := gzip.NewReader(file)
	d.check(err)
	s := bufio.NewScanner(lines)
	for s.Buffer(nil, 1<<20); s.Scan(); {
		var r row
		d.check(json.Unmarshal(s.Bytes(), &r))
		d.rows = append(d.rows, r)
	}
	d.check(s.Err())
	return d
}

func (d *database) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *database) exec(query string, args ...any) {
	d.t.Helper()
	_, err := d.db.Exec(query, args...)
	d.check(err)
}

// put writes a row.
func (d *database) put(r row, data string) {
	d.t.Helper()
	if r.Session != "" {
		d.exec("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?)", r.Message, r.Session, r.Created, data)
	} else {
		d.exec("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?)", r.Part, r.Message, r.Created, data)
	}
}

func (d *database) tail(since int64) record.Tail {
	tail := openTail(d.path, record.Where{Conversation: d.rows[0].Session, Since: time.UnixMilli(since)})
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
	for _, r := range d.rows {
		d.put(r, string(r.Data))
	}
	recordtest.CheckEntries(t, recorded, d.tail(0).Next(), recordedTurns)
}

// OpenCode writes a message before its text, and changes a reply until it is whole.
func TestAMessageIsReadOnceWhenItIsWritten(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	tail := d.tail(0)
	prompt, reply := d.rows[0], d.rows[1]
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
	d.put(prompt, string(prompt.Data))
	expect("the prompt has no text yet")
	d.put(row{Part: "p1", Message: prompt.Message}, `{"type":"text","text":"do it"}`)
	expect("the prompt is whole", record.Prompt)
	d.put(reply, `{"role":"assistant","time":{"created":1}}`)
	expect("the reply begins", record.Answer)
	d.put(row{Part: "p2", Message: reply.Message}, `{"type":"text","text":"a"}`)
	expect("the reply grows")
	d.put(reply, `{"role":"assistant","finish":"stop","time":{"completed":2}}`)
	expect("the reply is whole", record.Answer, record.End)
	expect("nothing is new")
}

// After a denial with words OpenCode goes on.
func TestADenialWithWordsEndsNoTurn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	reply := d.rows[1]
	d.put(reply, `{"role":"assistant","finish":"tool-calls"}`)
	d.put(row{Part: "p", Message: reply.Message}, `{"type":"tool","state":{"status":"error",
		"error":"The user rejected permission to use this specific tool call with the following feedback: no"}}`)
	if got := d.tail(0).Next(); len(got) != 1 || got[0].Kind != record.Tool {
		t.Errorf("the record says %+v, want a tool", got)
	}
}

// OpenCode ends the turn of a question that the user dismisses.
func TestADismissedQuestionEndsTheTurn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	reply := d.rows[1]
	d.put(reply, `{"role":"assistant","finish":"tool-calls"}`)
	d.put(row{Part: "p", Message: reply.Message}, `{"type":"tool","tool":"question","state":{"status":"error",
		"error":"The user dismissed this question"}}`)
	if got := d.tail(0).Next(); len(got) != 1 || got[0].Kind != record.End || got[0].Ending != record.Denied {
		t.Errorf("the record says %+v, want a denied end", got)
	}
}
