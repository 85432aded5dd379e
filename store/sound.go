package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"coleo.dev/sqlite"
	"coleo.dev/store/lock"
)

// checkTime is the time limit for checking a database when it is opened. SQLite reads about 500 MB
// in this time. In a larger database, the check misses damage in the remaining part. SQLite reports
// such damage when that part is used.
const checkTime = 2 * time.Second

// damagedError is the error for a damaged database. It contains the report of SQLite.
type damagedError struct{ what string }

// Error returns a message with the report of SQLite.
func (d damagedError) Error() string { return "the database is damaged: " + d.what }

// Damaged reports whether err means that a database is damaged.
func Damaged(err error) bool {
	return err != nil && (errors.As(err, new(damagedError)) || sqlite.Damaged(err))
}

// check looks for damage in the database for at most checkTime.
func (d *database) check() error {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	var found string
	err := d.writer.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	case found != "ok":
		return damagedError{strings.Join(strings.Fields(found), " ")}
	}
	return nil
}

// SetAside renames a damaged database and returns the new path, without deleting anything. It
// returns "" if the database does not exist or is not damaged. If a process has the database open,
// SetAside returns an EConflict error that names the process.
func SetAside(path string, now time.Time) (string, error) {
	path, err := resolvePath(path)
	if err != nil {
		return "", err
	}
	held, err := lock.Take(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Release(held) }()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err := soundFile(path); !Damaged(err) {
		return "", err
	}
	aside := path + ".damaged-" + now.UTC().Format("20060102T150405Z")
	for _, side := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+side, aside+side); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("move a damaged database aside: %w", err)
		}
	}
	return aside, nil
}

func soundFile(path string) error {
	db, err := sqlite.Open(path, "_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return (&database{path: path, writer: db}).check()
}

// Copy writes a consistent copy of the database at oldPath to a new file at newPath. Other
// processes can use the database during the copy. Copy returns an error if the new file already
// exists.
func Copy(ctx context.Context, oldPath, newPath string) error {
	if _, err := os.Stat(oldPath); err != nil {
		return fmt.Errorf("copy a database: %w", err)
	}
	// Create the file first, because SQLite would create it with a mode that allows other users to
	// read it.
	f, err := os.OpenFile(newPath, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copy a database: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	var db *sql.DB
	if db, err = sqlite.Open(oldPath, "mode=rw"); err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", newPath); err != nil {
		return fmt.Errorf("copy %s: %w", oldPath, err)
	}
	return nil
}

// ForgetTokens deletes all operator tokens from a copy of serve's database. The copy is for a backup. An old
// copy that is put back would make revoked tokens valid again. It would also lose the notes of what they have prompted.
func ForgetTokens(ctx context.Context, path string) error {
	db, err := sqlite.Open(path, "mode=rw&_secure_delete=on")
	if err != nil {
		return err
	}
	defer db.Close()
	var has bool // false for the database of an older Coleo
	err = db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'operator_tokens')").Scan(&has)
	if err == nil && has {
		_, err = db.ExecContext(ctx, "DELETE FROM operator_tokens")
	}
	if err != nil {
		return fmt.Errorf("leave the operator tokens out of the copy %s: %w", path, err)
	}
	return nil
}

// backupMark is the key in the table meta of a host's database that MarkBackup writes.
const backupMark = "backup"

// MarkBackup marks a copy of a host's database as a backup: see HostDB.IsBackup.
func MarkBackup(ctx context.Context, path string) error {
	db, err := sqlite.Open(path, "mode=rw")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err = db.ExecContext(ctx, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, '')", backupMark); err != nil {
		return fmt.Errorf("mark the copy %s as a backup: %w", path, err)
	}
	return nil
}
