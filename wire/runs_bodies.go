package wire

import (
	"coleo.dev"
)

// EventsReply is one page of events. Next is the cursor for the next page.
type EventsReply struct {
	Events []coleo.Event `json:"events"`
	// the cursor after the last event; if the page has no events, the list has ended
	Next string `json:"next"`
}

// RunsReply is one page of runs, newest first. Next is the cursor for the next page.
type RunsReply struct {
	Runs []coleo.Run `json:"runs"` // newest first
	// the cursor for the parameter "before" of the next page; if the page has no runs, the list has ended
	Next string `json:"next"`
}

// RunReply answers GET /api/runs/{run}.
type RunReply struct {
	Run coleo.Run `json:"run"`
}

// EndReply answers GET /api/runs/{run}/end.
type EndReply struct {
	End coleo.RunEnd `json:"end"`
}
