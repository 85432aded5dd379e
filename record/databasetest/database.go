// Package databasetest gives tests a record that is a real database, filled with the rows of a
// recording.
package databasetest

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/record/recordtest"
	"coleo.dev/sqlite"
)

// Row is one row of OpenCode's database. It describes a message, a part of a message, or an event.
type Row struct {
	Message string          `json:"message"`
	Session string          `json:"session"` // "" for a part of a message
	Part    string          `json:"part"`
	Created int64           `json:"created"`
	Seq     int64           `json:"seq"`
	Type    string          `json:"type"` // type of an event; "" for a message and a part
	Data    json.RawMessage `json:"data"`
}

// Database is a real SQLite database with the tables of OpenCode and Kilo CLI. A test fills it with
// the rows of a recording.
type Database struct {
	Path     string
	Rows     []Row // the rows of the recording
	NoEvents bool  // true for a database without events, as in older versions

	t  *testing.T
	db *sql.DB
}

// NewDatabase returns an empty database for the rows of the recording at path.
func NewDatabase(t *testing.T, path string) *Database {
	t.Helper()
	d := &Database{t: t, Path: filepath.Join(t.TempDir(), "conversations.db")}
	var err error
	d.db, err = sqlite.Open(d.Path, "_journal_mode=WAL&_synchronous=OFF")
	d.check(err)
	t.Cleanup(func() { d.check(d.db.Close()) })
	d.Exec("CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT)")
	d.Exec("CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT)")
	d.Exec("CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, time_created INTEGER, data TEXT)")
	d.Exec("CREATE TABLE event (id TEXT PRIMARY KEY, aggregate_id TEXT, seq INTEGER, type TEXT, data TEXT)")
	raw, err := recordtest.Read(path)
	d.check(err)
	for line := range bytes.Lines(raw) {
		var r Row
		d.check(json.Unmarshal(line, &r))
		d.Rows = append(d.Rows, r)
	}
	return d
}

func (d *Database) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// Exec runs a query that changes the database.
func (d *Database) Exec(query string, args ...any) {
	d.t.Helper()
	_, err := d.db.Exec(query, args...)
	d.check(err)
}

// Put writes a row for a message or a part of a message.
func (d *Database) Put(r Row, data string) {
	d.t.Helper()
	if r.Session != "" {
		d.Exec("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?)", r.Message, r.Session, r.Created, data)
	} else {
		d.Exec("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?)", r.Part, r.Message, r.Created, data)
	}
}

// Happen writes an event. It also changes the messages and their parts as the event describes.
func (d *Database) Happen(e Row) {
	d.t.Helper()
	if !d.NoEvents {
		d.Exec("INSERT INTO event VALUES (?, ?, ?, ?, ?)", fmt.Sprint("e", e.Seq), e.Session, e.Seq, e.Type, string(e.Data))
	}
	var data struct {
		Info, Part        json.RawMessage
		PartID, MessageID string
	}
	d.check(json.Unmarshal(e.Data, &data))
	var ids struct {
		ID, MessageID string
		Time          struct{ Created int64 }
	}
	switch {
	case strings.HasPrefix(e.Type, "message.updated."):
		d.check(json.Unmarshal(data.Info, &ids))
		d.Put(Row{Message: ids.ID, Session: e.Session, Created: ids.Time.Created}, string(data.Info))
	case strings.HasPrefix(e.Type, "message.part.updated."):
		d.check(json.Unmarshal(data.Part, &ids))
		d.Put(Row{Part: ids.ID, Message: ids.MessageID}, string(data.Part))
	case strings.HasPrefix(e.Type, "message.part.removed."):
		d.Exec("DELETE FROM part WHERE id = ?", data.PartID)
	case strings.HasPrefix(e.Type, "message.removed."):
		d.Exec("DELETE FROM message WHERE id = ?", data.MessageID)
	}
}

// Entries returns what a Tail of the source returns if it reads after every n events.
func (d *Database) Entries(source record.Source, n int) []record.Entry {
	d.t.Helper()
	tail := source.Open(d.Path, record.Where{Conversation: d.Rows[0].Session})
	defer tail.Close()
	var out []record.Entry
	i := 0
	for _, r := range d.Rows {
		if r.Type == "" {
			continue
		}
		d.Happen(r)
		if i++; i%n == 0 {
			out = append(out, tail.Next()...)
		}
	}
	return append(out, tail.Next()...)
}

// AtTheEnd makes Entries read only once, at the end. It is larger than the number of events in
// any recording.
const AtTheEnd = 1 << 20

// WorkIn returns the work that the source reads from the recording at path. The recording contains
// lines, or the rows of a database.
func WorkIn(t *testing.T, source record.Source, path string) []coleo.Activity {
	t.Helper()
	raw, err := recordtest.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var first Row
	if line, _, _ := bytes.Cut(raw, []byte("\n")); json.Unmarshal(line, &first) == nil && first.Session != "" &&
		first.Message != "" {
		return record.Activities(NewDatabase(t, path).Entries(source, AtTheEnd))
	}
	plain := filepath.Join(t.TempDir(), "record.jsonl")
	if err := os.WriteFile(plain, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	tail := source.Open(plain, record.Where{})
	defer tail.Close()
	return record.Activities(tail.Next())
}
