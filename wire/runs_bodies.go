package wire

import (
	"coleo.dev"
)

type EventsReply struct {
	Events []coleo.Event `json:"events"`
	Next   string        `json:"next"` // the cursor after the last event; a page without events is the end of the list
}

type RunsReply struct {
	Runs []coleo.Run `json:"runs"` // newest first
	Next string      `json:"next"` // the cursor for the parameter "before"; a page without runs is the end of the list
}

type RunReply struct {
	Run coleo.Run `json:"run"`
}

type EndReply struct {
	End coleo.RunEnd `json:"end"`
}
