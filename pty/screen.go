package pty

import (
	"io"

	"coleo.dev"
)

// Screen is the emulated terminal screen of a program's output. Every emulator of this
// package implements it.
//
// No method fails, blocks or panics, whatever bytes were written, and memory is bounded.
// The content of a Screen depends on the bytes alone, not on how they were cut into
// writes. Only one goroutine at a time may use a Screen.
type Screen interface {
	// Write takes a program's output. It takes all of it and returns no error.
	io.Writer
	// Feed is Write up to and including the byte that ends a synchronized update, or all
	// of p if none ends in it. It returns the number of bytes taken. A caller can so look
	// at every frame that the program meant to show.
	Feed(p []byte) int
	// Resize changes the size in cells, clamped to 2x1 .. 1000x1000. No text is lost.
	// Text that does not fit goes into the history, or comes back when the screen grows
	// again.
	Resize(cols, rows int)

	// Size returns the size in cells.
	Size() (cols, rows int)
	// View returns a copy of the whole screen.
	View() coleo.Screen
	// Row returns the text of row y without trailing blanks and without fillers after
	// wide characters; "" if there is no such row.
	Row(y int) string
	// Cursor returns the 0-based position of the cursor; x is cols while a wrap is
	// pending.
	Cursor() (x, y int)
	// Mode reports whether m is set.
	Mode(m Mode) bool
	// History returns the last n lines that scrolled off the top, oldest first.
	History(n int) []string

	// Changed returns the differences since the last call.
	Changed() Change
	// Frame returns the state of synchronized updates (DEC 2026).
	Frame() Frame
	// Replies returns the terminal's answers to the queries in the output since the last
	// call, in order; nil if there are none.
	Replies() []byte
	// Notices returns the program's notices beside the screen since the last call, in
	// order. At most 256 are kept; then the oldest are dropped.
	Notices() []Notice
}

// Change is the difference between two moments of a screen.
type Change struct {
	Rows   []int // rows whose text or attributes other than colour differ, ascending
	Cursor bool  // position or visibility
	Title  bool
	Modes  bool
}

// Any reports whether anything differs.
func (c Change) Any() bool {
	return len(c.Rows) > 0 || c.Cursor || c.Title || c.Modes
}

// Frame is the state of synchronized updates: whether the screen is half drawn.
type Frame struct {
	Open  bool   // a synchronized update has begun and not ended
	Count uint64 // number of updates that have ended
}

// Notice is a message of the program to its terminal beside the screen. It is one witness
// among several, and anything that prints can forge it.
type Notice struct {
	Kind NoticeKind
	Text string // without control characters, at most 4096 bytes
}

// NoticeKind is the kind of a Notice.
type NoticeKind string

// The kinds of notice.
const (
	NoticeStatus       NoticeKind = "status"       // OSC 7501: its payload, "state=working:app=…"
	NoticeSession      NoticeKind = "session"      // OSC 26: its payload, "Status=running;…"
	NoticeProgress     NoticeKind = "progress"     // OSC 9;4: "state;percent"
	NoticeNotification NoticeKind = "notification" // OSC 9, 777 and 99: the text shown to the user
	NoticePrompt       NoticeKind = "prompt"       // OSC 133 and 633: a shell's prompt marks
	NoticeTitle        NoticeKind = "title"        // OSC 0 and 2: the new title
	NoticeBell         NoticeKind = "bell"         // BEL: no text
)

// Mode is a switch that the program sets in its terminal. Its text is the key in
// coleo.Screen.Modes. modeTable lists all of them.
type Mode string

// ModeBracketedPaste marks pasted text for the program.
const ModeBracketedPaste Mode = "bracketed_paste"

// Colour is a palette entry or an RGB value; 0 is the terminal's default. Colours that
// look different have different values.
type Colour uint32

// Cell is one character cell, with attributes that a View leaves out.
type Cell struct {
	Text    string // the character with its combining marks; "" if blank or the right half of a wide one
	Width   int    // 1 or 2; 0 for the right half of a wide character
	Bold    bool
	Faint   bool // placeholders in composers usually are
	Inverse bool
	Hidden  bool
	Fg, Bg  Colour
	Link    string // OSC 8 target, http or https; "" if none
}

// RGB returns a colour's red, green and blue parts. Palette colours are xterm's defaults.
// It returns false for the terminal's default colour, which is not known here.
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
