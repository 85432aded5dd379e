package pty

import (
	"io"

	"coleo.dev"
)

// Screen is the screen that an emulator draws from a program's output. Each emulator of
// this package implements Screen.
//
// No method fails, blocks or panics, whatever bytes were written. The memory of a
// Screen is limited. The content of a Screen depends only on the bytes. It does not
// depend on how the bytes were divided into writes. Only one goroutine at a time may
// use a Screen.
type Screen interface {
	// Write takes a program's output. It takes all of the output and never returns an
	// error.
	io.Writer
	// Feed takes a program's output up to and including the byte that ends a
	// synchronized update. If no update ends in p, Feed takes all of p. It returns the
	// number of bytes that it took. So a caller can look at each frame that the program
	// meant to show.
	Feed(p []byte) int
	// Resize changes the size in cells. The size is clamped to the range from 2x1 to
	// 1000x1000. No text is lost. Text that does not fit goes into the history, or
	// comes back when the screen gets larger again.
	Resize(cols, rows int)

	// Size returns the size in cells.
	Size() (cols, rows int)
	// View returns a copy of the whole screen.
	View() coleo.Screen
	// Row returns the text of row y without trailing blanks, and without the fillers
	// after wide characters. It returns "" if there is no such row.
	Row(y int) string
	// Cursor returns the 0-based position of the cursor. While a wrap is pending, x is
	// the number of columns.
	Cursor() (x, y int)
	// Mode reports whether m is on.
	Mode(m Mode) bool
	// History returns the last n lines that scrolled off the top. The oldest line comes
	// first.
	History(n int) []string

	// Changed returns the differences since the last call.
	Changed() Change
	// Frame returns the state of synchronized updates (DEC 2026).
	Frame() Frame
	// Replies returns the terminal's replies to the queries in the output since the
	// last call, in order. It returns nil if there are none.
	Replies() []byte
	// Notices returns what the program has sent to its terminal beside the screen since
	// the last call, in order. At most 256 notices are kept. If there are more, the
	// oldest are dropped.
	Notices() []Notice
}

// Change is the difference between two moments of a screen.
type Change struct {
	Rows   []int // rows whose text or attributes differ, in ascending order; colors do not count
	Cursor bool  // position or visibility of the cursor
	Title  bool
	Modes  bool
}

// Any reports whether there is any difference.
func (c Change) Any() bool {
	return len(c.Rows) > 0 || c.Cursor || c.Title || c.Modes
}

// Frame is the state of synchronized updates. It tells whether the screen is half
// drawn.
type Frame struct {
	Open  bool   // a synchronized update has begun and not ended
	Count uint64 // number of updates that have ended
}

// Notice is a message from the program to its terminal that the screen does not show.
// It is only one of several witnesses. Anything that can print can forge it.
type Notice struct {
	Kind NoticeKind
	Text string // at most 4096 bytes, without control characters
}

// NoticeKind is the kind of a Notice.
type NoticeKind string

// The values of NoticeKind.
const (
	NoticeStatus       NoticeKind = "status"       // OSC 7501: its payload, "state=working:app=…"
	NoticeSession      NoticeKind = "session"      // OSC 26: its payload, "Status=running;…"
	NoticeProgress     NoticeKind = "progress"     // OSC 9;4: "state;percent"
	NoticeNotification NoticeKind = "notification" // OSC 9, 777 and 99: the text shown to the user
	NoticePrompt       NoticeKind = "prompt"       // OSC 133 and 633: a shell's prompt marks
	NoticeTitle        NoticeKind = "title"        // OSC 0 and 2: the new title
	NoticeBell         NoticeKind = "bell"         // BEL: no text
)

// Mode is the name of a switch that the program sets in its terminal. It is also the
// key in coleo.Screen.Modes. modeTable lists all modes.
type Mode string

// ModeBracketedPaste is the mode in which pasted text has markers around it.
const ModeBracketedPaste Mode = "bracketed_paste"

// Colour is a palette entry or an RGB value; 0 is the terminal's default. Two colors
// that look different have different values.
type Colour uint32

// Cell is one character cell. It has attributes that a View leaves out.
type Cell struct {
	Text    string // the character with its combining marks; "" if blank or a right half
	Width   int    // 1 or 2; 0 for the right half of a wide character
	Bold    bool
	Faint   bool // usual for placeholders in composers
	Inverse bool
	Hidden  bool
	Fg, Bg  Colour
	Link    string // OSC 8 target, http or https; "" if there is none
}

// RGB returns the red, green and blue parts of a color. Palette colors have the default
// values of xterm. It returns false for the terminal's default color, because that
// color is not known here.
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
