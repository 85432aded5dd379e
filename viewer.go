package coleo

import "time"

// Output is a piece of a terminal's output, starting at an offset. A viewer asks for the
// next piece by the end of the last one, so a lost piece is sent again.
type Output struct {
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
	End    bool   `json:"end,omitempty"` // the program has ended, and all output was sent
	Cols   int    `json:"cols"`          // present size of the terminal, in cells
	Rows   int    `json:"rows"`
}

// Lease is the right to type by hand into one arm, until a time. While somebody has it,
// prompts and approvals of others are refused with EBusy.
type Lease struct {
	ID     string    `json:"id"`
	Holder string    `json:"holder"` // a name for users
	Until  time.Time `json:"until"`
}

// HostInfo is a host agent with its present condition.
type HostInfo struct {
	Host
	PID  int  `json:"pid,omitempty"`
	Arms int  `json:"arms"` // the number of live arms
	Live bool `json:"live"` // it answers, and its last sign of life is at most 90 s old
}
