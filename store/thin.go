package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

// Bound determines how many entries are kept, and for how long. An entry is deleted if it is older
// than Age, or if it is not one of the newest entries of its class. The events of an arm have two
// classes: events of work, which have a source, and Coleo's own events. Because of the classes,
// many events of work never displace Coleo's own events.
type Bound struct {
	Most int // how many of the newest entries are kept; events of work do not count
	Work int // how many of the newest events of work are kept; 0 for a table without events
	Age  time.Duration
}

// These are the bounds of the logs and of other tables.
//
//   - ServeBound must be larger than HostBound. A host agent can send each event again that it still
//     has, and serve must then recognize the event.
//   - ServeBound keeps the events of two long runs of each arm, in about 200 MB. A long run has
//     100,000 events of work, of about 1 kB each.
//   - HostBound keeps half of the events of a long run. This is enough, because host.db is only the
//     source for a new serve.db.
//   - RunBound keeps the row of a run longer than the run's events, because the row has at most 5 kB.
var (
	HostBound  = Bound{10_000, 50_000, 30 * 24 * time.Hour}  // the bound for the events of each arm in host.db
	ServeBound = Bound{20_000, 200_000, 60 * 24 * time.Hour} // the bound for the events of each arm in serve.db
	RunBound   = Bound{Most: 10_000, Age: 400 * 24 * time.Hour}
	UsageBound = Bound{Age: 400 * 24 * time.Hour}
	AuditBound = Bound{Most: 50_000, Age: 400 * 24 * time.Hour}
)

const (
	// thinRows is the largest number of rows that one transaction deletes. Other writes must wait
	// during the transaction, which takes a few milliseconds.
	thinRows = 500
	// thinLook is the number of the oldest events of a class that one transaction reads. It is
	// larger than thinRows, because some of the oldest events are never deleted and are read each
	// time.
	thinLook = thinRows + 200
	// freePages is the largest number of pages (4 KiB each) that one call of vacuum
	// returns to the disk.
	freePages = 1000
)

// entry contains the fields of an event that determine whether the event is deleted.
type entry struct {
	at          int64 // the event's key in its table
	host, epoch string
	seq         int64
	time        string
	kind        coleo.EventKind
	run         string
}

// shelf describes the table that contains a log.
type shelf struct {
	table, key string // the names of the table and of its key column
	host       string // the SQL expression for the host of an event
}

// nextArm returns the lowest arm id that is higher than the given id. It returns "" if there is
// none.
func (l shelf) nextArm(ctx context.Context, q queryer, arm string) (string, error) {
	var id sql.NullString
	err := q.QueryRowContext(ctx, "SELECT MIN(id) FROM (SELECT MIN(arm_id) AS id FROM "+l.table+" WHERE arm_id > ?1 AND "+
		ownEvents+" UNION ALL SELECT MIN(arm_id) FROM "+l.table+" WHERE arm_id > ?1 AND "+workEvents+")", arm).Scan(&id)
	return id.String, err
}

// thinning is the state of one call of thin, in the call's transaction.
type thinning struct {
	shelf
	tx     *sql.Tx
	arm    string
	oldest string // the time of the oldest event to keep
	// stays reports whether an event must be kept, even if it is outside the bound.
	stays  func(*sql.Tx, entry) (bool, error)
	newest map[coleo.EventKind]int64 // the keys that findNewest has found; nil before it is called
	gone   []int64                   // the keys of the deleted events
}

// The classes of events, as SQL conditions. For each class, there is an index of the events by arm
// and key.
const (
	ownEvents  = "source IS NULL"
	workEvents = "source IS NOT NULL"
)

// thin deletes events of one arm that are outside a bound, in one transaction, and returns their
// keys. It keeps each event for which mustStay returns true. If noteDeleted is not nil, thin calls
// it with the highest deleted key, in the same transaction.
func (l shelf) thin(ctx context.Context, d *database, arm string, b Bound, now time.Time,
	mustStay func(*sql.Tx, entry) (bool, error), noteDeleted func(*sql.Tx, int64) error) (gone []int64, err error) {
	err = d.write(ctx, ordinary, func(tx *sql.Tx) error {
		t := thinning{shelf: l, tx: tx, arm: arm, stays: mustStay, oldest: now.Add(-b.Age).UTC().Format(timeLayout)}
		if err := errors.Join(t.thinClass(ownEvents, b.Most), t.thinClass(workEvents, b.Work)); err != nil {
			return err
		}
		if gone = t.gone; len(gone) == 0 || noteDeleted == nil {
			return nil
		}
		return noteDeleted(tx, slices.Max(gone))
	})
	if err != nil {
		return nil, fmt.Errorf("delete old events of arm %s: %w", arm, err)
	}
	return gone, nil
}

