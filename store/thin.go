package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"coleo.dev"
)

// Bound says how many entries to keep, and for how long. An entry is deleted if it is
// not among the newest Most entries, or if it is older than Age.
type Bound struct {
	Most int
	Age  time.Duration
}

// The bounds of the logs. ServeBound keeps more events than HostBound. As long as a
// host agent has an event, it can send the event again, and serve must recognize the
// event.
var (
	HostBound  = Bound{10_000, 30 * 24 * time.Hour} // events of each arm, in host.db
	ServeBound = Bound{20_000, 60 * 24 * time.Hour} // events of each arm, in serve.db
	AuditBound = Bound{50_000, 400 * 24 * time.Hour}
)

const (
	// thinRows is the largest number of rows that one transaction deletes. Deleting so
	// many rows takes a few milliseconds, and other writes wait during this time.
	thinRows = 500
	// thinLook is how many of an arm's oldest events one transaction reads. It is
	// larger than thinRows, because some of the oldest events are kept forever and are
	// read each time.
	thinLook = thinRows + 200
	// freePages is the largest number of pages (4 KiB each) that one call of vacuum
	// returns to the disk.
	freePages = 1000
)

// entry has the fields of an event that decide whether the event is deleted.
type entry struct {
	at         int64 // the event's key in its table
	host, time string
	kind       coleo.EventKind
	run        string
}

// shelf describes the table that contains a log.
type shelf struct {
	table, key, host string // table and key are names; host is the SQL expression for the host of an event
}

// next returns the arm id that follows the given arm id in the order of the ids. It
// returns "" if none follows.
func (l shelf) next(ctx context.Context, q queryer, arm string) (string, error) {
	var id sql.NullString
	err := q.QueryRowContext(ctx, "SELECT MIN(arm_id) FROM "+l.table+" WHERE arm_id > ?", arm).Scan(&id)
	return id.String, err
}

// thin deletes events of one arm that are outside the bound b, in one transaction. It
// returns the keys of the deleted events. If stays returns true for an event, thin
// keeps the event, even if the event is outside the bound. If note is not nil, thin
// calls note with the last deleted key, in the same transaction.
func (l shelf) thin(ctx context.Context, d *database, arm string, b Bound, now time.Time,
	stays func(*sql.Tx, entry) (bool, error), note func(*sql.Tx, int64) error) (gone []int64, err error) {
	var pinned map[coleo.EventKind]int64 // read only if there is something to delete
	err = d.write(ctx, ordinary, func(tx *sql.Tx) error {
		last := int64(0)
		err := tx.QueryRow("SELECT "+l.key+" FROM "+l.table+" WHERE arm_id = ? ORDER BY "+l.key+
			" DESC LIMIT 1 OFFSET ?", arm, b.Most).Scan(&last)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		old := moment{new(time.Time)}
		*old.p = now.Add(-b.Age)
		oldest, err := old.Value()
		if err != nil {
			return err
		}
		rows, err := tx.Query("SELECT "+l.key+", "+l.host+", COALESCE(ts, ''), kind, COALESCE(run_id, '') FROM "+
			l.table+" WHERE arm_id = ? ORDER BY "+l.key+" LIMIT ?", arm, thinLook)
		list, err := collect(rows, err, func(e *entry) []any { return []any{&e.at, &e.host, &e.time, &e.kind, &e.run} })
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.at > last && e.time >= fmt.Sprint(oldest) || len(gone) == thinRows {
				break // the following events are newer, or enough are deleted
			}
			if pinned == nil {
				if pinned, err = l.newest(tx, arm); err != nil {
					return err
				}
			}
			kept, err := stays(tx, e)
			if err != nil {
				return err
			}
			if kept || pinned[e.kind] == e.at {
				continue
			}
			if _, err := tx.Exec("DELETE FROM "+l.table+" WHERE "+l.key+" = ?", e.at); err != nil {
				return err
			}
			gone = append(gone, e.at)
		}
		if len(gone) == 0 || note == nil {
			return nil
		}
		return note(tx, gone[len(gone)-1])
	})
	if err != nil {
		return nil, fmt.Errorf("delete old events of arm %s: %w", arm, err)
	}
	return gone, nil
}

