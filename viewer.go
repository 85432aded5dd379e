package coleo

import "time"

// Output is a piece of a terminal's output. It begins at the byte offset Offset. A
// viewer asks for the next piece with the offset at which its last piece ended. So, if
// a piece is lost, the viewer asks for it again.
type Output struct {
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
	End    bool   `json:"end,omitempty"` // the program has ended, and no more output follows
	Cols   int    `json:"cols"`          // the present size of the terminal, in cells
	Rows   int    `json:"rows"`
}

// Lease is the right to type by hand into one arm, until the time Until. While somebody
// has the lease, Coleo returns EBusy for the prompts and approvals of everybody else.
type Lease struct {
	ID     string    `json:"id"`
	Holder string    `json:"holder"` // the owner's name for users
	Until  time.Time `json:"until"`
}

// HostInfo is a host agent's description and its present condition.
type HostInfo struct {
	Host
	PID  int  `json:"pid,omitempty"`
	Arms int  `json:"arms"` // the number of live arms
	Live bool `json:"live"` // the host agent answers, and its last sign of life is at most 90 s old
}