// thinClass deletes the events of one class that are too old, or that are not among the newest
// maxEvents events.
func (t *thinning) thinClass(class string, maxEvents int) error {
	last := int64(0)
	of := " FROM " + t.table + " WHERE arm_id = ? AND " + class + " ORDER BY " + t.key
	err := t.tx.QueryRow("SELECT "+t.key+of+" DESC LIMIT 1 OFFSET ?", t.arm, maxEvents).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	rows, err := t.tx.Query("SELECT "+t.key+", "+t.host+", COALESCE(epoch, ''), seq, COALESCE(ts, ''), kind, "+
		"COALESCE(run_id, '')"+of+" LIMIT ?", t.arm, thinLook)
	list, err := collect(rows, err, func(e *entry) []any {
		return []any{&e.at, &e.host, &e.epoch, &e.seq, &e.time, &e.kind, &e.run}
	})
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.at > last && e.time >= t.oldest || len(t.gone) == thinRows {
			break // all later events are kept, or this transaction has deleted enough events
		}
		kept, err := t.keeps(e)
		if err != nil {
			return err
		}
		if kept {
			continue
		}
		if _, err := t.tx.Exec("DELETE FROM "+t.table+" WHERE "+t.key+" = ?", e.at); err != nil {
			return err
		}
		t.gone = append(t.gone, e.at)
	}
	return nil
}

func (t *thinning) keeps(e entry) (bool, error) {
	if t.newest == nil {
		if err := t.findNewest(); err != nil {
			return false, err
		}
	}
	if t.newest[e.kind] == e.at {
		return true, nil
	}
	return t.stays(t.tx, e)
}

// findNewest finds the arm's newest event of each kind among Coleo's own events, if the arm still has
// a row. thin keeps these events, so that serve can compute the row from them again.
func (t *thinning) findNewest() error {
	rows, err := t.tx.Query("SELECT kind, MAX("+t.key+") FROM "+t.table+" WHERE arm_id = ?1 AND "+ownEvents+
		" AND EXISTS (SELECT 1 FROM arms WHERE id = ?1) GROUP BY kind", t.arm)
	list, err := collect(rows, err, func(e *entry) []any { return []any{&e.kind, &e.at} })
	t.newest = make(map[coleo.EventKind]int64, len(list))
	for _, e := range list {
		t.newest[e.kind] = e.at
	}
	return err
}

// vacuum returns at most freePages free pages to the disk.
func (d *database) vacuum(ctx context.Context) error {
	rows, err := d.writer.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", freePages))
	if err != nil {
		return fmt.Errorf("give back room: %w", err)
	}
	defer rows.Close()
	for rows.Next() { // each call of Next makes SQLite return one page to the disk
	}
	return rows.Err()
}

var hostShelf = shelf{"events", "seq", "''"}

// Deleted returns the highest number of an event that was deleted from the log. Events
// with lower numbers may also be missing. Deleted returns 0 if no event was deleted.
func (h *HostDB) Deleted() uint64 { return h.deleted.Load() }

// Thin deletes events of one arm that are outside a bound. It chooses the first arm whose id is
// higher than `after`, and returns the id of this arm. It returns "" if no arm has a higher id.
//
// Thin always keeps these events:
//   - events whose number is firstUnread or higher, because serve may not have read them;
//   - the start events of open runs;
//   - the arm's newest event of each kind among Coleo's own events, if the arm still has a record.
func (h *HostDB) Thin(ctx context.Context, after string, firstUnread uint64, now time.Time,
	b Bound) (arm string, deleted int, err error) {
	arm, err = hostShelf.nextArm(ctx, h.db.reader, after)
	if err != nil || arm == "" {
		return "", 0, err
	}
	var open string
	err = h.db.reader.QueryRowContext(ctx, "SELECT COALESCE(run, '') || COALESCE(earlier, '') FROM arms WHERE id = ?",
		arm).Scan(&open)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return arm, 0, err
	}
	gone, err := hostShelf.thin(ctx, h.db, arm, b, now, func(_ *sql.Tx, e entry) (bool, error) {
		begins := e.kind == coleo.EventRunStart && strings.Contains(open, e.run)
		return begins || uint64(e.at) >= firstUnread, nil
	}, func(tx *sql.Tx, last int64) error {
		_, err := tx.Exec(`INSERT INTO meta (key, value) VALUES ('deleted', ?1)
			ON CONFLICT (key) DO UPDATE SET value = MAX(CAST(value AS INTEGER), ?1)`, last)
		return err
	})
	if len(gone) > 0 {
		h.deleted.Store(max(h.deleted.Load(), uint64(slices.Max(gone))))
	}
	return arm, len(gone), err
}