// newest returns the key of the arm's newest event of each kind, if the arm still has a
// row. Thin does not delete these events, so that serve can rebuild the row from them.
func (l shelf) newest(tx *sql.Tx, arm string) (map[coleo.EventKind]int64, error) {
	rows, err := tx.Query("SELECT kind, MAX("+l.key+") FROM "+l.table+
		" WHERE arm_id = ?1 AND EXISTS (SELECT 1 FROM arms WHERE id = ?1) GROUP BY kind", arm)
	list, err := collect(rows, err, func(e *entry) []any { return []any{&e.kind, &e.at} })
	out := map[coleo.EventKind]int64{}
	for _, e := range list {
		out[e.kind] = e.at
	}
	return out, err
}

// vacuum returns at most freePages free pages to the disk.
func (d *database) vacuum(ctx context.Context) error {
	rows, err := d.writer.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", freePages))
	if err != nil {
		return fmt.Errorf("give back room: %w", err)
	}
	defer rows.Close()
	for rows.Next() { // each step frees a page
	}
	return rows.Err()
}

var hostShelf = shelf{"events", "seq", "''"}

// Deleted returns the highest number of an event that was deleted from the log. Events
// with lower numbers may also be missing. Deleted returns 0 if no event was deleted.
func (h *HostDB) Deleted() uint64 { return h.deleted.Load() }

// Thin deletes events of one arm that are outside the bound b. It chooses the next arm
// after the given arm id, in the order of the ids, and returns the id of the chosen
// arm. It returns "" if no arm follows.
//
// Thin always keeps these events:
//   - events with the number read or a higher one, because serve may not have read
//     them;
//   - the start events of open runs;
//   - if the arm still has a record, its newest event of each kind.
func (h *HostDB) Thin(ctx context.Context, after string, read uint64, now time.Time,
	b Bound) (arm string, deleted int, err error) {
	arm, err = hostShelf.next(ctx, h.db.reader, after)
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
		return begins || uint64(e.at) >= read, nil
	}, func(tx *sql.Tx, last int64) error {
		_, err := tx.Exec(`INSERT INTO meta (key, value) VALUES ('deleted', ?1)
			ON CONFLICT (key) DO UPDATE SET value = MAX(CAST(value AS INTEGER), ?1)`, last)
		return err
	})
	if len(gone) > 0 {
		h.deleted.Store(max(h.deleted.Load(), uint64(gone[len(gone)-1])))
	}
	return arm, len(gone), err
}

// Vacuum returns some free pages to the disk: at most 1000 in one call.
func (h *HostDB) Vacuum(ctx context.Context) error { return h.db.vacuum(ctx) }

var serveShelf = shelf{"run_events", "pos", "host"}

// Thin deletes events of one arm in serve's log that are outside the bound b. It
// chooses the next arm after the given arm id, in the order of the ids, and returns the
// id of the chosen arm. It returns "" if no arm follows.
//
// Thin always keeps these events:
//   - the start events of runs that have no end event;
//   - the last event of each host;
//   - if the arm still has a row, its newest event of each kind.
func (s *ServeDB) Thin(ctx context.Context, after string, now time.Time, b Bound) (arm string, deleted int, err error) {
	arm, err = serveShelf.next(ctx, s.db.reader, after)
	if err != nil || arm == "" {
		return "", 0, err
	}
	gone, err := serveShelf.thin(ctx, s.db, arm, b, now, func(tx *sql.Tx, e entry) (stays bool, err error) {
		err = tx.QueryRow(`SELECT ?1 = (SELECT MAX(pos) FROM run_events WHERE host = ?2) OR
			?3 = 'run_start' AND NOT EXISTS (SELECT 1 FROM run_events WHERE run_id = ?4 AND kind = 'run_end')`,
			e.at, e.host, string(e.kind), e.run).Scan(&stays)
		return stays, err
	}, nil)
	return arm, len(gone), err
}

// ThinAudit deletes the oldest records of commands that are outside the bound b. One
// call deletes at most 500 records.
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

// Vacuum returns some free pages to the disk: at most 1000 in one call.
func (s *ServeDB) Vacuum(ctx context.Context) error { return s.db.vacuum(ctx) }
