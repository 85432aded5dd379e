package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"coleo.dev"
)

// EventFilter selects events of serve's log. An empty field matches all events. Callers
// of the API use wire.EventFilter instead.
type EventFilter struct {
	Run   string
	Arm   string            // the arm's id
	Kinds []coleo.EventKind // only events of these kinds are selected
	// selects the events after this position, which RunEvents or Head has returned; 0 selects from the beginning
	// of the log
	After uint64
	Limit int // 0 means 1000
}

// Entry is an event with its position in serve's log. An event that arrives later has a
// higher position. The positions can have gaps.
type Entry struct {
	Position uint64
	coleo.Event
}

// Entries returns the events that match the filter, in order of arrival. The events of one host are
// in the order of the host's log. A page can contain fewer events than the limit even if more
// events follow. Only an empty page means that no events follow. After Entries has returned an
// event, Head returns at least the position of this event.
func (s *ServeDB) Entries(ctx context.Context, f EventFilter) ([]Entry, error) {
	query, args, err := s.entriesQuery(ctx, f)
	if err != nil || query == "" {
		return nil, err
	}
	out, err := s.entries(ctx, query, args)
	if err != nil {
		return nil, fmt.Errorf("read events after %d: %w", f.After, err)
	}
	if len(out) > 0 {
		// Move the head here too, because a reader can see an event before the event's writer moves
		// the head.
		s.head.moveTo(out[len(out)-1].Position)
	}
	return out, nil
}

// entries returns the events of a query.
func (s *ServeDB) entries(ctx context.Context, query string, args []any) ([]Entry, error) {
	var at []uint64 // the position of each event
	rows, err := s.db.reader.QueryContext(ctx, query, args...)
	events, err := collectEvents(rows, err, func(e *coleo.Event) []any {
		at = append(at, 0)
		return append([]any{&at[len(at)-1], &e.Host, &e.Epoch, &e.Seq}, cells(eventFields(e))...)
	})
	out := make([]Entry, len(events))
	for i, e := range events {
		out[i] = Entry{at[i], e}
	}
	return out, err
}

// entriesQuery returns the query for the events that match a filter, or "" if no event can match.
// Each query uses an index, so that it reads only events that match. The only exception is a filter
// by run. Its query also reads the events of the run's arm that happened during the run but do not
// belong to it. There are few such events.
func (s *ServeDB) entriesQuery(ctx context.Context, f EventFilter) (string, []any, error) {
	after, limit := int64(f.After), rowLimit(f.Limit)
	var parts []part
	switch {
	case f.Run != "":
		run, err := readRun(ctx, s.db.reader, f.Run)
		if err != nil || run.ID == "" || f.Arm != "" && run.Arm != f.Arm {
			return "", nil, err
		}
		after = max(after, run.first-1)
		parts = ofArm(f.Kinds, "arm_id = ? AND run_id = ? AND pos <= ?", run.Arm, f.Run, run.last)
	case f.Arm != "":
		parts = ofArm(f.Kinds, "arm_id = ?", f.Arm)
	case len(f.Kinds) > 0:
		parts = ofKinds(f.Kinds, "run_events_by_kind", "1")
	default:
		return selectEntries + " WHERE pos > ? ORDER BY pos LIMIT ?", []any{after, limit}, nil
	}
	query, args := oldestQuery(parts, after, limit)
	return query, args, nil
}

var selectEntries = "SELECT pos, host, epoch, seq, " + columns(eventFields(&coleo.Event{})) + " FROM run_events"

// part is a part of serve's log. An index lists the events of the part in the order of their positions.
type part struct {
	index string
	where string // the SQL condition that selects the part's events
	args  []any  // the arguments of where
}

// ofArm returns the parts of the log that contain an arm's events of the given kinds. If there are
// no kinds, the parts contain all events of the arm.
func ofArm(kinds []coleo.EventKind, where string, args ...any) []part {
	if len(kinds) > 0 {
		return ofKinds(kinds, "run_events_by_arm_kind", where, args...)
	}
	return []part{{"run_events_own", where + " AND " + ownEvents, args},
		{"run_events_work", where + " AND " + workEvents, args}}
}

// ofKinds returns one part for each kind, because an index is ordered by position only within one
// kind.
func ofKinds(kinds []coleo.EventKind, index, where string, args ...any) (parts []part) {
	for _, kind := range kinds {
		parts = append(parts, part{index, where + " AND kind = ?", append(slices.Clone(args), string(kind))})
	}
	return parts
}

