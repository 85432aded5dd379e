package store

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"coleo.dev"
)

const (
	// defaultPage is how many events a read returns when it names no limit.
	defaultPage = 1000
	// maxPage bounds one read, so that a slow reader holds little memory.
	maxPage = 10_000
)

// page returns the number of rows that a caller's limit asks for.
func page(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, maxPage)
}

// eventFields are the columns that both logs share; each puts its key first.
func eventFields(e *coleo.Event) []field {
	return []field{
		{"run_id", textOf(&e.Run)},
		{"parent_id", textOf(&e.Parent)},
		{"arm_id", textOf(&e.Arm)},
		{"ts", moment{&e.Time}},
		{"turn", number{p: &e.Turn}},
		{"kind", textOf(&e.Kind)},
		{"payload", raw{&e.Payload}},
	}
}

// checkEvent refuses what could not be read back.
func checkEvent(e coleo.Event) error {
	if e.Kind == "" {
		return coleo.Errorf(coleo.EInvalid, "append an event of arm %q: it has no kind", e.Arm)
	}
	if len(e.Payload) > 0 && !json.Valid(e.Payload) {
		return coleo.Errorf(coleo.EInvalid, "append event %s of arm %q: its payload is not JSON", e.Kind, e.Arm)
	}
	return nil
}

// collect reads all rows by the targets that next gives for each.
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
