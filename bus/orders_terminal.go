package bus

import (
	"time"

	"coleo.dev"
)

// ScreenOrder asks for the screen of an arm at the time At. If At is zero, it asks for the present
// screen.
type ScreenOrder struct {
	Arm string    `json:"arm"`
	At  time.Time `json:"at,omitzero"`

	// the largest number of lines from above the screen, which have scrolled off the top
	History int `json:"history,omitempty"`
}

// RecordOrder asks for a piece of an arm's recording. The piece begins at the byte
// offset From. Generation 0 means the newest generation.
type RecordOrder struct {
	Arm        string `json:"arm"`
	Generation int    `json:"generation,omitempty"`
	From       int64  `json:"from"`
}

// OutputOrder asks for a piece of an arm's output, which begins at the byte offset From. A negative
// offset counts from the end of the output. If there is no output at the offset yet, the host agent
// waits at most the time Wait for new output.
type OutputOrder struct {
	Arm  string        `json:"arm"`
	From int64         `json:"from"`
	Wait time.Duration `json:"wait,omitempty"`
}

// InputOrder types raw keys into an arm. The sender must have the arm's lease.
type InputOrder struct {
	Arm   string `json:"arm"`
	Lease string `json:"lease"`
	Data  []byte `json:"data"`
}

// ResizeOrder changes the size of an arm's terminal, in cells. The sender must have the
// arm's lease.
type ResizeOrder struct {
	Arm   string `json:"arm"`
	Lease string `json:"lease"`
	Cols  int    `json:"cols"`
	Rows  int    `json:"rows"`
}

// LeaseOrder takes, renews or releases the lease of an arm. Holder is the name of the lease's owner
// for users.
type LeaseOrder struct {
	Arm     string `json:"arm"`
	ID      string `json:"id,omitempty"` // the id of the lease to renew or release; "" to take a new lease
	Holder  string `json:"holder,omitempty"`
	Release bool   `json:"release,omitempty"`
}

// EventsOrder asks for the events that follow one event in a host's log. After is the number of
// that event, and Epoch is its epoch. If Epoch is set and the log does not contain that event, the
// report begins with the first event of the log.
type EventsOrder struct {
	After uint64 `json:"after"`
	Epoch string `json:"epoch,omitempty"` // "" means any epoch
	Limit int    `json:"limit"`
}

// Events is a piece of a host's log.
type Events struct {
	Epoch string        `json:"epoch"` // the epoch of the newest event
	List  []coleo.Event `json:"list"`
	Head  uint64        `json:"head"` // the sequence number of the newest event
	// whether the host agent has searched its log for the event that the order names
	Checked bool   `json:"checked,omitempty"`
	Deleted uint64 `json:"deleted,omitempty"` // the number of the last event that may have been deleted
}
