package store

import (
	"context"
	"fmt"

	"coleo.dev"
)

// EventFilter selects events of serve's log. An empty field matches all events. Callers
// of the API use wire.EventFilter instead.
type EventFilter struct {
	Run   string
	Arm   string // the arm's id
	Kind  coleo.EventKind
	After uint64 // a position that RunEvents or Head returned; 0 means the beginning of the log
	Limit int    // 0 means 1000
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
	var shape coleo.Event
	query := "SELECT pos, host, epoch, seq, " + columns(eventFields(&shape)) + " FROM run_events WHERE pos > ?"
	args := []any{int64(f.After)}
	if f.Run != "" {
		query, args = query+" AND run_id = ?", append(args, f.Run)
	}
	if f.Arm != "" {
		query, args = query+" AND arm_id = ?", append(args, f.Arm)
	}
	if f.Kind != "" {
		query, args = query+" AND kind = ?", append(args, string(f.Kind))
	}
	var at []uint64 // the position of each event
	rows, err := s.db.reader.QueryContext(ctx, query+" ORDER BY pos LIMIT ?", append(args, page(f.Limit))...)
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
