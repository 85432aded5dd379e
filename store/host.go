package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"coleo.dev"
	"coleo.dev/armname"
)

// HostDB is the database of a host agent. It contains the append-only log of the events of the
// host's arms. It also contains the records with which the host agent finds and restarts the arms.
//
// A method that writes waits for earlier writes until ctx ends. A write that has begun always
// finishes. A method that reads returns ctx's error when ctx ends.
type HostDB struct {
	db     *database
	head   *head
	epoch  string                 // the epoch of the events that this process writes
	legacy string                 // the epoch of old events that were stored without an epoch
	newest atomic.Pointer[string] // the epoch of the newest event
	host   atomic.Pointer[string]

	insert *sql.Stmt // the statement that adds an event; it is prepared once for all events
	backup bool      // see IsBackup

	deleted atomic.Uint64 // the highest number of a deleted event; lower numbers may also be missing
}

// hostSchema is the schema of host.db. Its `mark` is SQLite's application_id, whose bytes spell
// "clho".
var hostSchema = schema{folder: "host", mark: 0x636c686f}

// OpenHost opens the database of a host agent. If the database does not exist, OpenHost creates it
// with a random host id, which SetHost can change. Each call of OpenHost creates a new epoch for
// the events that this process writes. So after the database was restored from an older copy, no
// new event has the same epoch and number as a lost event.
//
// OpenHost returns EConflict in two cases:
//   - Another process has the database open. The error names the process.
//   - A newer Coleo has changed the tables.
func OpenHost(path string) (*HostDB, error) {
	db, err := open(path, hostSchema)
	if err != nil {
		return nil, err
	}
	h := &HostDB{db: db}
	if err := h.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", db.path, err), db.Close())
	}
	return h, nil
}

func (h *HostDB) load() error {
	draw := map[string]string{"epoch": randomID(), "host": drawnHost + randomID()}
	h.epoch = randomID()
	var err error
	if h.insert, err = h.db.writer.Prepare(hostInsertion); err != nil {
		return err
	}
	var host, newest string
	var at, deleted uint64
	err = h.db.write(context.Background(), intent, func(tx *sql.Tx) error {
		for key, value := range draw {
			if _, err := tx.Exec("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING", key,
				value); err != nil {
				return err
			}
		}
		var err error
		at, err = lastSeq(tx)
		err = errors.Join(err,
			tx.QueryRow("SELECT value FROM meta WHERE key = 'epoch'").Scan(&h.legacy),
			tx.QueryRow("SELECT COALESCE((SELECT CAST(value AS INTEGER) FROM meta "+
				"WHERE key = 'deleted'), 0)").Scan(&deleted),
			tx.QueryRow("SELECT EXISTS (SELECT 1 FROM meta WHERE key = ?)", backupMark).Scan(&h.backup),
			tx.QueryRow("SELECT value FROM meta WHERE key = 'host'").Scan(&host))
		if err != nil || at == 0 {
			newest = h.epoch
			return err
		}
		return tx.QueryRow("SELECT COALESCE(epoch, ?) FROM events WHERE seq = ?", h.legacy, int64(at)).Scan(&newest)
	})
	h.host.Store(&host)
	h.newest.Store(&newest)
	h.deleted.Store(deleted)
	h.head = newHead(at)
	return err
}

// randomID returns 13 random characters, which are enough to be unique.
func randomID() string { return strings.ToLower(rand.Text()[:13]) }

// Close makes all calls of Wait return, and closes the database.
func (h *HostDB) Close() error {
	h.head.close()
	return h.db.Close()
}

// IsBackup reports whether the database is a backup that was put back: see MarkBackup. The arms may have done something
// since that the database does not contain. IsBackup returns the same result until the database is opened again.
func (h *HostDB) IsBackup() bool { return h.backup }

// EndBackup removes the mark of a backup.
func (h *HostDB) EndBackup(ctx context.Context) error {
	return h.db.write(ctx, intent, func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM meta WHERE key = ?", backupMark)
		return err
	})
}

// drawnHost begins the id that OpenHost draws for a host agent. An id of randomID follows.
const drawnHost = "host-"

// Named reports whether somebody has given the host agent its id. Otherwise OpenHost has drawn the id.
func (h *HostDB) Named() bool {
	rest, drawn := strings.CutPrefix(h.Host(), drawnHost)
	return !drawn || len(rest) != len(randomID())
}

// Host returns the id of the host agent. Append writes this id into every event.
func (h *HostDB) Host() string { return *h.host.Load() }

// SetHost changes the id of the host agent. To a program that follows the log, the new id is a new
// host, so the program reads the log from the beginning. SetHost returns EInvalid for a bad id.
func (h *HostDB) SetHost(ctx context.Context, id string) error {
	if err := armname.Check(id); err != nil {
		return err
	}
	return h.db.write(ctx, intent, func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE meta SET value = ? WHERE key = 'host'", id)
		if err == nil {
			h.host.Store(&id)
		}
		return err
	})
}

