package thread

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/sqlite"
)

// Place is one home folder (HOME) in which one agent CLI stores its conversations.
type Place struct {
	Harness string
	Home    string
	record.Conversations
}

// PlaceOf returns the place of a harness in one HOME. `ok` is false if the harness cannot list the
// conversations of its agent CLI.
func PlaceOf(h coleo.Harness, name, home string) (p Place, ok bool) {
	is, ok := h.(interface{ Conversations() record.Conversations })
	if !ok {
		return p, false
	}
	c := is.Conversations()
	return Place{name, home, c}, c.List != nil && c.Source.Open != nil
}

// Index is the database of threads. Several goroutines can use it at the same time, but only one
// process can use the file.
type Index struct {
	db       *sql.DB
	fullText bool
	ours     *Ours

	// writing is the lock that is held while the index is refreshed or filled.
	writing sync.Mutex
}

// layout identifies the present layout of the tables. Open rebuilds an index whose layout has another number.
const layout = 1

const tables = `
CREATE TABLE threads (
	key     INTEGER PRIMARY KEY,
	harness TEXT NOT NULL,
	home    TEXT NOT NULL,
	path    TEXT NOT NULL,
	name    TEXT NOT NULL, -- Found.Name
	stamp   TEXT NOT NULL, -- Found.Stamp when the header was read
	size    INTEGER NOT NULL,
	wrong   TEXT NOT NULL DEFAULT '', -- why the header could not be read
	id      TEXT NOT NULL DEFAULT '',
	folder  TEXT NOT NULL DEFAULT '',
	project TEXT NOT NULL DEFAULT '',
	title   TEXT NOT NULL DEFAULT '',
	preview TEXT NOT NULL DEFAULT '',
	begun   INTEGER NOT NULL DEFAULT 0, -- Unix time in ms
	last    INTEGER NOT NULL DEFAULT 0, -- Unix time in ms
	prompts INTEGER NOT NULL DEFAULT 0,
	partly  INTEGER NOT NULL DEFAULT 0,
	hidden  TEXT NOT NULL DEFAULT '',
	filled  TEXT NOT NULL DEFAULT '', -- Found.Stamp when the messages were read; '' if never
	UNIQUE (harness, home, path, name)
);
CREATE INDEX threads_last ON threads (last);
CREATE INDEX threads_id ON threads (id);
CREATE TABLE messages (
	key    INTEGER PRIMARY KEY,
	thread INTEGER NOT NULL,
	n      INTEGER NOT NULL,
	kind   TEXT NOT NULL,
	text   TEXT NOT NULL,
	time   INTEGER NOT NULL, -- Unix time in ms; 0 if it is not known
	UNIQUE (thread, n)
);
CREATE TABLE ours (
	harness TEXT NOT NULL,
	id      TEXT NOT NULL,
	title   TEXT NOT NULL,
	deleted INTEGER NOT NULL,
	PRIMARY KEY (harness, id)
);`

// words creates a table in which the texts of messages can be searched. The table keeps no copy of
// the texts.
const words = `CREATE VIRTUAL TABLE words USING fts5 (text, content = 'messages', content_rowid = 'key',
	tokenize = 'unicode61 remove_diacritics 2')`

// Open opens the index in the file at `path`, or creates it. It rebuilds an index that is damaged or that another
// version of Coleo has created. Only the user can read the file. The file at `marksPath` contains the titles that
// users have given, and which threads they have deleted: see Ours.
func Open(ctx context.Context, path, marksPath string) (*Index, error) {
	x, err := open(ctx, path)
	if errors.Is(err, errOther) || sqlite.Damaged(err) {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("make the index of conversations again: %w", err)
			}
		}
		x, err = open(ctx, path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the index of conversations: %w", err)
	}
	x.ours = &Ours{Path: marksPath}
	return x, nil
}

// errOther means that the index does not have the tables that this program needs.
var errOther = errors.New("the index has another layout")

func open(ctx context.Context, path string) (*Index, error) {
	// Create the file here, because SQLite would create a file that other users can read.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(file.Chmod(0o600), file.Close()); err != nil {
		return nil, err
	}
	// NORMAL is safe enough: if a power failure removes the last changes from the index, Coleo reads
	// them from the agent CLIs' files again.
	db, err := sqlite.Open(path, "_journal_mode=WAL&_synchronous=NORMAL&_secure_delete=on")
	if err != nil {
		return nil, err
	}
	x := &Index{db: db, fullText: sqlite.FullText(ctx, db)}
	if err := x.prepare(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return x, nil
}

// prepare creates the tables of a new index. It returns errOther if the index does not have the tables that
// this program needs. An index with full-text search and an index without it have different tables.
func (x *Index) prepare(ctx context.Context) error {
	want := 2 * layout
	if x.fullText {
		want++
	}
	var has int
	if err := x.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&has); err != nil {
		return err
	}
	switch has {
	case want:
		_, err := x.db.ExecContext(ctx, "SELECT count(*) FROM threads") // this query fails if the index is damaged
		return err
	case 0:
	default:
		return errOther
	}
	return x.write(ctx, func(tx *sql.Tx) error {
		make := tables
		if x.fullText {
			make += words + ";"
		}
		_, err := tx.ExecContext(ctx, make+fmt.Sprintf("PRAGMA user_version = %d", want))
		return err
	})
}

// Close closes the index.
func (x *Index) Close() error { return x.db.Close() }

// noFullText returns the error for a search without FTS5.
func noFullText() error {
	return coleo.Errorf(coleo.EUnsupported, "this coleo was built without full-text search, so it cannot search "+
		"conversations: build it with 'make build', or with 'go build -tags sqlite_fts5 ./cmd/coleo'")
}

// write calls `do` in a transaction, and rolls back if `do` returns an error.
func (x *Index) write(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
