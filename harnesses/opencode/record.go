package opencode

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev/record"
	"coleo.dev/sqlite"
)

// record describes how to find and read the conversations of one agent CLI (1.18.33).
// All conversations are in one database.
func (a account) record() record.Source {
	return record.Source{Pattern: filepath.Join(".local/share", a.folder, a.folder+".db"), Open: openTail,
		Folder: ".local/share", FolderEnv: "XDG_DATA_HOME"}
}

// A tail reads the messages of one conversation. While OpenCode writes a message, the message changes, so
// the tail reads it several times. The tail remembers which entries it has returned.
type tail struct {
	path         string
	conversation string
	db           *sql.DB // the open database; nil until it can be opened
	since        int64   // Unix time in ms; messages that are older no longer change
	returned     map[string]bool
	shell        map[string]bool // by the id of a prompt: whether the prompt is a command of the user
	work         worker
}

func openTail(path string, w record.Where) record.Tail {
	since := w.Since.UnixMilli()
	return &tail{path: path, conversation: w.Conversation, since: since, returned: map[string]bool{},
		shell: map[string]bool{}, work: newWorker(since)}
}

func (t *tail) Close() {
	if t.db != nil {
		_ = t.db.Close()
	}
}

// message contains the fields that Coleo reads of a message.
type message struct {
	id      string
	created int64 // Unix time in ms
	Role    string
	Parent  string `json:"parentID"` // in a reply: the id of its prompt
	Finish  string // why the model stopped; "" until it has stopped
	Time    struct {
		Completed int64
	}
	Error struct {
		Name string
		Data struct{ Message string }
	}
	parts []part
}

// part contains the fields that Coleo reads of a part of a message.
type part struct {
	Type      string
	Text      string
	Tool      string
	Synthetic bool // OpenCode itself wrote the text in the user's place
	State     struct {
		Status   string
		Error    string
		Metadata struct {
			Dismissed bool // true if the user dismissed this question; only in Kilo CLI
		}
	}
}

const (
	aborted = "MessageAbortedError"
	// OpenCode's error text if the user rejects a tool and gives no reason
	rejected  = "The user rejected permission to use this specific tool call."
	dismissed = "The user dismissed this question"
)

// Next returns the new entries of the conversation. It returns nil if it cannot read the database,
// which belongs to another program. No entry is lost then, because the next successful call returns
// all new entries.
func (t *tail) Next() []record.Entry {
	if t.db == nil {
		db, err := sqlite.ReadOnly(t.path)
		if err != nil {
			return nil
		}
		t.db = db
	}
	// Both reads below use this transaction, so that they see the same data.
	tx, err := t.db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	messages, err := t.messages(tx)
	if err != nil {
		return nil
	}
	return t.work.mergeState(t.state(messages), t.work.read(tx, t.conversation))
}

// state returns the new facts in the messages about the state of the agent CLI.
func (t *tail) state(messages []message) []record.Entry {
	var out []record.Entry
	for _, m := range messages {
		switch {
		case m.Role == "user":
			t.since = max(t.since, m.created)
			t.shell[m.id] = t.shell[m.id] || m.isUserCommand()
			out = append(out, t.prompt(m)...)
		// Replies to a command of the user are skipped, because they do not show how the command ended.
		case !t.shell[m.Parent]:
			out = append(out, t.reply(m)...)
		}
	}
	return out
}

// messages returns the messages since the last prompt, with their parts.
func (t *tail) messages(tx *sql.Tx) ([]message, error) {
	rows, err := tx.QueryContext(context.Background(), `SELECT m.id, m.time_created, m.data, coalesce(p.data, '')
		FROM message m LEFT JOIN part p ON p.message_id = m.id
		WHERE m.session_id = ? AND m.time_created >= ? ORDER BY m.time_created, m.id, p.id`, t.conversation, t.since)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []message
	for rows.Next() {
		var m message
		var data, raw []byte
		if err := rows.Scan(&m.id, &m.created, &data, &raw); err != nil {
			return nil, err
		}
		if len(out) == 0 || out[len(out)-1].id != m.id {
			_ = json.Unmarshal(data, &m) // if the message cannot be read, its fields stay empty
			out = append(out, m)
		}
		var p part
		if json.Unmarshal(raw, &p) == nil {
			last := &out[len(out)-1]
			last.parts = append(last.parts, p)
		}
	}
	return out, rows.Err()
}

// prompt returns the entry for a prompt. It returns nil if OpenCode has not written the text of the
// prompt yet, or if an earlier call returned the entry.
func (t *tail) prompt(m message) []record.Entry {
	text := m.text()
	if text == "" || t.seenBefore(m.id) {
		return nil
	}
	return []record.Entry{{Kind: record.Prompt, Turn: m.id, Text: text, ByUser: true, Time: time.UnixMilli(m.created)}}
}

// reply returns the new entries for a reply:
//
//   - an Answer while the model writes
//   - a Tool after the calls of the reply
//   - an End when the reply has ended
//
// reply returns each entry only once.
func (t *tail) reply(m message) []record.Entry {
	at := time.UnixMilli(max(m.created, m.Time.Completed))
	switch {
	case m.Error.Name != "":
		ending := record.Failed
		switch {
		case m.Error.Name == aborted:
			ending = record.Interrupted
		case m.Error.Data.Message == rejected: // the user rejected OpenCode's question about repeated calls
			ending = record.Denied
		}
		return t.once(m.id+" end", record.Entry{Kind: record.End, Ending: ending, Text: m.Error.Data.Message, Time: at})
	case m.Finish == "":
		return t.once(m.id, record.Entry{Kind: record.Answer, Text: m.text(), Time: at})
	case m.isRejected():
		return t.once(m.id+" end", record.Entry{Kind: record.End, Ending: record.Denied, Time: at})
	case m.Finish == "tool-calls":
		return t.once(m.id+" tool", record.Entry{Kind: record.Tool, Time: at})
	}
	return t.once(m.id+" end", record.Entry{Kind: record.Answer, Text: m.text(), Time: at},
		record.Entry{Kind: record.End, Ending: record.Finished, Text: m.text(), Time: at})
}

// once returns the entries at the first call with the given key, and nil at every later call with the
// same key.
func (t *tail) once(key string, entries ...record.Entry) []record.Entry {
	if t.seenBefore(key) {
		return nil
	}
	return entries
}

// seenBefore reports whether an earlier call had the same key, and remembers the key.
func (t *tail) seenBefore(key string) bool {
	had := t.returned[key]
	t.returned[key] = true
	return had
}

// text joins the texts of a message.
func (m message) text() string {
	var out []string
	for _, p := range m.parts {
		if p.Type == "text" && !p.Synthetic && p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n")
}

// isUserCommand reports whether a prompt is a command that the user typed after !.
func (m message) isUserCommand() bool {
	return slices.ContainsFunc(m.parts, func(p part) bool {
		return p.Type == "text" && p.Synthetic && p.Text == userShell
	})
}

// isRejected reports whether the user rejected a tool without giving a reason, or dismissed a
// question. In both cases OpenCode ends the turn.
func (m message) isRejected() bool {
	for _, p := range m.parts {
		failed := p.State.Status == "error" && (p.State.Error == rejected || p.State.Error == dismissed)
		if p.Type == "tool" && (failed || p.State.Metadata.Dismissed) {
			return true
		}
	}
	return false
}
