package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"coleo.dev"
)

const (
	// defaultPage is the largest number of events that a read returns if the caller
	// gives no limit.
	defaultPage = 1000
	// maxPage is the largest limit that a caller can give. It limits the memory that one read
	// needs.
	maxPage = 10_000
	// pageBytes is the largest total size of the payloads of one read, in bytes. It is half the
	// size of the largest bus message, so the other half is free for the other fields of the
	// events. A read always returns at least one event, even if that event is larger.
	pageBytes = 2 << 20
)

// page returns the largest number of rows to read for the limit that a caller gave.
func page(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, maxPage)
}

// eventFields returns the columns that the logs of both databases have. Each log puts
// its own key columns before these columns.
func eventFields(e *coleo.Event) []field {
	return []field{
		{"run_id", textOf(&e.Run)},
		{"parent_id", textOf(&e.Parent)},
		{"arm_id", textOf(&e.Arm)},
		{"ts", moment{&e.Time}},
		{"turn", number{p: &e.Turn}},
		{"kind", textOf(&e.Kind)},
		{"source", textOf(&e.Source)},
		{"payload", raw{&e.Payload}},
	}
}

// checkEvent returns EInvalid for an event that could not be read after it was stored.
func checkEvent(e coleo.Event) error {
	if e.Kind == "" {
		return coleo.Errorf(coleo.EInvalid, "append an event of arm %q: it has no kind", e.Arm)
	}
	if len(e.Payload) > 0 && !json.Valid(e.Payload) {
		return coleo.Errorf(coleo.EInvalid, "append event %s of arm %q: its payload is not JSON", e.Kind, e.Arm)
	}
	return nil
}

// collectEvents reads rows of events. It stops before the total size of the payloads
// exceeds pageBytes.
func collectEvents(rows *sql.Rows, err error, targets func(*coleo.Event) []any) ([]coleo.Event, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []coleo.Event
	for size := 0; rows.Next(); {
		var e coleo.Event
		if err := rows.Scan(targets(&e)...); err != nil {
			return nil, fmt.Errorf("read a row: %w", err)
		}
		if e.Payload, err = fit(e.Payload); err != nil { // the log of an older Coleo can have larger payloads
			return nil, err
		}
		if size += len(e.Payload); size > pageBytes && len(out) > 0 {
			return out, nil
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// The function collect reads all rows. For each row, the function targets returns the targets of
// Scan.
func collect[T any](rows *sql.Rows, err error, targets func(*T) []any) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var v T
		if err := rows.Scan(targets(&v)...); err != nil {
			return nil, fmt.Errorf("read a row: %w", err)
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
