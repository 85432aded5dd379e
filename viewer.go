package coleo

import "time"

// Output is a piece of a terminal's output, from an offset on: viewers ask for
// the next piece by its end, so nothing that gets lost on the way stays lost.
type Output struct {
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
	End    bool   `json:"end,omitempty"` // the program has ended, and this is all
	Cols   int    `json:"cols"`          // size of the terminal now, in cells
	Rows   int    `json:"rows"`
}

// Lease is the right to type by hand into one arm, until a time. While
// somebody holds it, prompts and approvals of others are refused with EBusy.
type Lease struct {
	ID     string    `json:"id"`
	Holder string    `json:"holder"` // for people: who it is
	Until  time.Time `json:"until"`
}

// HostInfo is a host agent with what is known of it now.
type HostInfo struct {
	Host
	PID  int  `json:"pid,omitempty"`
	Arms int  `json:"arms"` // live ones
	Live bool `json:"live"` // a beat came within the last 90 s
}
