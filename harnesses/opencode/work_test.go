package opencode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/record/databasetest"
	"coleo.dev/record/recordtest"
)

const (
	recordedWork = "testdata/work-1.18.33.jsonl.gz"
	recordedKilo = "testdata/work-kilo-7.7.7.jsonl.gz" // the database of Kilo CLI has the same form
)

// work returns what a reader of the growing database returns if it reads after every n events.
func (d database) work(n int) []record.Entry {
	return d.Entries(account{folder: "opencode"}.record(), n)
}

func TestTheRecordTellsTheWork(t *testing.T) {
	t.Parallel()
	// The model has also called a tool that does not exist. OpenCode keeps no arguments of this call. In Kilo
	// CLI, the tool's name looks like the name of an MCP server's tool.
	checkRecordedWork(t, recordedWork, coleo.ToolOther, 9)
	checkRecordedWork(t, recordedKilo, coleo.ToolMCP)
}

func checkRecordedWork(t *testing.T, path string, unknown coleo.ToolKind, lost ...int) {
	t.Helper()
	list := record.Activities(newDatabaseOf(t, path).work(databasetest.AtTheEnd))
	const done, failed, denied = coleo.ToolSuccess, coleo.ToolError, coleo.ToolDenied
	recordtest.CheckWork(t, path, list, []coleo.ToolOutcome{done, done, done, done, done, failed, failed, denied,
		failed, failed, done, done, done}, lost...)
	var kinds []coleo.ToolKind
	for _, c := range recordtest.All[coleo.ToolCall](list) {
		kinds = append(kinds, c.Kind)
	}
	const execute, read, edit = coleo.ToolExecute, coleo.ToolRead, coleo.ToolEdit
	if want := []coleo.ToolKind{execute, execute, edit, read, edit, read, execute, execute, execute, unknown,
		coleo.ToolOther, coleo.ToolSubagent, coleo.ToolMCP}; !slices.Equal(kinds, want) {
		t.Errorf("the kinds of the calls are %q, want %q", kinds, want)
	}
	if end := recordtest.End(t, list, 6); end.ExitCode == nil || *end.ExitCode != 3 || end.Output != "out\nerr\n" {
		t.Errorf("a command that exits with 3 ended as %+v", end)
	}
}

func TestTheRecordTellsMoreThanCalls(t *testing.T) {
	t.Parallel()
	list := record.Activities(newDatabaseOf(t, recordedWork).work(databasetest.AtTheEnd))
	tasks := recordtest.All[coleo.TasksUpdated](list)
	want := []coleo.Task{{ID: "1", Text: "first", Status: coleo.TaskDone}, {ID: "2", Text: "second",
		Status: coleo.TaskRunning},
		{ID: "3", Text: "third", Status: coleo.TaskPending}}
	if len(tasks) != 1 || !slices.Equal(tasks[0].Tasks, want) {
		t.Errorf("the tasks are %+v, want %+v", tasks, want)
	}
	if got := recordtest.All[coleo.ModeChanged](list); !slices.Equal(got, []coleo.ModeChanged{{From: "build",
		To: "plan"}}) {
		t.Errorf("changes of the mode: %+v", got)
	}
	if got := recordtest.All[coleo.Problem](list); !slices.Equal(got, []coleo.Problem{{Text: "scripted failure 400"}}) {
		t.Errorf("problems: %+v", got)
	}
	if got := recordtest.All[coleo.Compaction](list); len(got) != 1 || got[0].Automatic ||
		!strings.Contains(got[0].Summary, "Scripted summary") {
		t.Errorf("compactions: %+v", got)
	}
	in, out := recordtest.All[coleo.ShellInput](list), recordtest.All[coleo.ShellOutput](list)
	if len(in) != 1 || len(out) != 1 || in[0].ID != out[0].ID || out[0].Output != "shell-out\nshell-err\n" ||
		in[0].Command != "echo shell-out; echo shell-err >&2; exit 2" {
		t.Errorf("the user's commands are %+v, and their output is %+v", in, out)
	}
	if got := recordtest.All[coleo.Thinking](list); len(got) != 2 || got[0].Text != "about the matter deeply" {
		t.Errorf("thoughts: %+v", got)
	}
	if got := recordtest.All[coleo.ReplyUsage](list); len(got) == 0 || got[0].Input != 8125 || got[0].Output != 2 ||
		got[0].Cost == 0 {
		t.Errorf("tokens: %+v", got)
	}
}

// This test decodes events of OpenCode's database that the recordings in testdata do not contain.
func TestRareEventsAreDecoded(t *testing.T) {
	t.Parallel()
	w := newWorker(0)
	part := func(data string) (out []coleo.Work) {
		var e eventData
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		for _, told := range w.event("message.part.updated.1", e) {
			out = append(out, told.entry.Work)
		}
		return out
	}
	retry := part(`{"part":{"id":"p1","type":"retry","attempt":1,"error":{"name":"APIError","data":{"message":"slo` +
		`w down"}}}}`)
	if len(retry) != 1 || retry[0] != (coleo.Problem{Text: "slow down", Retries: true}) {
		t.Errorf("a request that is tried again is told as %+v", retry)
	}
	cut := part(`{"part":{"id":"p2","type":"tool","tool":"bash","callID":"c","state":{"status":"error","error":"To` +
		`ol execution aborted"}}}`)
	if len(cut) != 1 || coleo.KindOf(cut[0]) != coleo.EventToolStart {
		t.Errorf("a call that was cut off is told as %+v, want no end", cut)
	}
	const compacted = `{"part":{"id":"p3","type":"tool","tool":"bash","callID":"d","state":{"status":"completed","` +
		`time":{"compacted":5}}}}`
	if again := part(compacted); again != nil {
		t.Errorf("a call whose output was taken out is told as %+v", again)
	}
	wrong := part(`{"part":{"id":"p4","type":"tool","tool":"invalid","callID":"e","state":{"status":"completed","i` +
		`nput":{"tool":"read",` +
		`"error":"Invalid input for tool read: Type validation failed: Value: {\"a\":1}.\nError message: no path"}}}}`)
	if c, ok := wrong[0].(coleo.ToolCall); !ok || c.Name != "read" || string(c.Arguments) != `{"a":1}` {
		t.Errorf("a call with wrong arguments is told as %+v", wrong[0])
	}
}

