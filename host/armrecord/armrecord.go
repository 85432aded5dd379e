// Package armrecord changes the record that a host agent keeps of an arm, and makes the events that report each
// change. It contains the rules for the arm's queue, its parking at a limit, its prompts and the ends of its runs.
//
// Package armrecord writes nothing. Its caller holds the lock of the record, and writes the record and the events
// together. So a kill of the host agent neither loses nor repeats a change.
package armrecord

import (
	"encoding/json"

	"coleo.dev"
)

// Event returns an event that belongs to an arm and to no run. RunEvent returns an event of a run.
func Event(armID string, kind coleo.EventKind, payload any) coleo.Event {
	data, err := json.Marshal(payload)
	if err != nil {
		data = nil // impossible, because all payloads are plain structs of this module
	}
	return coleo.Event{Arm: armID, Kind: kind, Payload: data}
}

// RunEvent returns an event of a run.
func RunEvent(arm, run string, kind coleo.EventKind, payload any) coleo.Event {
	e := Event(arm, kind, payload)
	e.Run = run
	return e
}

// ScreenWork returns an event of work that was read from the screen.
func ScreenWork(arm, run string, w coleo.Work) coleo.Event {
	e := RunEvent(arm, run, coleo.KindOf(w), w)
	e.Source = coleo.SourceScreen
	return e
}
