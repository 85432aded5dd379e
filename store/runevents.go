package store

import (
	"context"
	"fmt"
	"strings"

	"coleo.dev"
)

// EventFilter selects events of serve's log. An empty field matches all events. Callers
// of the API use wire.EventFilter instead.
type EventFilter struct {
	Run   string
	Arm   string            // the arm's id
	Kinds []coleo.EventKind // events of one of these kinds
	After uint64            // a position that RunEvents or Head returned; 0 means the beginning of the log
	Limit int               // 0 means 1000
}

// Entry is an event with its position in serve's log. An event that arrives later has a
// higher position. The positions can have gaps.
type Entry struct {
	Position uint64
	coleo.Event
}

// Entries returns the events that match the filter, in order of arrival. The events of
// one host are in the order of the host's log. A page can have fewer events than the
// limit although more events follow. An empty page means that no events follow. After
// Entries has returned an event, Head returns at least the position of this event.
func (s *ServeDB) Entries(ctx context.Context, f EventFilter) ([]Entry, error) {
	query, args, err := s.entriesQuery(ctx, f)
	if err != nil || query == "" {
		return nil, err
	}
	var at []uint64 // the position of each event
	rows, err := s.db.reader.QueryContext(ctx, query, args...)
	events, err := collectEvents(rows, err, func(e *coleo.Event) []any {
		at = append(at, 0)
		return append([]any{&at[len(at)-1], &e.Host, &e.Epoch, &e.Seq}, cells(eventFields(e))...)
	})
	if err != nil {
		return nil, fmt.Errorf("read events after %d: %w", f.After, err)
	}
	out := make([]Entry, len(events))
	for i, e := range events {
		out[i] = Entry{at[i], e}
	}
	if len(out) > 0 {
		// Move the head, because a reader can see an event before the writer of the
		// event moves the head.
		s.head.moveTo(out[len(out)-1].Position)
	}
	return out, nil
}

// entriesQuery returns the query for the events that match a filter. The query is "" if
// no event can match. Each filter has an index, so the query never reads events that do
// not match. The only exception is a filter by run and kind. It also looks at events of
// these kinds that other runs of the arm had at the same time.
func (s *ServeDB) entriesQuery(ctx context.Context, f EventFilter) (string, []any, error) {
	query, args := selectEntries+" WHERE pos > ?", []any{int64(f.After)}
	also := func(condition string, value any) { query, args = query+" AND "+condition, append(args, value) }
	if len(f.Kinds) == 0 {
		if f.Run != "" {
			also("run_id = ?", f.Run)
		}
		if f.Arm != "" && f.Run == "" {
			also("arm_id = ?", f.Arm)
		} else if f.Arm != "" {
			also("+arm_id = ?", f.Arm) // the index of runs is the one to use
		}
		return query + " ORDER BY pos LIMIT ?", append(args, page(f.Limit)), nil
	}
	q := ofKinds{table: "run_events", key: "pos", index: "run_events_by_kind", where: "1"}
	if f.Arm != "" {
		q = ofKinds{table: q.table, key: q.key, index: "run_events_by_arm_kind", where: "arm_id = ?", args: []any{f.Arm}}
	}
	after := int64(f.After)
	if f.Run != "" {
		run, err := readRun(ctx, s.db.reader, f.Run)
		if err != nil || run.ID == "" || f.Arm != "" && run.Arm != f.Arm {
			return "", nil, err
		}
		after = max(after, run.first-1)
		q.index, q.where = "run_events_by_arm_kind", "arm_id = ? AND run_id = ? AND pos <= ?"
		q.args = []any{run.Arm, f.Run, run.last}
	}
	keys, args := q.oldest(f.Kinds, after, page(f.Limit))
	return selectEntries + " WHERE pos IN (" + keys + ") ORDER BY pos", args, nil
}

var selectEntries = "SELECT pos, host, epoch, seq, " + columns(eventFields(&coleo.Event{})) + " FROM run_events"

// ofKinds selects the keys of events of some kinds in a log. The index has the columns of
// the condition where, then kind and then the key.
type ofKinds struct {
	table, key, index string
	where             string // a condition for each event
	args              []any  // of where
}

// oldest returns a query for the lowest keys above after, at most limit of them. It asks
// for each kind alone, because an index has the events of one kind in the order of their
// keys.
func (q ofKinds) oldest(kinds []coleo.EventKind, after int64, limit int) (string, []any) {
	var parts []string
	var args []any
	for _, kind := range kinds {
		parts = append(parts, fmt.Sprintf("SELECT * FROM (SELECT %s AS k FROM %s INDEXED BY %s WHERE %s AND kind = ? "+
			"AND %s > ? ORDER BY %s LIMIT ?)", q.key, q.table, q.index, q.where, q.key, q.key))
		args = append(append(args, q.args...), string(kind), after, limit)
	}
	return "SELECT k FROM (" + strings.Join(parts, " UNION ALL ") + ") ORDER BY k LIMIT ?", append(args, limit)
}

// RunEvents is like Entries, but returns the events without their positions. It also
// returns the value of After for the next call.
func (s *ServeDB) RunEvents(ctx context.Context, f EventFilter) (events []coleo.Event, next uint64, err error) {
	entries, err := s.Entries(ctx, f)
	next = f.After
	for _, e := range entries {
		events, next = append(events, e.Event), e.Position
	}
	return events, next, err
}
