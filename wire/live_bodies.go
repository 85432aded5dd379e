package wire

import (
	"coleo.dev"
)

// The channels of /ws.
const (
	ChannelArms   = "arms"       // all present arms, followed by each change of an arm
	ChannelEvents = "arm-events" // every event of every arm's log
	// ChannelDisplay sends a snapshot of an arm after each change of the arm. A client gets no
	// snapshot when it subscribes, so it reads the first snapshots from /api/arms/{id}/display.
	ChannelDisplay = "display"
	ChannelAll     = "all"
)

// Control is a text message from or to a client. Type determines which of the other fields are set.
type Control struct {
	Type    string            `json:"type"`
	APIKey  string            `json:"apiKey,omitempty"`
	Success *bool             `json:"success,omitempty"`
	Channel string            `json:"channel,omitempty"`
	After   string            `json:"after,omitempty"`
	Arm     string            `json:"arm,omitempty"`
	Run     string            `json:"run,omitempty"`
	Kinds   []coleo.EventKind `json:"kinds,omitempty"`
	Offset  *int64            `json:"offset,omitempty"`
	Cols    int               `json:"cols,omitempty"`
	Rows    int               `json:"rows,omitempty"`
	Holder  string            `json:"holder,omitempty"`
	Lease   *coleo.Lease      `json:"lease,omitempty"`
	Error   *coleo.Error      `json:"error,omitempty"`
}

// RemovedArm is the data of a message of /ws that reports the removal of an arm.
type RemovedArm struct {
	ID string `json:"id"`
}
