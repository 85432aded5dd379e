package opencode

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"coleo.dev/record"
	"coleo.dev/sqlite"
)

// threads lists the conversations in one agent CLI's database (1.18.33).
type threads struct {
	account
	named string // see record.Source.Named
}

// Conversations describes how to find, list and read the conversations of OpenCode itself.
func Conversations() record.Conversations {
	a := account{"opencode"}
	return record.Conversations{Source: a.record(), List: threads{account: a}}
}

// In returns the Catalogue of an agent CLI for which XDG_DATA_HOME names the given folder: see
// record.Conversations.In.
func (t threads) In(folder string) record.Catalogue {
	t.named = folder
	return t
}

// data returns the agent CLI's data folder. `named` is the folder that XDG_DATA_HOME names, or "".
func (a account) data(home, named string) string {
	return filepath.Join(cmp.Or(named, filepath.Join(home, ".local", "share")), a.folder)
}

// path returns the path of the database.
func (a account) path(home, named string) string {
	return filepath.Join(a.data(home, named), a.folder+".db")
}

// copied matches the title of a copied conversation. It is the only sign in the database that a
// conversation is a copy.
var copied = regexp.MustCompile(` \(fork #\d+\)$`)

// mostSessions is the largest number of conversations that are listed. Older ones are left out, so
// that a very large database does not slow the list down.
const mostSessions = 20000

// Find returns the conversations in the database.
func (t threads) Find(ctx context.Context, home string) ([]record.Found, error) {
	path := t.path(home, t.named)
	db, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx,
		"SELECT id, time_updated FROM session ORDER BY time_updated DESC LIMIT ?", mostSessions)
	if err != nil {
		return nil, fmt.Errorf("list the conversations of %s: %w", t.folder, err)
	}
	defer rows.Close()
	var out []record.Found
	for rows.Next() {
		var id string
		var updated int64
		if err := rows.Scan(&id, &updated); err != nil {
			return nil, fmt.Errorf("list the conversations of %s: %w", t.folder, err)
		}
		out = append(out, record.Found{Name: id, Path: path, Stamp: fmt.Sprint(updated)})
	}
	return out, rows.Err()
}

// openRegular opens the database of an agent CLI. It returns an error if the file is not a regular
// file.
func openRegular(path string) (*sql.DB, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the database %s is not a regular file", path)
	}
	return sqlite.ReadOnly(path)
}

// Header reads the row of one conversation, and its newest text.
func (t threads) Header(_ string, f record.Found) (record.Header, error) {
	db, err := openRegular(f.Path)
	if err != nil {
		return record.Header{}, err
	}
	defer db.Close()
	h := record.Header{ID: f.Name}
	var begun, last int64
	var parent string
	err = db.QueryRow(`SELECT directory, title, time_created, time_updated, coalesce(parent_id, '')
		FROM session WHERE id = ?`, f.Name).Scan(&h.Folder, &h.Title, &begun, &last, &parent)
	if err != nil {
		return record.Header{}, fmt.Errorf("read a conversation of %s: %w", t.folder, err)
	}
	if !record.ValidID(h.ID) {
		return record.Header{}, fmt.Errorf("the database %s has a conversation with a bad id", f.Path)
	}
	if !filepath.IsAbs(h.Folder) {
		h.Folder = ""
	}
	switch {
	case parent != "":
		h.Hidden = record.HiddenSubagent
	case copied.MatchString(h.Title):
		h.Hidden = record.HiddenFork
	}
	h.Begun, h.Last = time.UnixMilli(begun), time.UnixMilli(last)
	// A query can fail, for example because a message has an unexpected form. The fields that the query would
	// set then keep their values.
	_ = db.QueryRow(`SELECT count(*) FROM message
		WHERE session_id = ? AND json_valid(data) AND json_extract(data, '$.role') = 'user'`, f.Name).Scan(&h.Prompts)
	_ = db.QueryRow(`SELECT json_extract(p.data, '$.text') FROM message m JOIN part p ON p.message_id = m.id
		WHERE m.session_id = ? AND json_valid(p.data) AND json_extract(p.data, '$.type') = 'text'
		ORDER BY m.time_created DESC, m.id DESC, p.id DESC LIMIT 1`, f.Name).Scan(&h.Preview)
	h.Title, h.Preview = record.OneLine(h.Title), record.OneLine(h.Preview)
	return h, nil
}
