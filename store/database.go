// Package store keeps the data that Coleo must not forget, in two SQLite databases. HostDB contains
// the event log and the arms of one host agent. ServeDB contains serve's view of all hosts, which
// serve computes from the logs of the hosts.
//
// Only one process at a time can open a database. In this process, one connection writes and
// several connections read. After a method has returned without an error, its write survives the
// end of the process. If the write is an intent, the write also survives a power failure (see
// durability).
//
// The package makes no decisions. Other packages compute health, recovery and policy from the
// stored data.
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
	"coleo.dev/store/lock"
	"coleo.dev/store/reserve"
)

const (
	// readers is the number of connections for reading. The API requests for one machine have never
	// needed four connections at the same time, and four connections are cheap.
	readers = 4
	// writerCache is the size of the writer's page cache, in KiB. New entries of an index go into its
	// last pages, so the cache must have room for these pages. There are some of them for each arm and
	// each kind of event.
	writerCache = 16_000
)

// durability determines which failures a write survives. Every write survives the end of the
// process.
type durability string

const (
	// ordinary is for writes that can be lost in a crash of the machine. A crash can undo only the
	// ordinary writes after the last checkpoint or the last intent. Nobody has acted on an event that
	// is lost in this way, because Coleo writes an intent before it acts.
	ordinary durability = "NORMAL"
	// intent is for writes that must not be lost, such as a spawn, a stop or an approval. When the
	// method returns, this write and all earlier writes are on the disk.
	intent durability = "FULL"
)

// database is a SQLite file with its lock, its writer and its readers.
type database struct {
	path   string
	lock   *os.File
	writer *sql.DB // it has one connection, so that only one write happens at a time
	reader *sql.DB
}

// open takes the lock of the database, creates the database if it does not exist, and migrates its tables.
func open(path string, s schema) (*database, error) {
	path, err := resolvePath(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	d := &database{path: path}
	if d.lock, err = lock.Take(path); err != nil {
		return nil, err
	}
	err = d.connect(s)
	if err == nil {
		return d, nil
	}
	var said *coleo.Error // an error of this type needs no prefix, because its message already names the store
	if !errors.As(err, &said) {
		err = fmt.Errorf("open store %s: %w", path, err)
	}
	return nil, errors.Join(err, d.Close())
}

// resolvePath creates the database's folder, and returns the absolute path without symbolic links.
// Two different paths to the same database therefore use the same lock.
func resolvePath(path string) (string, error) {
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

// connect opens the connections. Before that, it sets the mode of the database file, because SQLite
// creates the files next to the database with the same mode. The caller must hold the lock, so that
// no other process has the database open.
func (d *database) connect(s schema) error {
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return err
	}
	options := fmt.Sprintf("_auto_vacuum=incremental&_journal_mode=WAL&_txlock=immediate&_cache_size=-%d", writerCache)
	if d.writer, err = sqlite.Open(d.path, options); err != nil {
		return err
	}
	d.writer.SetMaxOpenConns(1)
	var mode string
	if err := d.writer.QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system under it cannot share memory, which "+
			"write-ahead logging needs (journal mode %q)",
			mode)
	}
	if err := d.check(); err != nil {
		return err
	}
	if err := d.makeShrinkable(); err != nil {
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

// rewriteMost is the size of the largest database that makeShrinkable rewrites, in bytes. A rewrite
// of a database of this size takes about 100 ms, and needs disk space for a second copy. In a larger
// database, free pages are reused, but they are not returned to the disk.
const rewriteMost = 64 << 20

// makeShrinkable changes a database that an older Coleo created, so that free pages can be returned to
// the disk. Databases that this version creates need no change.
func (d *database) makeShrinkable() error {
	var mode, pages int
	err := d.writer.QueryRow("SELECT auto_vacuum, page_count FROM pragma_auto_vacuum, pragma_page_count").Scan(&mode,
		&pages)
	const incremental, pageSize = 2, 4096
	if err != nil || mode == incremental || pages*pageSize > rewriteMost {
		return err
	}
	if left, known := reserve.FreeBytes(d.path); known && left < 2*int64(pages)*pageSize {
		return nil
	}
	_, err = d.writer.Exec("VACUUM")
	return err
}

// write calls fn in one transaction with the given durability. If ctx ends while write waits for
// the connection, write returns an error. A transaction that has begun always finishes, so that the
// caller knows its outcome.
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

// Close closes the database and then releases the lock. When the last connection is
// closed, SQLite merges the write-ahead log into the database file.
func (d *database) Close() error {
	var errs []error
	for _, db := range []*sql.DB{d.reader, d.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, lock.Release(d.lock))...)
}
