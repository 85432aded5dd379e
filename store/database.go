package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/sqlite"
)

const (
	// readers is the size of the read pool: more than a machine's API traffic
	// has needed in parallel, few enough to stay cheap.
	readers = 4
)

// durability is what a write survives besides the end of the process, which
// every write does.
type durability string

const (
	// ordinary writes survive a crash of the machine up to the last checkpoint
	// or intent. An event that is lost then was never acted upon.
	ordinary durability = "NORMAL"
	// intent writes are on the disk before they return, and all writes before
	// them: a spawn, a stop or an approval must not be forgotten.
	intent durability = "FULL"
)

// database is one SQLite file with its lock, its writer and its readers.
type database struct {
	path   string
	lock   *os.File
	writer *sql.DB // one connection; waiting for it is waiting in line
	reader *sql.DB
}

// open locks the database, makes it if need be and brings its tables up to
// date.
func open(path string, s schema) (*database, error) {
	path, err := settle(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	d := &database{path: path}
	if d.lock, err = lock(path); err != nil {
		return nil, err
	}
	err = d.connect(s)
	if err == nil {
		return d, nil
	}
	var said *coleo.Error // names the store already
	if !errors.As(err, &said) {
		err = fmt.Errorf("open store %s: %w", path, err)
	}
	return nil, errors.Join(err, d.Close())
}

// settle makes the folder and returns the one path of the file behind links,
// so that two names of one database share a lock.
func settle(path string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, filepath.Base(path))
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// connect opens the connections. SQLite gives its side files the mode of the
// database, so that one is set first; the lock is held, so nobody has it open.
func (d *database) connect(s schema) error {
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return err
	}
	if d.writer, err = sqlite.Open(d.path, "_auto_vacuum=incremental&_journal_mode=WAL&_txlock=immediate"); err != nil {
		return err
	}
	d.writer.SetMaxOpenConns(1)
	var mode string
	if err := d.writer.QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system under it cannot share memory, which write-ahead logging needs (journal mode %q)", mode)
	}
	if err := d.check(); err != nil {
		return err
	}
	if err := d.shrinkable(); err != nil {
		return err
	}
	if err := s.migrate(d); err != nil {
		return err
	}
	if d.reader, err = sqlite.Open(d.path, "_query_only=true"); err != nil {
		return err
	}
	d.reader.SetMaxOpenConns(readers)
	d.reader.SetMaxIdleConns(readers)
	return nil
}

// rewriteMost bounds the databases that are rewritten so that they can shrink, in
// bytes: that takes some 100 ms, and as much room once more. The pages of a larger
// one are used again, but not given back.
const rewriteMost = 64 << 20

// shrinkable makes a database that an older coleo made give back room. A new one does.
func (d *database) shrinkable() error {
	var mode, pages int
	err := d.writer.QueryRow("SELECT auto_vacuum, page_count FROM pragma_auto_vacuum, pragma_page_count").Scan(&mode, &pages)
	const incremental, pageSize = 2, 4096
	if err != nil || mode == incremental || pages*pageSize > rewriteMost {
		return err
	}
	if left, known := room(d.path); known && left < 2*int64(pages)*pageSize {
		return nil
	}
	_, err = d.writer.Exec("VACUUM")
	return err
}

// write carries out fn in one transaction. ctx bounds the wait in line; a write
// that has begun is finished, so that the caller knows what became of it.
func (d *database) write(ctx context.Context, level durability, fn func(*sql.Tx) error) error {
	c, err := d.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("write to %s: %w", d.path, err)
	}
	defer c.Close()
	ctx = context.WithoutCancel(ctx)
	if _, err := c.ExecContext(ctx, "PRAGMA synchronous = "+string(level)); err != nil {
		return fmt.Errorf("write to %s: %w", d.path, err)
	}
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write to %s: %w", d.path, err)
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write to %s: %w", d.path, err)
	}
	return nil
}

// Close lets go of the database. The last connection folds the write-ahead log
// into the file; the lock goes last.
func (d *database) Close() error {
	var errs []error
	for _, db := range []*sql.DB{d.reader, d.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, unlock(d.lock))...)
}