// oldestQuery returns a query for events of the given parts. It finds the events with the lowest positions
// above the given position, at most `limit` of them.
func oldestQuery(parts []part, position int64, limit int) (string, []any) {
	var each []string
	var args []any
	for _, p := range parts {
		each = append(each, fmt.Sprintf("SELECT * FROM (SELECT pos AS p FROM run_events INDEXED BY %s WHERE %s "+
			"AND pos > ? ORDER BY pos LIMIT ?)", p.index, p.where))
		args = append(append(args, p.args...), position, limit)
	}
	return selectEntries + " WHERE pos IN (SELECT p FROM (" + strings.Join(each, " UNION ALL ") +
		") ORDER BY p LIMIT ?) ORDER BY pos", append(args, limit)
}

// Newest returns the newest events of an arm before a position, oldest first. If `kind` is not "", it returns
// only events of that kind. The position 0 means the end of the log. Newest returns at most limit events, and
// fewer if their payloads are large.
func (s *ServeDB) Newest(ctx context.Context, arm string, kind coleo.EventKind, before uint64, limit int) ([]Entry,
	error) {
	var kinds []coleo.EventKind
	if kind != "" {
		kinds = append(kinds, kind)
	}
	if before == 0 {
		before = math.MaxInt64
	}
	query, args := newestQuery(ofArm(kinds, "arm_id = ?", arm), int64(before), limit)
	list, err := s.entries(ctx, query, args)
	if err != nil {
		return nil, fmt.Errorf("read the newest events of arm %s: %w", arm, err)
	}
	slices.Reverse(list)
	return list, nil
}

// newestQuery returns a query for events of the given parts. It finds the events with the highest positions
// below the given position, at most `limit` of them. The event with the highest position comes first.
func newestQuery(parts []part, position int64, limit int) (string, []any) {
	var each []string
	var args []any
	for _, p := range parts {
		each = append(each, fmt.Sprintf("SELECT * FROM (SELECT pos AS p FROM run_events INDEXED BY %s WHERE %s "+
			"AND pos < ? ORDER BY pos DESC LIMIT ?)", p.index, p.where))
		args = append(append(args, p.args...), position, limit)
	}
	return selectEntries + " WHERE pos IN (SELECT p FROM (" + strings.Join(each, " UNION ALL ") +
		") ORDER BY p DESC LIMIT ?) ORDER BY pos DESC", append(args, limit)
}

// RunEvents does the same as Entries, but returns the events without their positions. It also
// returns the value of After for the next call.
func (s *ServeDB) RunEvents(ctx context.Context, f EventFilter) (events []coleo.Event, next uint64, err error) {
	entries, err := s.Entries(ctx, f)
	next = f.After
	for _, e := range entries {
		events, next = append(events, e.Event), e.Position
	}
	return events, next, err
}

// LastRunEnd returns the run_end event of the newest ended run of the arm with the given id. It
// ignores runs that only shortened the conversation. It returns ENotFound if no other run of the
// arm has ended.
func (s *ServeDB) LastRunEnd(ctx context.Context, arm string) (coleo.Event, error) {
	var e coleo.Event
	err := s.db.reader.QueryRowContext(ctx, "SELECT host, epoch, seq, "+columns(eventFields(&e))+
		" FROM run_events WHERE arm_id = ? AND kind = ? AND json_extract(payload, "+
		"'$.compact') IS NULL ORDER BY pos DESC LIMIT 1", arm, string(coleo.EventRunEnd)).
		Scan(append([]any{&e.Host, &e.Epoch, &e.Seq}, cells(eventFields(&e))...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return e, coleo.Errorf(coleo.ENotFound, "no run of arm %s has ended yet", arm)
	}
	if err != nil {
		return e, fmt.Errorf("read the last run of arm %s: %w", arm, err)
	}
	return e, nil
}

// LastQueueChange returns the newest change of the queue entry with the given id, and the id of the
// arm whose queue contains the entry. It returns ENotFound if there is no such change.
func (s *ServeDB) LastQueueChange(ctx context.Context, id string) (c coleo.QueueChange, arm string, err error) {
	var payload []byte
	err = s.db.reader.QueryRowContext(ctx, "SELECT arm_id, payload FROM run_events WHERE kind = ? "+
		"AND json_extract(payload, '$.id') = ? ORDER BY pos DESC LIMIT 1", string(coleo.EventQueue), id).Scan(&arm, &payload)
	if errors.Is(err, sql.ErrNoRows) {
		return c, "", coleo.Errorf(coleo.ENotFound, "no queue has ever had a prompt %q", id)
	}
	if err == nil {
		err = json.Unmarshal(payload, &c)
	}
	if err != nil {
		return c, "", fmt.Errorf("read the last change of the queued prompt %s: %w", id, err)
	}
	return c, arm, nil
}
