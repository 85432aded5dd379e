package pty

import (
	"io"

	"coleo.dev"
)

// Screen is the screen that an emulator draws from a program's output. All emulators in package pty
// and in the packages below it implement Screen.
//
// No method fails, blocks or panics, whatever the output is. The memory of a Screen is limited. Its
// content depends only on the bytes of the output, not on how they were divided into writes. Only
// one goroutine at a time may use a Screen.
type Screen interface {
	// Write draws a program's output. It takes all of the output and never returns an
	// error.
	io.Writer
	// Feed draws a program's output up to and including the byte that ends a synchronized update. If no update
	// ends in p, Feed draws all of p. It returns the number of bytes that it has read. With Feed, a caller can
	// look at the screen after each synchronized update.
	Feed(p []byte) int
	// Resize changes the size in cells. If a size is outside the range from 2x1 to 1000x1000,
	// Resize takes the nearest size in this range. Text that no longer fits goes into the history,
	// or is shown again when the screen becomes larger.
	Resize(cols, rows int)

	// Size returns the size in cells.
	Size() (cols, rows int)
	// View returns a copy of the whole screen.
	View() coleo.Screen
	// Row returns the text of row y without trailing blanks. A wide character occurs once in the
	// text. Row returns "" if there is no row y.
	Row(y int) string
	// Cursor returns the 0-based position of the cursor. After a character in the last column, a
	// wrap is pending, and x is the number of columns.
	Cursor() (x, y int)
	// Mode reports whether m is on.
	Mode(m Mode) bool
	// History returns the last n lines that scrolled off the top, oldest first.
	History(n int) []string

	// Changed returns what has changed on the screen since the last call of Changed.
	Changed() Change
	// Frame returns the state of synchronized updates (DEC 2026).
	Frame() Frame
	// Replies returns the terminal's replies to the program's queries since the last
	// call of Replies, in order. It returns nil if there are none.
	Replies() []byte
	// Notices returns the notices since the last call of Notices, in order. A Screen keeps at most
	// 256 notices, and drops the oldest if there are more.
	Notices() []Notice
}

// Change describes which parts of a screen have changed.
type Change struct {
	Rows   []int // rows with a change of text or of attributes other than colors, in ascending order
	Cursor bool  // position or visibility
	Title  bool
	Modes  bool
}

// Any reports whether anything has changed.
func (c Change) Any() bool {
	return len(c.Rows) > 0 || c.Cursor || c.Title || c.Modes
}

// Frame is the state of synchronized updates (DEC 2026). While an update is open, the screen is
// only partly drawn.
type Frame struct {
	Open  bool   // a synchronized update has begun and has not ended
	Count uint64 // number of updates that have ended
}

// Notice is a message from the program to its terminal that does not change the screen. Any program
// that can print can forge a notice, so Coleo never relies on a notice alone.
type Notice struct {
	Kind NoticeKind
	Text string // what the program has reported: at most 4096 bytes, without control characters
}

// NoticeKind is the kind of a Notice.
type NoticeKind string

// These are the values of NoticeKind.
const (
	NoticeStatus       NoticeKind = "status"       // OSC 7501: its payload, "state=working:app=…"
	NoticeSession      NoticeKind = "session"      // OSC 26: its payload, "Status=running;…"
	NoticeProgress     NoticeKind = "progress"     // OSC 9;4: "state;percent"
	NoticeNotification NoticeKind = "notification" // OSC 9, 777 and 99: the text shown to the user
	NoticePrompt       NoticeKind = "prompt"       // OSC 133 and 633: a shell's prompt marks
	NoticeTitle        NoticeKind = "title"        // OSC 0 and 2: the new title
	NoticeBell         NoticeKind = "bell"         // BEL: no text
)

// Mode is the name of a terminal mode that the program can switch. These names are the keys of the
// map coleo.Screen.Modes. modeTable lists all modes.
type Mode string

// ModeBracketedPaste is the mode in which a terminal sends pasted text between two markers.
const ModeBracketedPaste Mode = "bracketed_paste"

// Colour is a palette entry or an RGB value. The value 0 is the terminal's default
// color. Two colors that look different have different values.
type Colour uint32

// Cell is one character cell. It also has the attributes that a View leaves out.
type Cell struct {
	Text    string // the character with its combining marks; "" if blank or a right half
	Width   int    // 1 or 2; 0 for the right half of a wide character
	Bold    bool
	Faint   bool // placeholders in composers are usually faint
	Inverse bool
	Hidden  bool
	Fg, Bg  Colour
	Link    string // OSC 8 target, http or https; "" if there is none
}

// RGB returns the red, green and blue parts of c. For a palette color, it returns xterm's default
// value. It returns false for the terminal's default color, because its RGB value is unknown.
func (c Colour) RGB() (parts [3]uint8, ok bool) {
	value := int(c & 0xffffff)
	switch c &^ 0xffffff {
	case colourIndex:
		if value > 255 {
			return parts, false
		}
		value = paletteColour(value)
	case colourRGB:
	default:
		return parts, false
	}
	return [3]uint8{uint8(value >> 16), uint8(value >> 8), uint8(value)}, true
}
