package wire

import "coleo.dev"

// EventFilter selects events of the log for callers of the API. After is the cursor
// from an earlier answer. If After is empty, the result begins with the first event. If
// Limit is 0, the default limit applies. Package store has another EventFilter, with
// positions instead of cursors.
type EventFilter struct {
	Arm   string `json:"arm,omitempty"`
	Run   string `json:"run,omitempty"`
	After string `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// Update is one message to a program that follows the arms and the log. It has exactly
// one of Arm, Removed and Event.
type Update struct {
	Arm     *coleo.Arm   `json:"arm,omitempty"`     // the arm's present row
	Removed string       `json:"removed,omitempty"` // the id of a removed arm
	Event   *coleo.Event `json:"event,omitempty"`
	Cursor  string       `json:"cursor,omitempty"` // the cursor of Event; the next events follow it
}
