package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"context"
	"sync"

	"coleo.dev"
)

// This file contains what the logs of both databases have in common.

const (
	// defaultPage is the largest number of events that a read returns if the caller
	// gives no limit.
	defaultPage = 1000
	// maxPage is the largest limit that a caller can set, so that the memory for one read is
	// bounded.
	maxPage = 10_000
	// pageBytes is the largest total size of the payloads that one read returns, in bytes. It is
	// half the size of the largest bus message, so that the other fields of the events fit too. A
	// read always returns at least one event, even if that event is larger.
	pageBytes = 2 << 20
)

// rowLimit returns the largest number of rows to read for the limit that a caller has set.
func rowLimit(limit int) int {
	if limit <= 0 {
		return defaultPage
	}
	return min(limit, maxPage)
}

// eventFields returns the columns that the logs of both databases have in common. Each log has
// further columns before them, which are its key.
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

// checkEvent returns EInvalid for an event that the database could store but not read again.
func checkEvent(e coleo.Event) error {
	if e.Kind == "" {
		return coleo.Errorf(coleo.EInvalid, "append an event of arm %q: it has no kind", e.Arm)
	}
	if len(e.Payload) > 0 && !json.Valid(e.Payload) {
		return coleo.Errorf(coleo.EInvalid, "append event %s of arm %q: its payload is not JSON", e.Kind, e.Arm)
	}
	return nil
}

// collectEvents reads rows of events. It stops before the total size of the payloads exceeds pageBytes.
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
		if e.Payload, err = fitPayload(e.Payload); err != nil { // an older Coleo may have stored a payload that is too large
			return nil, err
		}
		if size += len(e.Payload); size > pageBytes && len(out) > 0 {
			return out, nil
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// collect reads all rows. For each row, it scans the values into the targets that a function
// returns.
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

const (
	// maxPayload is the largest size of the payload of one event, in bytes of encoded JSON. An
	// event must fit into one message of the bus (4 MiB), and a page of events must fit into
	// memory.
	maxPayload = 1 << 20
	// maxEscape is the largest factor by which JSON text can grow when it is encoded again. For
	// example, the character "<" becomes six characters.
	maxEscape = 6
)

// fitPayload limits a payload to maxPayload bytes. In a larger payload, it shortens the longest texts and
// lists. A shortened text ends with the number of bytes that were removed.
func fitPayload(payload json.RawMessage) (json.RawMessage, error) {
	if len(payload) <= maxPayload/maxEscape {
		return payload, nil
	}
	sent, err := json.Marshal(payload)
	if err != nil || len(sent) <= maxPayload {
		return payload, err
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	// Each step lowers the limit. The first argument of min lowers the limit in proportion to the
	// excess, and so never removes too much. The second argument lowers it by at least an eighth,
	// so that the loop ends soon.
	for limit := maxPayload; limit > 0; limit = min(limit*maxPayload/len(sent), limit-limit/8-1) {
		if sent, err = json.Marshal(cut(value, limit)); err != nil || len(sent) <= maxPayload {
			return sent, err
		}
	}
	// Only the keys are too long now, and they cannot be shortened. Coleo never writes such a payload.
	return nil, nil
}

// cut shortens a decoded JSON value: each text to `limit` bytes, and each list to `limit` elements.
func cut(value any, limit int) any {
	switch v := value.(type) {
	case string:
		if len(v) <= limit {
			return v
		}
		kept := limit
		for kept > 0 && !utf8.RuneStart(v[kept]) {
			kept--
		}
		return fmt.Sprintf("%s… (%d bytes left out)", strings.Clone(v[:kept]), len(v)-kept)
	case []any:
		out := make([]any, 0, min(len(v), limit))
		for _, x := range v[:min(len(v), limit)] {
			out = append(out, cut(x, limit))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, x := range v {
			out[key] = cut(x, limit)
		}
		return out
	}
	return value
}

// head is the end position of a log. It wakes the callers that wait for further events.
type head struct {
	mu     sync.Mutex
	at     uint64
	closed bool
	more   chan struct{} // a channel that is closed and replaced when the head moves
}

func newHead(at uint64) *head { return &head{at: at, more: make(chan struct{})} }

func (h *head) position() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// moveTo moves the end position forward. It ignores a position that is lower than the present one,
// so writers can call it out of order.
func (h *head) moveTo(at uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at > h.at {
		h.at = at
		h.ring()
	}
}

func (h *head) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.ring()
}

func (h *head) ring() {
	close(h.more)
	h.more = make(chan struct{})
}

// wait returns nil when the end position is higher than `after`. It returns ctx's error if ctx ends first,
// and EUnavailable if the log is closed.
func (h *head) wait(ctx context.Context, after uint64) error {
	for {
		h.mu.Lock()
		at, closed, more := h.at, h.closed, h.more
		h.mu.Unlock()
		switch {
		case at > after:
			return nil
		case closed:
			return coleo.Errorf(coleo.EUnavailable, "wait for events: the log is closed")
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
