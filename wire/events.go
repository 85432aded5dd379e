package wire

import "coleo.dev"

// EventFilter is the filter with which callers of the API select events of the log.
// After is a cursor from an earlier answer. If After is empty, the result begins with
// the first event. If Limit is 0, the default limit applies. Package store has its own
// EventFilter, which has positions instead of cursors.
type EventFilter struct {
	Arm   string `json:"arm,omitempty"`
	Run   string `json:"run,omitempty"`
	After string `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// Update is one message to a program that follows the arms and the log. Exactly one of
// Arm, Removed and Event is set.
type Update struct {
	Arm     *coleo.Arm   `json:"arm,omitempty"`     // the arm's present row
	Removed string       `json:"removed,omitempty"` // id of an arm that is gone
	Event   *coleo.Event `json:"event,omitempty"`
	Cursor  string       `json:"cursor,omitempty"` // set with Event: read the events after Event from this cursor
}
