package store

import (
	"context"
	"fmt"
	"slices"

	"coleo.dev"
)

// Newest returns the newest events of an arm before a position, oldest first. If kind is
// not "", it returns events of that kind only. A position of 0 means the end of the log. Newest
// returns at most limit events, and fewer if their payloads are large.
func (s *ServeDB) Newest(ctx context.Context, arm string, kind coleo.EventKind, before uint64, limit int) ([]Entry,
	error) {
	var shape coleo.Event
	query := "SELECT pos, host, epoch, seq, " + columns(eventFields(&shape)) + " FROM run_events WHERE arm_id = ?"
	args := []any{arm}
	if kind != "" {
		query, args = query+" AND kind = ?", append(args, string(kind))
	}
	if before > 0 {
		query, args = query+" AND pos < ?", append(args, int64(before))
	}
	var at []uint64 // the position of each event
	rows, err := s.db.reader.QueryContext(ctx, query+" ORDER BY pos DESC LIMIT ?", append(args, limit)...)
	events, err := collectEvents(rows, err, func(e *coleo.Event) []any {
		at = append(at, 0)
		return append([]any{&at[len(at)-1], &e.Host, &e.Epoch, &e.Seq}, cells(eventFields(e))...)
	})
	if err != nil {
		return nil, fmt.Errorf("read the newest events of arm %s: %w", arm, err)
	}
	out := make([]Entry, len(events))
	for i, e := range events {
		out[i] = Entry{at[i], e}
	}
	slices.Reverse(out)
	return out, nil
}
