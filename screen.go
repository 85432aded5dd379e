package coleo

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Screen is what a terminal shows at one moment. The commands `coleo screen --json` and
// `coleo arm screen --json` print its JSON form.
type Screen struct {
	Cols int `json:"cols"` // the width in cells
	Rows int `json:"rows"` // the height in cells
	// Lines contains Rows lines, without blanks at the end. A wide character takes two cells of
	// the screen, but is only one character of its line.
	Lines []string `json:"lines"`
	// column and row, from 0; a column equal to Cols means that the next character goes into the
	// next line
	Cursor        [2]int `json:"cursor"`
	CursorVisible bool   `json:"cursor_visible"` // whether the cursor is shown
	Alt           bool   `json:"alt"`            // whether the alternate screen is shown
	Title         string `json:"title"`          // the title that the program has set, without control characters
	// Wrapped says for each line whether it continues the line above, because the terminal has wrapped
	// that line. Wrapped is nil if nobody knows which lines were wrapped.
	Wrapped []bool `json:"-"`
	// History contains the lines that have scrolled off the top, oldest first. It is set only on
	// request.
	History []string `json:"history,omitempty"`
	// the terminal's modes; the keys are names of pty.Mode, such as "bracketed_paste"
	Modes map[string]bool `json:"modes"`
}

// MostHistory is the maximum number of lines that are kept for a terminal after they
// have scrolled off the top.
const MostHistory = 10_000

// Text returns the whole text: first the history, then the lines of the screen. It omits the blank
// lines at the end.
func (s Screen) Text() []string {
	shown := len(s.Lines)
	for shown > 0 && s.Lines[shown-1] == "" {
		shown--
	}
	return append(slices.Clip(s.History), s.Lines[:shown]...)
}

// Output is a piece of a terminal's output. The piece begins at the byte offset Offset. To get the
// next piece, a viewer passes the offset at which its last piece ended. If a piece is lost on the
// way, the viewer still passes the old offset, and so gets the lost piece again.
type Output struct {
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
	End    bool   `json:"end,omitempty"` // whether the program has ended, so that no more output follows
	Cols   int    `json:"cols"`          // the present size of the terminal, in cells
	Rows   int    `json:"rows"`
}

// Lease is the right to type by hand into an arm. It is valid until the time Until. While somebody
// has the lease, Coleo refuses the prompts and approvals of everybody else with EBusy.
type Lease struct {
	ID     string    `json:"id"`
	Holder string    `json:"holder"` // the name of the lease's owner, for users
	Until  time.Time `json:"until"`
}

// WindowPlace says where Coleo opens an arm's window.
type WindowPlace struct {
	Terminal string `json:"terminal" doc:"Terminal program, such as tmux"`
	// Name is the arm's name. It becomes the title of the window.
	Name string `json:"name,omitempty"`
	// Environ contains the variables with which the terminal program finds its display or its
	// server, such as DISPLAY and TMUX_TMPDIR.
	Environ map[string]string `json:"environ,omitempty" doc:"Variables such as DISPLAY and TMUX"`
}

// WindowVariables returns the names of the variables that a WindowPlace can contain. A
// terminal program needs these variables to open a window where its user sees it. None of
// them is a secret.
func WindowVariables() []string {
	return []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "TMUX",
		"TMUX_TMPDIR"}
}

// WindowState is the state of an arm's window.
type WindowState string

// The states of a window. The agent CLI may be running in each of them.
const (
	WindowOpening WindowState = "opening" // the terminal program has been started
	WindowOpen    WindowState = "open"
	WindowClosed  WindowState = "closed" // the user has closed the window, or has left the program in it
	WindowFailed  WindowState = "failed" // the window could not be opened, or the program in it has crashed
)

// Window is the terminal window in which a person sees an arm. If the window is closed, the arm
// continues.
type Window struct {
	State    WindowState `json:"state"`
	Terminal string      `json:"terminal,omitempty"`
	Title    string      `json:"title,omitempty"`
	Reason   string      `json:"reason,omitempty"` // how the window was closed or why it failed, for users
	Since    time.Time   `json:"since,omitzero"`   // the time when State began
}

// Windowed is a session whose agent CLI has its own window for a person.
type Windowed interface {
	// Window returns the present state of the window without waiting.
	Window() Window
	// OpenWindow opens the window, and returns when the program in the window is running. The
	// parameter `environ` is the environment of the terminal program. The errors are:
	//
	//   - EConflict if the window is open
	//   - EBusy while the agent CLI starts or the window is being opened
	//   - EExited if the agent CLI has ended
	//   - ENotInstalled, EInvalid, EUnsupported or EInternal if the terminal program is missing or
	//     fails
	OpenWindow(ctx context.Context, p WindowPlace, environ []string) error
}

// WindowEnviron returns the environment of a terminal program that opens a window at the place p. The
// parameter `environ` is the environment of the process that starts the terminal program.
// WindowEnviron returns it unchanged if p contains no variables. Otherwise, it replaces all variables
// that WindowVariables names with those of p. It never mixes the two sets, because these variables
// belong together.
func WindowEnviron(environ []string, p WindowPlace) []string {
	if len(p.Environ) == 0 {
		return environ
	}
	out := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(WindowVariables(), name)
	})
	for _, name := range WindowVariables() {
		if value, ok := p.Environ[name]; ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}
