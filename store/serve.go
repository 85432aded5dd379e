package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"coleo.dev"
)

// ServeDB is serve's database. It has the row of every arm as the API returns it, the
// events of all hosts, and the hosts. Only one serve writes it.
//
// A method that writes waits for earlier writes until ctx ends. A write that has begun
// always finishes. A method that reads stops with ctx's error when ctx ends.
type ServeDB struct {
	db   *database
	head *head
}

// serveSchema is the schema of serve.db. The mark spells "clsv".
var serveSchema = schema{folder: "serve", mark: 0x636c7376}

// OpenServe opens serve's database and creates it if it is missing. It returns EConflict,
// naming the process, while another serve has the database open. It also returns
// EConflict if a newer Coleo has changed the tables.
func OpenServe(path string) (*ServeDB, error) {
	db, err := open(path, serveSchema)
	if err != nil {
		return nil, err
	}
	var at uint64
	if err := db.reader.QueryRow("SELECT COALESCE(MAX(pos), 0) FROM run_events").Scan(&at); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", db.path, err), db.Close())
	}
	return &ServeDB{db: db, head: newHead(at)}, nil
}

// Close ends all calls of Wait and closes the database.
func (s *ServeDB) Close() error {
	s.head.close()
	return s.db.Close()
}

// Cursor returns the epoch and number of the last projected event of a host. The host's
// log must be read from there on. For an unknown host it returns "" and 0.
func (s *ServeDB) Cursor(ctx context.Context, host string) (epoch string, seq uint64, err error) {
	epoch, seq, err = cursor(ctx, s.db.reader, host)
	if err != nil {
		err = fmt.Errorf("read the cursor of host %s: %w", host, err)
	}
	return epoch, seq, err
}

// queryer is a connection pool or a transaction.
type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func cursor(ctx context.Context, q queryer, host string) (epoch string, seq uint64, err error) {
	err = q.QueryRowContext(ctx, "SELECT epoch, seq FROM cursors WHERE host = ?", host).Scan(&epoch, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return epoch, seq, err
}

// Project adds events to serve's log and updates the arms by Apply, in one transaction.
// It skips events that are already stored, by host, epoch and seq, so a batch may be sent
// twice. It returns EConflict if events of a host are missing before one of these events.
// The caller must then read the log from Cursor on. It returns EInvalid for a bad event.
func (s *ServeDB) Project(ctx context.Context, events []coleo.Event) error {
	return s.ProjectPast(ctx, events, 0)
}

// ProjectPast is Project for a host that has deleted old events of its log. Events up to
// number deleted may be missing forever. Gap returns what was missing.
func (s *ServeDB) ProjectPast(ctx context.Context, events []coleo.Event, deleted uint64) error {
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
		p := projection{ctx: context.WithoutCancel(ctx), tx: tx, arms: map[string]*projected{},
			hosts: map[string]*reached{}, deleted: deleted}
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

// Gap returns the number up to which events of a host's log were deleted before this
// database read them. It returns 0 if nothing is missing.
func (s *ServeDB) Gap(ctx context.Context, host string) (deleted uint64, err error) {
	err = s.db.reader.QueryRowContext(ctx, "SELECT deleted FROM gaps WHERE host = ?", host).Scan(&deleted)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read the gap of host %s: %w", host, err)
	}
	return deleted, nil
}

// Head returns the position of the last event in order of arrival, or 0 for none.
func (s *ServeDB) Head() uint64 { return s.head.position() }

// Wait returns nil as soon as an event has arrived after a position. It returns ctx's
// error when ctx ends first, and EUnavailable when the database is closed.
func (s *ServeDB) Wait(ctx context.Context, after uint64) error { return s.head.wait(ctx, after) }
