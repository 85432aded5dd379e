package wire

import (
	"encoding/json"
	"slices"
	"time"

	"coleo.dev"
)

// Now is the value of EventFilter.After that selects only events from now on.
const Now = "now"

// EventFilter selects events of the log for callers of the API. After is the cursor from an earlier
// answer, or Now. If After is empty, the result begins with the first event. If Limit is 0, the
// default limit applies.
//
// Package store has a type with the same name, which contains positions in the log instead of
// cursors.
type EventFilter struct {
	Arm   string            `json:"arm,omitempty"` // id or name
	Run   string            `json:"run,omitempty"` // a run's id, or a beginning of it that no other run's id has
	Kinds []coleo.EventKind `json:"kinds,omitempty"`
	After string            `json:"after,omitempty"`
	Limit int               `json:"limit,omitempty"`
}

// Matches reports whether an event matches the filter. Arm and Run must be complete ids. Matches
// ignores After and Limit.
func (f EventFilter) Matches(e *coleo.Event) bool {
	return (f.Arm == "" || e.Arm == f.Arm) && (f.Run == "" || e.Run == f.Run) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind))
}

// RunFilter selects runs for callers of the API. An empty field matches all runs.
type RunFilter struct {
	Arm     string        `json:"arm,omitempty"`     // id or name
	Outcome coleo.Outcome `json:"outcome,omitempty"` // coleo.OutcomeOpen selects the open runs
	Since   time.Time     `json:"since,omitzero"`    // selects the runs that began at this time or later
	Before  string        `json:"before,omitempty"`  // a cursor from an earlier answer; selects the runs before it
	Limit   int           `json:"limit,omitempty"`   // the largest number of runs; 0 means the default limit
}

// Update is one message to a program that follows the arms and the log. At most one of Arm, Removed
// and Event is set. An update with none of them only says that the program has received everything up
// to Cursor.
type Update struct {
	Arm     *coleo.Arm   `json:"arm,omitempty"`     // the arm's present row
	Removed string       `json:"removed,omitempty"` // the id of a removed arm
	Event   *coleo.Event `json:"event,omitempty"`
	Cursor  string       `json:"cursor,omitempty"` // the cursor of Event; the next events begin after it

	// encode returns the JSON of Event. It computes the JSON only once for all copies of the update.
	// Only Shared sets encode; in any other update, it is nil.
	encode func() ([]byte, error)
}

// Shared returns a copy of u. All copies of the result use encode to get the JSON of the event, so
// that the event is encoded only once.
func (u Update) Shared(encode func() ([]byte, error)) Update {
	u.encode = encode
	return u
}

// EventJSON returns the event as JSON. The caller must not change the result.
func (u Update) EventJSON() ([]byte, error) {
	if u.encode != nil {
		return u.encode()
	}
	return json.Marshal(u.Event)
}
