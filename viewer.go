package coleo

import "time"

// Output is a piece of a terminal's output. The piece starts at Offset. A viewer asks
// for the next piece by the offset at which its last piece ended. So a lost piece is
// sent again.
type Output struct {
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
	End    bool   `json:"end,omitempty"` // the program has ended, and all output was sent
	Cols   int    `json:"cols"`          // present size of the terminal, in cells
	Rows   int    `json:"rows"`
}

// Lease is the right to type by hand into one arm. The right ends at a fixed time.
// While somebody has the lease, Coleo refuses the prompts and approvals of all others
// with EBusy.
type Lease struct {
	ID     string    `json:"id"`
	Holder string    `json:"holder"` // the name of the owner, as users see it
	Until  time.Time `json:"until"`
}

// HostInfo is a host agent with its present condition.
type HostInfo struct {
	Host
	PID  int  `json:"pid,omitempty"`
	Arms int  `json:"arms"` // the number of live arms
	Live bool `json:"live"` // the host agent answers, and its last sign of life is at most 90 s old
}