// Vacuum returns at most 1000 free pages to the disk.
func (h *HostDB) Vacuum(ctx context.Context) error { return h.db.vacuum(ctx) }

var serveShelf = shelf{"run_events", "pos", "host"}

// Thin deletes events of one arm in serve's log that are outside a bound. It chooses the first arm
// whose id is higher than `after`, and returns the id of this arm. It returns "" if no arm has a
// higher id.
//
// Thin always keeps these events:
//   - the start events of runs that have no end event;
//   - the last event of each host;
//   - the arm's newest event of each kind among Coleo's own events, if the arm still has a row.
func (s *ServeDB) Thin(ctx context.Context, after string, now time.Time, b Bound) (arm string, deleted int, err error) {
	arm, err = serveShelf.nextArm(ctx, s.db.reader, after)
	if err != nil || arm == "" {
		return "", 0, err
	}
	gone, err := serveShelf.thin(ctx, s.db, arm, b, now, func(tx *sql.Tx, e entry) (stays bool, err error) {
		err = tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM cursors WHERE host = ?1 AND epoch = ?2 AND seq = ?3) OR
			?4 = 'run_start' AND EXISTS (SELECT 1 FROM runs WHERE id = ?5 AND outcome IS NULL)`,
			e.host, e.epoch, e.seq, string(e.kind), e.run).Scan(&stays)
		return stays, err
	}, nil)
	return arm, len(gone), err
}

// Vacuum returns at most 1000 free pages to the disk.
func (s *ServeDB) Vacuum(ctx context.Context) error { return s.db.vacuum(ctx) }

// ThinAudit deletes the oldest records of commands that are outside a bound, and returns how many
// it has deleted. One call deletes at most 500 records.
func (s *ServeDB) ThinAudit(ctx context.Context, now time.Time, b Bound) (deleted int, err error) {
	oldest := now.Add(-b.Age)
	err = s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		done, err := tx.Exec(`DELETE FROM audit WHERE id IN (SELECT id FROM audit
			WHERE id <= (SELECT MAX(id) FROM audit) - ? OR ts < ? ORDER BY id LIMIT `+
			`?)`, b.Most, moment{&oldest}, thinRows)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		deleted = int(n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("delete old commands: %w", err)
	}
	return deleted, nil
}

// ThinRuns deletes the oldest runs of one arm that are outside a bound, at most 500 of them. It chooses the
// first arm whose id is higher than `after`, and returns the id of this arm. It returns "" if no arm has a
// higher id.
//
// ThinRuns keeps a run as long as serve's log contains an event of the run.
func (s *ServeDB) ThinRuns(ctx context.Context, after string, now time.Time, b Bound) (arm string, deleted int,
	err error) {
	var id sql.NullString
	err = s.db.reader.QueryRowContext(ctx, "SELECT MIN(arm_id) FROM runs WHERE arm_id > ?", after).Scan(&id)
	if err != nil || !id.Valid {
		return "", 0, err
	}
	oldest := now.Add(-b.Age)
	err = s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		done, err := tx.Exec(`DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE arm_id = ?1
			AND (first <= (SELECT first FROM runs WHERE arm_id = ?1 ORDER BY first DESC LIMIT 1 OFFSET ?2)
				OR COALESCE(ended_at, started_at) < ?3)
			AND NOT EXISTS (SELECT 1 FROM run_events WHERE pos BETWEEN runs.first AND runs.last AND run_id = runs.id)
			ORDER BY first LIMIT ?4)`,
			id.String, b.Most, moment{&oldest}, thinRows)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		deleted = int(n)
		return err
	})
	if err != nil {
		return id.String, 0, fmt.Errorf("delete old runs of arm %s: %w", id.String, err)
	}
	return id.String, deleted, nil
}
