package coleo

import "slices"

// Screen is what a terminal shows at one moment. Its JSON form is the output of `coleo
// screen --json` and `coleo arm screen --json`.
type Screen struct {
	Cols int `json:"cols"` // cells
	Rows int `json:"rows"` // cells
	// Lines has Rows lines. A line has no trailing blanks. A wide character is followed
	// by no filler.
	Lines         []string `json:"lines"`
	Cursor        [2]int   `json:"cursor"`         // x, y; both start at 0; x may be Cols while a wrap is pending
	CursorVisible bool     `json:"cursor_visible"` //
	Alt           bool     `json:"alt"`            // the alternate screen is shown
	Title         string   `json:"title"`          // OSC 0/2, without control characters
	// Wrapped has one value for each line. true means that the line continues the line
	// above, because the terminal has wrapped the text. A nil Wrapped means that this
	// is unknown.
	Wrapped []bool `json:"-"`
	// History has lines that have scrolled away, oldest first. It is set only on request.
	History []string        `json:"history,omitempty"`
	Modes   map[string]bool `json:"modes"` // by the names of pty.Mode: "bracketed_paste", "synchronized", ...
}

// MostHistory is the maximum number of lines that are kept for a terminal after they
// have scrolled away.
const MostHistory = 10_000

// Text returns all text of the screen: its history, and then its lines without the blank
// lines at the end.
func (s Screen) Text() []string {
	shown := len(s.Lines)
	for shown > 0 && s.Lines[shown-1] == "" {
		shown--
	}
	return append(slices.Clip(s.History), s.Lines[:shown]...)
}
