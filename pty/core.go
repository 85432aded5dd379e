// Package pty is the terminal that a program on a pseudo-terminal sees. It draws the screen that
// the program's output describes, and answers the program's queries. It also encodes keys for the
// program, and reads recordings of a program's output.
//
// The pseudo-terminal itself is in package device, below this package. Package harnesses/terminal
// interprets the screen and decides when to type. Package pty does neither.
package pty

import (
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/pty/width"
)

// Core is the emulator that Coleo uses to read screens. Core implements Screen. It behaves like
// @xterm/headless 6 with its grapheme addon, except for the widths of a few characters: see package
// width.
type Core struct {
	parser

	cols, rows int
	main, alt  buffer
	buf        *buffer // &main or &alt
	widths     *width.Table
	history    history

	pen      style
	charsets [4]byte // G0 to G3: 'B' ASCII, '0' line drawing, 'A' British
	gl       int     // index of the charset in use
	modes    modeSet
	tabs     []bool      // the tab stops, by column; nil for a new terminal, which has one in every 8th column
	joining  width.State // the width of the last character, and whether the next one can join it into one cluster

	title    string
	titles   []string // titles that CSI 22 t has saved
	clusters internTable
	links    internTable

	clusterLimit int // number of clusters at which Core drops those that no cell uses
	linkPatience int // number of new links to leave out before the next search for unused links

	line    []byte // buffer for the text of a row
	replies []byte
	notices []Notice
	frames  uint64
	ended   bool // the last byte ended a synchronized update

	frameCells  int    // number of cells written in the open synchronized update
	wholeFrames uint64 // number of synchronized updates that wrote the whole screen: see wholeFrameSlack

	bytesTaken       int // number of bytes of output since New or Restore
	allowanceGrownAt int // value of bytesTaken at the last increase of allowance
	resetAt          int // value of bytesTaken after the last RIS (full reset); 0 before the first RIS
	allowance        int // number of cells that slow sequences may still touch: see maxAllowance

	last lastChanged
}

var _ Screen = (*Core)(nil)

// lastChanged is the state of the screen at the last call of Changed. The next call of Changed
// compares the screen with this state.
type lastChanged struct {
	rows        []uint64
	x, y        int
	cursorShown bool
	title       string
	modes       modeSet
	valid       bool
}

// New returns an empty screen of the given size in cells. If a size is outside the range from 2x1
// to 1000x1000, New takes the nearest size in this range.
func New(cols, rows int) *Core {
	cols, rows = ClampSize(cols, rows)
	c := &Core{cols: cols, rows: rows, widths: width.Standard(), allowance: maxAllowance}
	c.buf = &c.main
	c.reset()
	c.resetAt = 0 // this reset was not a RIS
	return c
}

// reset executes RIS (full reset). It keeps the title, the counters, and the replies and notices
// that the caller has not fetched yet.
func (c *Core) reset() {
	repeated := c.resetAt > 0 && c.bytesTaken == c.resetAt+1 // the program sent this RIS directly after another RIS
	if c.resetAt = c.bytesTaken + 1; repeated {
		return // a second reset would change nothing, and take long on a large screen
	}
	c.endFrame()
	if len(c.main.rows) == 0 {
		c.main = newBuffer(c.cols, c.rows)
	}
	c.showMain()
	c.main.reset()
	c.history.clear()
	c.titles = nil
	c.clusters, c.links, c.clusterLimit = internTable{}, internTable{}, 0
	c.modes = 0
	c.tabs = nil
	c.softReset()
}

// softReset executes DECSTR (soft reset). It resets the modes, the pen, the charsets,
// the margins and the saved cursor.
func (c *Core) softReset() {
	c.endFrame()
	c.modes = c.modes&(modeAltScreen|mouseEvents|mouseEncoding) | modesAtStart
	c.pen = style{}
	c.charsets = [4]byte{'B', 'B', 'B', 'B'}
	c.gl = 0
	c.buf.top, c.buf.bottom = 0, c.rows-1
	c.buf.saved = saved{charset: 'B'}
	c.buf.keyboard = nil
}

// Write draws p, which is a program's output. It takes all of p and never returns an
// error.
func (c *Core) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[c.Feed(rest):]
	}
	return len(p), nil
}

// Size returns the size of the screen in cells.
func (c *Core) Size() (cols, rows int) {
	return c.cols, c.rows
}

// Cursor returns the 0-based position of the cursor. If the last column has just been written, a
// wrap is pending, and x is the number of columns.
func (c *Core) Cursor() (x, y int) {
	return c.buf.x, c.buf.y
}

// Row returns the text of row y without trailing blanks. It returns "" if there is no row y. Row is
// fast if the row has not changed since the last call.
func (c *Core) Row(y int) string {
	if y < 0 || y >= c.rows {
		return ""
	}
	r := c.buf.rows[y]
	if r.readBy&readByText == 0 {
		c.line = c.appendRow(c.line[:0], r)
		if string(c.line) != r.text {
			r.text = string(c.line)
		}
		r.readBy |= readByText
	}
	return r.text
}