// Epoch returns the epoch of the newest event. If the log is empty, Epoch returns the
// epoch that the first event will have.
func (h *HostDB) Epoch() string { return *h.newest.Load() }

// Has reports whether the log contains the event with the given epoch and sequence number. If seq
// is 0, Has returns true, because every log has a beginning, which is the position 0.
func (h *HostDB) Has(ctx context.Context, epoch string, seq uint64) (bool, error) {
	if seq == 0 {
		return true, nil
	}
	var found string
	err := h.db.reader.QueryRowContext(ctx, "SELECT COALESCE(epoch, ?) FROM events WHERE seq = ?",
		h.legacy, int64(seq)).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for event %d of the log: %w", seq, err)
	}
	return found == epoch, nil
}

// Head returns the sequence number of the last event, or 0 for an empty log.
func (h *HostDB) Head() uint64 { return h.head.position() }

// Append writes the events to the end of the log, and wakes the callers of Wait. In the returned
// events, Append has set Host, Epoch and Seq. It ignores the values that these fields had before.
// After an error, the log contains none of the events. Append returns EInvalid for a bad event.
//
// After Append has returned, the events survive the end of this process. If one of the events is an
// intent, such as a spawn, all of the events also survive a power failure.
func (h *HostDB) Append(ctx context.Context, events ...coleo.Event) ([]coleo.Event, error) {
	if len(events) == 0 {
		return nil, nil
	}
	return h.append(ctx, durabilityOf(events), events, func(*sql.Tx) error { return nil })
}

// append writes the events to the end of the log, and calls a function in the same transaction.
func (h *HostDB) append(ctx context.Context, level durability, events []coleo.Event,
	also func(*sql.Tx) error) ([]coleo.Event, error) {
	for _, e := range events {
		if err := checkEvent(e); err != nil {
			return nil, err
		}
	}
	out := slices.Clone(events)
	for i := range out {
		payload, err := fitPayload(out[i].Payload)
		if err != nil {
			return nil, fmt.Errorf("append event %s of arm %q: %w", out[i].Kind, out[i].Arm, err)
		}
		out[i].Payload = payload
	}
	err := h.db.write(ctx, level, func(tx *sql.Tx) error {
		seq, err := lastSeq(tx)
		if err != nil {
			return err
		}
		insert := tx.Stmt(h.insert)
		host := h.Host()
		for i := range out {
			seq++
			out[i].Host, out[i].Epoch, out[i].Seq = host, h.epoch, seq
			if _, err := insert.Exec(append(cells(eventFields(&out[i])), int64(seq), h.epoch)...); err != nil {
				return err
			}
		}
		return also(tx)
	})
	if err != nil {
		return nil, fmt.Errorf("append to the event log: %w", err)
	}
	if len(out) > 0 {
		h.newest.Store(&h.epoch)
		h.head.moveTo(out[len(out)-1].Seq)
	}
	return out, nil
}

// durabilityOf returns intent if at least one of the events is an intent. Otherwise it returns
// ordinary.
func durabilityOf(events []coleo.Event) durability {
	for _, e := range events {
		switch e.Kind {
		case coleo.EventSpawned, coleo.EventReattached, coleo.EventStopped, coleo.EventOrphaned,
			coleo.EventRemoved, coleo.EventDecision, coleo.EventQueue, coleo.EventParked, coleo.EventLabels,
			coleo.EventBudget, coleo.EventHandover, coleo.EventOnLimit,
			coleo.EventPolicy, coleo.EventWorkspaceChanged, coleo.EventWorkspaceReady, coleo.EventMerge:
			return intent
		default: // an event of any other kind only reports what was observed
		}
	}
	return ordinary
}

func lastSeq(tx *sql.Tx) (uint64, error) {
	var seq uint64
	err := tx.QueryRow("SELECT COALESCE(MAX(seq), 0) FROM events").Scan(&seq)
	return seq, err
}

// hostInsertion is the statement that adds an event to the log.
var hostInsertion = insertion("events", append(eventFields(&coleo.Event{}), field{name: "seq"}, field{name: "epoch"}))

// Events returns the events after the given sequence number, in order. It returns at most `limit` events, or
// 1000 if `limit` is 0. If the events are large, it returns fewer. An empty result means that the log
// contains no events after that number.
func (h *HostDB) Events(ctx context.Context, after uint64, limit int) ([]coleo.Event, error) {
	var shape coleo.Event
	rows, err := h.db.reader.QueryContext(ctx,
		"SELECT seq, COALESCE(epoch, ?), "+columns(eventFields(&shape))+
			" FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
		h.legacy, int64(after), rowLimit(limit))
	events, err := collectEvents(rows, err, func(e *coleo.Event) []any {
		e.Host = h.Host()
		return append([]any{&e.Seq, &e.Epoch}, cells(eventFields(e))...)
	})
	if err != nil {
		return nil, fmt.Errorf("read the event log after %d: %w", after, err)
	}
	return events, nil
}

