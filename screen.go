package coleo

import "slices"

// Screen is what a terminal shows at one moment. Its JSON form is what
// `coleo screen --json` and `coleo arm screen --json` print.
type Screen struct {
	Cols          int             `json:"cols"`              // cells
	Rows          int             `json:"rows"`              // cells
	Lines         []string        `json:"lines"`             // Rows lines, trailing blanks cut, no filler after a wide character
	Cursor        [2]int          `json:"cursor"`            // x, y; 0-based; x may be Cols at a pending wrap
	CursorVisible bool            `json:"cursor_visible"`    //
	Alt           bool            `json:"alt"`               // the alternate screen is shown
	Title         string          `json:"title"`             // OSC 0/2, control characters dropped
	Wrapped       []bool          `json:"-"`                 // of each line: the terminal has wrapped it, so it goes on from the one above; nil: not known
	History       []string        `json:"history,omitempty"` // lines that have scrolled away, oldest first; only where they are asked for
	Modes         map[string]bool `json:"modes"`             // by the names of pty.Mode: "bracketed_paste", "synchronized", ...
}

// MostHistory is how many lines that have scrolled away are kept of a terminal.
const MostHistory = 10_000

// Text is all that the screen has to show: its history, then its lines without
// the blank ones at the end.
func (s Screen) Text() []string {
	shown := len(s.Lines)
	for shown > 0 && s.Lines[shown-1] == "" {
		shown--
	}
	return append(slices.Clip(s.History), s.Lines[:shown]...)
}
