package wire

import (
	"coleo.dev"
)

// EventsReply is one page of events. Next is the cursor for the next page.
type EventsReply struct {
	Events []coleo.Event `json:"events"`
	Next   string        `json:"next"` // the cursor after the last event; a page without events is the end of the list
}

// RunsReply is one page of runs, newest first. Next is the cursor for the next page.
type RunsReply struct {
	Runs []coleo.Run `json:"runs"` // newest first
	Next string      `json:"next"` // the cursor for the parameter "before"; a page without runs is the end of the list
}

// RunReply answers GET /api/runs/{run}.
type RunReply struct {
	Run coleo.Run `json:"run"`
}

// EndReply answers GET /api/runs/{run}/end.
type EndReply struct {
	End coleo.RunEnd `json:"end"`
}
