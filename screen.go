package coleo

import (
	"slices"
	"time"
)

// Screen is what a terminal shows at one moment. The commands `coleo screen --json` and
// `coleo arm screen --json` print its JSON form.
type Screen struct {
	Cols int `json:"cols"` // cells
	Rows int `json:"rows"` // cells
	// Lines has Rows lines, without trailing blanks. A wide character in a line counts
	// as one character: no filler follows it.
	Lines         []string `json:"lines"`
	Cursor        [2]int   `json:"cursor"`         // x, y from 0; x is Cols if the next character will wrap
	CursorVisible bool     `json:"cursor_visible"` //
	Alt           bool     `json:"alt"`            // the alternate screen is shown
	Title         string   `json:"title"`          // OSC 0/2, without control characters
	// Wrapped has one value for each line. The value is true if the line continues the
	// line above it, because the terminal has wrapped the text. Wrapped is nil if this
	// is unknown.
	Wrapped []bool `json:"-"`
	// History has lines that have scrolled off the top, oldest first. It is set only on
	// request.
	History []string        `json:"history,omitempty"`
	Modes   map[string]bool `json:"modes"` // the keys are the names of pty.Mode, such as "bracketed_paste"
}

// MostHistory is the maximum number of lines that are kept for a terminal after they
// have scrolled off the top.
const MostHistory = 10_000

// Text returns the whole text of the screen: first the history, then the lines. It
// omits the blank lines at the end.
func (s Screen) Text() []string {
	shown := len(s.Lines)
	for shown > 0 && s.Lines[shown-1] == "" {
		shown--
	}
	return append(slices.Clip(s.History), s.Lines[:shown]...)
}

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
