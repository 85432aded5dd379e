package opencode

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
	"coleo.dev/sqlite"
)

// conversationOf creates a HOME with a database in the form of OpenCode 1.18.33.
func conversationOf(t *testing.T, statements ...string) terminal.Facts {
	t.Helper()
	f := terminal.Facts{Home: t.TempDir(), Conversation: "ses_1"}
	dir := filepath.Join(f.Home, ".local", "share", "opencode")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(filepath.Join(dir, "opencode.db"), "_journal_mode=WAL")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() }) // OpenCode keeps its database open while it runs
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return f
}

const (
	tables = `CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, ` +
		`data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, data text NOT NULL)`
	turns = `INSERT INTO message VALUES
('m1', 'ses_1', 1, '{"role":"user"}'), ('m2', 'ses_1', 2, '{"role":"assistant","cost":0.5,"tokens":{"input":10,` +
		`"output":2,"reasoning":1,"cache":{"read":4,"write":3}}}'),
('m3', 'ses_1', 3, '{"role":"user"}'), ('m4', 'ses_1', 4, '{"role":"assistant","tokens":{"input":1,"output":1}}'), ` +
		`('m5', 'ses_1', 5, '{"role":"assistant","tokens":{"input":1,"output":1}}'),
('m9', 'ses_2', 9, '{"role":"assistant","tokens":{"input":100,"output":100}}');
INSERT INTO part VALUES
('p1', 'm1', 'ses_1', '{"type":"text","text":"first prompt"}'), ('p2', 'm2', 'ses_1', '{"type":"text","text":"first ` +
		`answer"}'),
('p3', 'm3', 'ses_1', '{"type":"text","text":"second prompt"}'), ('p4', 'm4', 'ses_1', '{"type":"text","text":"let ` +
		`me look"}'), ('p5', 'm4', 'ses_1', '{"type":"tool"}'),
('p6', 'm5', 'ses_1', '{"type":"text","text":"it is"}'), ('p7', 'm5', 'ses_1', '{"type":"reasoning",` +
		`"text":"thought"}'), ('p8', 'm5', 'ses_1', '{"type":"text","text":"**so**"}'),
('p9', 'm9', 'ses_2', '{"type":"text","text":"of another conversation"}')`
)

func TestAnswerAndUsageAreReadFromTheDatabase(t *testing.T) {
	t.Parallel()
	h := Hooks("opencode")
	f := conversationOf(t, tables, turns)
	a, err := h.Answer(t.Context(), f, coleo.Receipt{})
	if err != nil || a.Text != "it is\n**so**" || a.Source != "transcript" {
		t.Errorf("answer %+v, %v", a, err)
	}
	u, err := h.Usage(t.Context(), f)
	if want := (coleo.Usage{Input: 19, Cached: 4, Written: 3, Output: 5, Reasoning: 1, Cost: 0.5}); err != nil ||
		u != want {
		t.Errorf("usage %+v, %v; want %+v", u, err, want)
	}
}

// If the database contains no answer, Answer must return an empty text and no error, because the session then
// reads the screen. Usage must return zero without a database. It must return an error if the database cannot
// be read.
func TestADatabaseThatSaysNothing(t *testing.T) {
	t.Parallel()
	h := Hooks("opencode")
	unasked := conversationOf(t, tables, turns+
		`; INSERT INTO message VALUES ('m6', 'ses_1', 6, '{"role":"user"}'); INSERT INTO part VALUES ('pa', 'm6', `+
		`'ses_1', '{"type":"text","text":"third prompt"}')`)
	for what, f := range map[string]terminal.Facts{"no database": {Home: t.TempDir(), Conversation: "ses_1"},
		"other tables": conversationOf(t, "CREATE TABLE x (y)"), "no answer yet": unasked} {
		if a, err := h.Answer(t.Context(), f, coleo.Receipt{}); err != nil || a.Text != "" {
			t.Errorf("%s: answer %+v, %v; want none", what, a, err)
		}
		if u, err := h.Usage(t.Context(), f); what == "no database" && (err != nil || u.Total() != 0) ||
			what == "other tables" && err == nil {
			t.Errorf("%s: usage %+v, %v", what, u, err)
		}
	}
}

// XDG_DATA_HOME names the folder that contains OpenCode's data folder.
func TestTheDatabaseIsFoundInTheFolderThatAVariableNames(t *testing.T) {
	t.Parallel()
	f := conversationOf(t, tables, turns)
	f.Folder, f.Home = filepath.Join(f.Home, ".local", "share"), t.TempDir()
	if a, err := Hooks("opencode").Answer(t.Context(), f, coleo.Receipt{}); err != nil || a.Text == "" {
		t.Errorf("the answer is %q, %v", a.Text, err)
	}
	all := Conversations().In(f.Folder)
	if got := all.Source.Find(record.Where{Home: f.Home, Conversation: "ses_1"}); got == "" {
		t.Error("the record is not found")
	}
	if path := all.List.(threads).path(f.Home, all.List.(threads).named); path != all.Source.Find(record.Where{
		Home: f.Home, Conversation: "ses_1"}) {
		t.Errorf("the list reads %s", path)
	}
}

// After /new, OpenCode writes to another conversation. Until Coleo follows that conversation, it reads the
// old one. The answer to an earlier prompt must not count as the answer to the new prompt.
func TestTheAnswerOfAnEarlierTurnIsNoAnswer(t *testing.T) {
	t.Parallel()
	f := conversationOf(t, tables, turns)
	for prompt, want := range map[string]string{"second  prompt": "it is\n**so**", "third prompt": ""} {
		a, err := Hooks("opencode").Answer(t.Context(), f, coleo.Receipt{Text: prompt, Time: time.Now()})
		if err != nil || a.Text != want {
			t.Errorf("the answer to %q is %q, %v, want %q", prompt, a.Text, err, want)
		}
	}
}