// Cell returns the cell at x, y. If there is no such cell, it returns a blank cell.
func (c *Core) Cell(x, y int) Cell {
	if y < 0 || y >= c.rows || x < 0 || x >= c.cols {
		return Cell{Width: 1}
	}
	in := c.buf.rows[y].at(x)
	out := Cell{
		Width:   1,
		Bold:    in.attr&attrBold != 0,
		Faint:   in.attr&attrFaint != 0,
		Inverse: in.attr&attrInverse != 0,
		Hidden:  in.attr&attrHidden != 0,
		Fg:      Colour(in.fg),
		Bg:      Colour(in.bg),
	}
	if in.ch&wide != 0 {
		out.Width = 2
	}
	if in.ch&filler != 0 {
		out.Width = 0
	}
	if in.ch != 0 {
		out.Text = string(c.appendCell(nil, in.ch))
	}
	if in.link != 0 {
		out.Link = c.links.at(uint32(in.link - 1))
	}
	return out
}

// View returns a copy of the whole screen.
func (c *Core) View() coleo.Screen {
	v := coleo.Screen{
		Cols: c.cols, Rows: c.rows,
		Lines:         make([]string, c.rows),
		Wrapped:       make([]bool, c.rows),
		Cursor:        [2]int{c.buf.x, c.buf.y},
		CursorVisible: c.modes&modeCursorVisible != 0,
		Alt:           c.buf == &c.alt,
		Title:         c.title,
		Modes:         c.modes.names(),
	}
	for y := range v.Lines {
		v.Lines[y], v.Wrapped[y] = c.Row(y), c.buf.rows[y].wrapped
	}
	return v
}

// History returns the last n lines that scrolled off the top, oldest first. The history
// keeps at most 10,000 lines and about 8 MiB of text.
func (c *Core) History(n int) []string {
	return c.history.last(n)
}

// Changed returns what has changed on the screen since the last call of Changed. The
// first call returns everything.
func (c *Core) Changed() Change {
	var out Change
	if len(c.last.rows) != c.rows {
		c.last.rows = make([]uint64, c.rows)
	}
	moved := c.buf.moved
	c.buf.moved = [2]int{}
	for y, r := range c.buf.rows {
		if r.readBy&readByChanged != 0 && (y < moved[0] || y >= moved[1]) {
			continue
		}
		r.readBy |= readByChanged
		if h := c.hash(r); h != c.last.rows[y] {
			c.last.rows[y] = h
			out.Rows = append(out.Rows, y)
		}
	}
	was, shown := &c.last, c.modes&modeCursorVisible != 0
	out.Cursor = !was.valid || was.x != c.buf.x || was.y != c.buf.y || was.cursorShown != shown
	out.Title = !was.valid || was.title != c.title
	out.Modes = !was.valid || was.modes != c.modes
	was.x, was.y, was.cursorShown, was.title, was.modes, was.valid = c.buf.x, c.buf.y, shown, c.title, c.modes, true
	return out
}

// Frame returns the state of synchronized updates (DEC 2026).
func (c *Core) Frame() Frame {
	return Frame{Open: c.modes&modeSynchronized != 0, Count: c.frames}
}

func (c *Core) endFrame() {
	if c.modes&modeSynchronized != 0 {
		c.modes &^= modeSynchronized
		c.frames++
		c.ended = true
		if all := c.cols * c.rows; abs(c.frameCells-all) <= all/wholeFrameSlack {
			c.wholeFrames++
		}
	}
}

// wholeFrameSlack is the tolerance for a whole synchronized update: it writes as many cells as the screen has,
// plus or minus 1/32. The tolerance is needed because a program and this package can measure the same character
// differently.
const wholeFrameSlack = 32

// WholeFrames returns the number of whole synchronized updates since New or Restore. A whole update
// writes about as many cells as the screen has. After a resize, a program sends a whole update,
// even if it otherwise draws only what has changed.
func (c *Core) WholeFrames() uint64 { return c.wholeFrames }

func abs(n int) int { return max(n, -n) }

// Replies returns the replies to the program's queries since the last call of Replies. If there are
// none, it returns nil.
func (c *Core) Replies() []byte {
	r := c.replies
	c.replies = nil
	return r
}

// These are the limits for notices and titles. maxNotices is the largest number of notices that are
// kept for Notices. maxNoticeText is the largest size of a notice, and maxTitle is the largest size
// of a title, both in bytes.
const (
	maxNotices    = 256
	maxNoticeText = 4096
	maxTitle      = 1024
)

// Notices returns the notices since the last call of Notices.
func (c *Core) Notices() []Notice {
	n := c.notices
	c.notices = nil
	return n
}

// notice adds a notice for the next call of Notices. It does nothing if the last notice is equal to
// the new one.
func (c *Core) notice(kind NoticeKind, text string) {
	n := Notice{Kind: kind, Text: clean(text, maxNoticeText)}
	if k := len(c.notices); k > 0 && c.notices[k-1] == n {
		return
	}
	if len(c.notices) >= maxNotices {
		c.notices = slices.Delete(c.notices, 0, maxNotices/4)
	}
	c.notices = append(c.notices, n)
}

// clean removes control characters and invalid UTF-8 from s, and returns at most `limit` bytes of
// the rest.
func clean(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

func (c *Core) setTitle(s string) {
	s = clean(s, maxTitle)
	if s != c.title {
		c.title = s
		c.notice(NoticeTitle, s)
	}
}

// NarrowEmoji makes each character with U+FE0F one cell wide instead of two, together with all
// characters that are joined to it. Call it for a program that draws the second cell itself, as a
// blank (Codex 0.169.0). Otherwise the rest of the line would be one cell too far to the right.
// Restore does not restore this setting.
func (c *Core) NarrowEmoji() { c.widths = width.NarrowEmoji() }
