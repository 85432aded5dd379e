package coleo

// Screen is what a terminal shows at one moment. Its JSON form is what
// `coleo screen --json` and `coleo arm screen --json` print.
type Screen struct {
	Cols          int             `json:"cols"`           // cells
	Rows          int             `json:"rows"`           // cells
	Lines         []string        `json:"lines"`          // Rows lines, trailing blanks cut, no filler after a wide character
	Cursor        [2]int          `json:"cursor"`         // x, y; 0-based; x may be Cols at a pending wrap
	CursorVisible bool            `json:"cursor_visible"` //
	Alt           bool            `json:"alt"`            // the alternate screen is shown
	Title         string          `json:"title"`          // OSC 0/2, control characters dropped
	Modes         map[string]bool `json:"modes"`          // by the names of pty.Mode: "bracketed_paste", "synchronized", ...
}
