package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"coleo.dev"
)

// ServeDB is the database of serve. It contains all hosts, the events of all hosts, and the row of
// every arm in the form in which the API returns it. Only one serve process writes to the database.
//
// Each method that writes first waits until earlier writes are done, or until ctx ends. A write that has begun always
// finishes. A method that reads returns ctx's error when ctx ends.
type ServeDB struct {
	db   *database
	head *head

	// insertEvent, readRow and saveRow are statements of the writer. They are prepared once,
	// because Project executes them for each event or run.
	insertEvent, readRow, saveRow *sql.Stmt
}

// serveSchema is the schema of serve.db. Its `mark` is SQLite's application_id, whose bytes spell
// "clsv".
var serveSchema = schema{folder: "serve", mark: 0x636c7376,
	then: map[string]func(*sql.Tx) error{"006_runs.sql": fillRuns, "013_usage.sql": fillUsage}}

// OpenServe opens the database of serve. If the database does not exist, OpenServe creates it.
//
// OpenServe returns EConflict in two cases:
//   - Another process has the database open. The error names the process.
//   - A newer Coleo has changed the tables.
func OpenServe(path string) (*ServeDB, error) {
	db, err := open(path, serveSchema)
	if err != nil {
		return nil, err
	}
	s := &ServeDB{db: db}
	var at uint64
	if err := errors.Join(s.prepare(),
		db.reader.QueryRow("SELECT COALESCE(MAX(pos), 0) FROM run_events").Scan(&at)); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", db.path, err), db.Close())
	}
	s.head = newHead(at)
	return s, nil
}

func (s *ServeDB) prepare() error {
	var errs [3]error
	s.insertEvent, errs[0] = s.db.writer.Prepare(serveInsertion)
	s.readRow, errs[1] = s.db.writer.Prepare(selectRun)
	s.saveRow, errs[2] = s.db.writer.Prepare(upsertStatement("runs", runFields(&runRow{})))
	return errors.Join(errs[:]...)
}

// Close makes all calls of Wait return, and closes the database.
func (s *ServeDB) Close() error {
	s.head.close()
	return s.db.Close()
}

// Cursor returns the epoch and number of the last projected event of a host. Events after this
// position must be read from the host's log. If the host is unknown, Cursor returns "" and 0.
func (s *ServeDB) Cursor(ctx context.Context, host string) (epoch string, seq uint64, err error) {
	epoch, seq, err = readCursor(ctx, s.db.reader, host)
	if err != nil {
		err = fmt.Errorf("read the cursor of host %s: %w", host, err)
	}
	return epoch, seq, err
}

// queryer is a pool of connections or a transaction.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readCursor(ctx context.Context, q queryer, host string) (epoch string, seq uint64, err error) {
	err = q.QueryRowContext(ctx, "SELECT epoch, seq FROM cursors WHERE host = ?", host).Scan(&epoch, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return epoch, seq, err
}

// Project adds events to serve's log. In the same transaction, it updates the rows of arms with
// Apply and the rows of runs with ApplyRun. It skips an event if the log already contains an event
// with the same Host, Epoch and Seq. So a caller can send a batch twice.
//
// Project returns EConflict if serve's log lacks events of a host before one of the given events.
// The caller must then read the host's log again, after the position that Cursor returns. Project
// returns EInvalid for a bad event.
func (s *ServeDB) Project(ctx context.Context, events []coleo.Event) error {
	return s.ProjectPast(ctx, events, 0)
}

// ProjectPast does the same as Project, but for a host that has deleted old events. Events of this
// host may be missing if their number is not higher than lastDeleted. Afterwards, Gap returns the
// number of the last missing event.
func (s *ServeDB) ProjectPast(ctx context.Context, events []coleo.Event, lastDeleted uint64) error {
	for _, e := range events {
		if err := checkEvent(e); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		return nil
	}
	var at uint64
	err := s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		p := newProjection(ctx, tx)
		p.deleted = lastDeleted
		p.insertEvent, p.readRow, p.saveRow = tx.Stmt(s.insertEvent), tx.Stmt(s.readRow), tx.Stmt(s.saveRow)
		for i := range events {
			if err := p.add(&events[i]); err != nil {
				return err
			}
		}
		at = p.last
		return p.save()
	})
	if err != nil {
		return fmt.Errorf("project %d events: %w", len(events), err)
	}
	s.head.moveTo(at)
	return nil
}

// Gap returns the number of the last event that the host deleted before serve read it.
// Events with lower numbers may also be missing. Gap returns 0 if no events are
// missing.
func (s *ServeDB) Gap(ctx context.Context, host string) (deleted uint64, err error) {
	err = s.db.reader.QueryRowContext(ctx, "SELECT deleted FROM gaps WHERE host = ?", host).Scan(&deleted)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read the gap of host %s: %w", host, err)
	}
	return deleted, nil
}

// Head returns the position of the newest event in serve's log. It returns 0 if the log
// is empty.
func (s *ServeDB) Head() uint64 { return s.head.position() }

// Wait returns nil when the log contains an event after the given position. It returns ctx's error
// if ctx ends first, and EUnavailable if the database is closed.
func (s *ServeDB) Wait(ctx context.Context, after uint64) error { return s.head.wait(ctx, after) }
