package store

import (
	"context"
	"fmt"

	"coleo.dev"
)

// EventFilter picks events of the fleet's log. Empty fields pick all.
type EventFilter struct {
	Run   string
	Arm   string // id
	After uint64 // position, as RunEvents or Head returned it
	Limit int    // 0: 1000
}

// RunEvents returns the events that a filter picks, in order of arrival, and
// the position to go on from. Within one host that order is the log's own.
func (s *ServeDB) RunEvents(ctx context.Context, f EventFilter) (events []coleo.Event, next uint64, err error) {
	var shape coleo.Event
	query := "SELECT pos, host, epoch, seq, " + columns(eventFields(&shape)) + " FROM run_events WHERE pos > ?"
	args := []any{int64(f.After)}
	if f.Run != "" {
		query, args = query+" AND run_id = ?", append(args, f.Run)
	}
	if f.Arm != "" {
		query, args = query+" AND arm_id = ?", append(args, f.Arm)
	}
	next = f.After
	rows, err := s.db.reader.QueryContext(ctx, query+" ORDER BY pos LIMIT ?", append(args, page(f.Limit))...)
	events, err = collect(rows, err, func(e *coleo.Event) []any {
		return append([]any{&next, &e.Host, &e.Epoch, &e.Seq}, cells(eventFields(e))...)
	})
	if err != nil {
		return nil, f.After, fmt.Errorf("read events after %d: %w", f.After, err)
	}
	return events, next, nil
}
