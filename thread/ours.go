package thread

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/wholefile"
)

// Ours is the file that stores what users have decided about threads: their own titles, and which threads
// they have deleted. Several goroutines can use it at the same time. Several processes can too: serve and a host agent
// share a state folder.
type Ours struct {
	Path string

	mu sync.Mutex
}

// mark stores the user's own title of one thread, and whether the user has deleted the thread.
type mark struct {
	Harness string `json:"harness"`
	ID      string `json:"id"`
	Title   string `json:"title,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
}

// read returns the content of the file. A missing file counts as empty.
func (o *Ours) read() ([]mark, error) {
	raw, err := os.ReadFile(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the titles of conversations: %w", err)
	}
	var list []mark
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, coleo.Errorf(coleo.EInternal, "the file %s cannot "+
			"be read (%v): correct it, or move it aside", o.Path, err)
	}
	return list, nil
}

// change calls `do`, which changes the mark of one thread. The mark is the user's title and deletion. Then change
// writes the file with permissions for the user only. After an error, the old file is unchanged.
func (o *Ours) change(harness, id string, do func(*mark)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	unlock, err := wholefile.Lock(o.Path + ".lock")
	if err != nil {
		return fmt.Errorf("write the titles of conversations: %w", err)
	}
	defer unlock()
	list, err := o.read()
	if err != nil {
		return err
	}
	at := -1
	for i, m := range list {
		if m.Harness == harness && m.ID == id {
			at = i
		}
	}
	if at < 0 {
		list, at = append(list, mark{Harness: harness, ID: id}), len(list)
	}
	do(&list[at])
	raw, err := json.MarshalIndent(list, "", "\t")
	if err != nil {
		return err
	}
	if err := wholefile.Replace(o.Path, append(raw, '\n'), wholefile.OwnerOnly); err != nil {
		return fmt.Errorf("write the titles of conversations: %w", err)
	}
	return nil
}

// takeOurs copies the user's titles and deletions from the file into the index. It also deletes the texts of deleted
// threads from the index. The index can still contain such texts if it has several rows of the thread, or if another
// process has deleted the thread. The caller must hold x.writing.
func (x *Index) takeOurs(ctx context.Context) error {
	list, err := x.ours.read()
	if err != nil {
		return err
	}
	deleted := false
	err = x.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM ours"); err != nil {
			return fmt.Errorf("write to the index of conversations: %w", err)
		}
		for _, m := range list {
			if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO ours VALUES (?, ?, ?, ?)", m.Harness, m.ID, m.Title,
				m.Deleted); err != nil {
				return fmt.Errorf("write to the index of conversations: %w", err)
			}
		}
		if deleted, err = x.deleteTexts(ctx, tx); err != nil || !deleted || !x.fullText {
			return err
		}
		// Without this, the full-text index keeps the deleted words until a later merge of its parts.
		if _, err := tx.ExecContext(ctx, "INSERT INTO words (words) VALUES ('optimize')"); err != nil {
			return fmt.Errorf("write to the index of conversations: %w", err)
		}
		return nil
	})
	if err != nil || !deleted {
		return err
	}
	// The log of the database still contains the texts.
	if _, err := x.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return fmt.Errorf("write to the index of conversations: %w", err)
	}
	return nil
}

// deleteTexts deletes all texts of the deleted threads. It reports whether there were any.
func (x *Index) deleteTexts(ctx context.Context, tx *sql.Tx) (deleted bool, err error) {
	keys, err := keysWithTexts(ctx, tx)
	if err != nil {
		return false, fmt.Errorf("read the index of conversations: %w", err)
	}
	for _, key := range keys {
		if err := x.deleteMessages(ctx, tx, key); err != nil {
			return false, err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE threads SET filled = '', title = '', preview = '' WHERE key = ?",
			key); err != nil {
			return false, fmt.Errorf("write to the index of conversations: %w", err)
		}
	}
	return len(keys) > 0, nil
}

// keysWithTexts returns the keys of the deleted threads of which the index still has texts.
func keysWithTexts(ctx context.Context, tx *sql.Tx) (keys []int64, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT t.key FROM ours o JOIN threads t ON t.harness = o.harness AND t.id = o.id
		WHERE o.deleted AND (t.filled <> '' OR t.title <> '' OR t.preview <> '')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
}

// longestTitle is the largest size of a title in bytes.
const longestTitle = 400

// Rename sets the title of a thread. If `title` is "", the thread has the agent CLI's own title again. Rename returns
// EInvalid for a title that is too long.
func (x *Index) Rename(ctx context.Context, r Row, title string) error {
	if len(title) > longestTitle {
		return coleo.Errorf(coleo.EInvalid, "the title has %d bytes: at most %d are possible", len(title), longestTitle)
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.ours.change(r.Harness, r.ID, func(m *mark) { m.Title = record.OneLine(title) }); err != nil {
		return err
	}
	return x.takeOurs(ctx)
}

// Delete hides a thread and deletes its texts from the index. If `deleteFile` is true, Delete first deletes the
// agent CLI's own file. It returns EUnsupported if that file also contains other threads. The caller must make sure
// that no arm uses the thread.
func (x *Index) Delete(ctx context.Context, r Row, deleteFile bool) error {
	x.writing.Lock()
	defer x.writing.Unlock()
	if deleteFile {
		if err := x.deleteFile(ctx, r); err != nil {
			return err
		}
	}
	if err := x.ours.change(r.Harness, r.ID, func(m *mark) { m.Deleted = true }); err != nil {
		return err
	}
	return x.takeOurs(ctx)
}

// deleteFile deletes the file of a thread. It follows no symbolic link.
func (x *Index) deleteFile(ctx context.Context, r Row) error {
	var name string
	if err := x.db.QueryRowContext(ctx, "SELECT name FROM threads WHERE key = ?", r.key).Scan(&name); err != nil {
		return fmt.Errorf("read the index of conversations: %w", err)
	}
	info, err := os.Lstat(r.Path)
	switch {
	case name != "":
		return coleo.Errorf(coleo.EUnsupported, "nothing was deleted: %s keeps all its conversations in %s; "+
			"delete this conversation with its own program, or leave out the file", r.Harness, r.Path)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("delete a conversation: %w", err)
	case !info.Mode().IsRegular():
		return coleo.Errorf(coleo.EUnsupported, "nothing was deleted: %s is not a regular file", r.Path)
	}
	if err := os.Remove(r.Path); err != nil {
		return fmt.Errorf("delete a conversation: %w", err)
	}
	return nil
}