// Newest returns an arm's newest event of the given kind. It returns false if the log contains no
// such event.
func (h *HostDB) Newest(ctx context.Context, arm string, kind coleo.EventKind) (coleo.Event, bool, error) {
	e, found, err := h.newestWhere(ctx, "arm_id = ? AND kind = ?", arm, string(kind))
	if err != nil {
		err = fmt.Errorf("read the newest %s of arm %s: %w", kind, arm, err)
	}
	return e, found, err
}

// NewestOfRun returns a run's newest event of one of the given kinds. It returns false if the log
// contains no such event.
func (h *HostDB) NewestOfRun(ctx context.Context, arm, run string,
	kinds ...coleo.EventKind) (coleo.Event, bool, error) {
	args := []any{arm, run}
	for _, kind := range kinds {
		args = append(args, string(kind))
	}
	e, found, err := h.newestWhere(ctx, "arm_id = ? AND run_id = ? AND kind IN (?"+
		strings.Repeat(", ?", len(kinds)-1)+")", args...)
	if err != nil {
		err = fmt.Errorf("read the newest work of run %s of arm %s: %w", run, arm, err)
	}
	return e, found, err
}

// NewestOfPrompt returns an arm's newest event about the prompt with the given id. This is the start of the
// prompt's run, or a change of the arm's queue. It returns false if the log contains no such event.
//
// No index contains the ids of prompts, so the query reads all of Coleo's own events of the arm.
// HostBound limits their number.
func (h *HostDB) NewestOfPrompt(ctx context.Context, arm, id string) (coleo.Event, bool, error) {
	e, found, err := h.newestWhere(ctx, "arm_id = ?1 AND "+ownEvents+" AND (kind = ?2 AND run_id = ?3 OR "+
		"kind = ?4 AND payload ->> 'id' = ?3)", arm, string(coleo.EventRunStart), id, string(coleo.EventQueue))
	if err != nil {
		err = fmt.Errorf("look for the prompt %s of arm %s: %w", id, arm, err)
	}
	return e, found, err
}

// LastPrompts returns the newest event about each prompt of an arm: see NewestOfPrompt. The keys
// are the ids of the prompts. The event of a run's start has no payload, because the texts of all prompts
// would need too much memory.
func (h *HostDB) LastPrompts(ctx context.Context, arm string) (map[string]coleo.Event, error) {
	last, shape := map[string]coleo.Event{}, coleo.Event{}
	for after := uint64(0); ; { // each page contains only some of the events if the events are large
		rows, err := h.db.reader.QueryContext(ctx, "SELECT seq, "+columns(eventFields(&shape))+" FROM events WHERE "+
			"arm_id = ? AND "+ownEvents+" AND kind IN (?, ?) AND seq > ? ORDER BY seq", arm, string(coleo.EventRunStart),
			string(coleo.EventQueue), int64(after))
		events, err := collectEvents(rows, err, func(e *coleo.Event) []any {
			return append([]any{&e.Seq}, cells(eventFields(e))...)
		})
		if err != nil {
			return nil, fmt.Errorf("look for the prompts of arm %s: %w", arm, err)
		}
		if len(events) == 0 {
			return last, nil
		}
		for _, e := range events {
			after = e.Seq
			id := e.Run
			if e.Kind == coleo.EventQueue {
				var c coleo.QueueChange
				_ = json.Unmarshal(e.Payload, &c) // after an error, c.ID is "", so that the event is skipped
				id = c.ID
			} else {
				e.Payload = nil
			}
			if id != "" {
				last[id] = e
			}
		}
	}
}

// newestWhere returns the newest event for which an SQL condition is true.
func (h *HostDB) newestWhere(ctx context.Context, condition string, args ...any) (coleo.Event, bool, error) {
	e := coleo.Event{Host: h.Host()}
	var epoch sql.NullString
	err := h.db.reader.QueryRowContext(ctx, "SELECT seq, epoch, "+columns(eventFields(&e))+" FROM events WHERE "+
		condition+" ORDER BY seq DESC LIMIT 1", args...).
		Scan(append([]any{&e.Seq, &epoch}, cells(eventFields(&e))...)...)
	if e.Epoch = h.legacy; epoch.Valid {
		e.Epoch = epoch.String
	}
	if errors.Is(err, sql.ErrNoRows) {
		return e, false, nil
	}
	return e, err == nil, err
}

// Wait returns nil when the log contains an event after the given sequence number. It returns ctx's
// error if ctx ends first, and EUnavailable if the log is closed.
func (h *HostDB) Wait(ctx context.Context, after uint64) error { return h.head.wait(ctx, after) }