func FuzzEvent(f *testing.F) {
	for _, r := range []string{`{"part":{"type":"tool","state":{"status":"completed","input":7}}}`,
		`{"info":{"role":"user"}}`, `[]`, ``,
		`{"part":{"id":"a","type":"tool","tool":"invalid","state":{"status":"error","input":{"error":"Invalid input f` +
			`or tool x: y: Value: .\nError message: "}}}}`} {
		f.Add("message.part.updated.1", []byte(r))
		f.Add("message.updated.1", []byte(r))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		w := newWorker(0)
		var e eventData
		_ = json.Unmarshal(data, &e)
		for _, told := range w.event(kind, e) {
			recordtest.CheckEntry(t, told.entry)
		}
	})
}

// A reader of the growing database must return the same work in the same places, whether it reads often or
// only at the end.
func TestATailTellsTheSameWheneverItReads(t *testing.T) {
	t.Parallel()
	for _, path := range []string{recordedWork, recordedKilo} {
		checkPlaces(t, path)
	}
}

func checkPlaces(t *testing.T, path string) {
	t.Helper()
	want := record.Activities(newDatabaseOf(t, path).work(databasetest.AtTheEnd))
	last, places := int64(0), map[string]bool{}
	for _, a := range want {
		place := fmt.Sprint(a.Position, " ", a.Key)
		if a.Position < last || a.Key == "" || places[place] {
			t.Errorf("%+v is at %q, behind %d", a.Work, place, last)
		}
		last, places[place] = a.Position, true
	}
	for _, n := range []int{1, 3, 50} {
		got := record.Activities(newDatabaseOf(t, path).work(n))
		if i := firstDifference(got, want); i >= 0 {
			t.Errorf("read after every %d events, activity %d of %d and %d differs: %+v, want %+v", n, i, len(got), len(want),
				got[min(i, len(got)-1)], want[min(i, len(want)-1)])
		}
	}
}

func firstDifference(a, b []coleo.Activity) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || !reflect.DeepEqual(a[i], b[i]) {
			return i
		}
	}
	return -1
}

// OpenCode's database has messages and, in some versions, events. The entries about the state come from the
// messages, so they must be the same without events.
func TestEventsDoNotChangeTheState(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, databasetest.AtTheEnd} {
		with, without := newDatabaseOf(t, recordedWork), newDatabaseOf(t, recordedWork)
		without.NoEvents = true
		got, want := states(with.work(n)), states(without.work(n))
		if !reflect.DeepEqual(got, want) || len(want) == 0 {
			t.Errorf("with events the state is\n%+v\nwithout\n%+v", got, want)
		}
	}
}

// states returns the entries about the state, without their work.
func states(entries []record.Entry) (out []record.Entry) {
	for _, e := range entries {
		if e.Kind != record.Detail {
			e.Work, e.Reply, e.Position, e.Key = nil, "", 0, ""
			out = append(out, e)
		}
	}
	return out
}

// A subagent has its own conversation, and can start a second subagent. At the end of the call that started
// the first subagent, the tokens of both must be reported. They must be reported once, however often the
// database is read.
func TestTheTokensOfSubagentsAreTold(t *testing.T) {
	t.Parallel()
	const subagent = "ses_df876b94cffeL55Zgcnf6BOJU6"
	for _, n := range []int{1, 7, databasetest.AtTheEnd} {
		d := newDatabaseOf(t, recordedWork)
		d.Exec("INSERT INTO message VALUES ('msg_sub', ?, 1, ?)", subagent,
			`{"role":"assistant","modelID":"small","tokens":{"input":5,"output":3,"reasoning":1,"cache":{"read":20,"write":2}}}`)
		d.Exec("INSERT INTO session VALUES ('ses_below', ?), ('ses_stranger', 'ses_other')", subagent)
		for _, conversation := range []string{"ses_below", "ses_stranger"} {
			d.Exec("INSERT INTO message VALUES ('msg_' || ?1, ?1, 2, ?2)", conversation,
				`{"role":"assistant","modelID":"tiny","tokens":{"input":7,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}`)
		}
		entries := d.work(n)
		var told []coleo.ReplyUsage
		for _, u := range recordtest.All[coleo.ReplyUsage](record.Activities(entries)) {
			if u.Subagent {
				told = append(told, u)
			}
		}
		want := []coleo.ReplyUsage{
			{Usage: coleo.Usage{Input: 27, Cached: 20, Written: 2, Output: 4, Reasoning: 1, Source: "transcript"},
				Model: "small", Subagent: true},
			{Usage: coleo.Usage{Input: 7, Output: 1, Source: "transcript"}, Model: "tiny", Subagent: true},
		}
		if !slices.Equal(told, want) {
			t.Errorf("after every %d events, told are %+v, want once %+v", n, told, want)
		}
	}
}
