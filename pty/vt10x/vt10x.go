// Package vt10x is a second emulator. Tests compare it with the emulator of package
// pty.
package vt10x

import (
	"strings"

	hinshun "github.com/hinshun/vt10x"

	"coleo.dev"
	"coleo.dev/pty"
)

// Screen shows the grid that hinshun/vt10x draws from a program's output. A filter
// first removes from the output what vt10x reads wrongly. The title, modes, replies,
// notices and history come from a Core. Screen implements pty.Screen.
//
// Screen is for comparisons only. It does not know wide and combining characters, and
// loses text when it is resized.
type Screen struct {
	*pty.Core
	term   hinshun.Terminal
	filter filter
	rows   []string // text of the rows at the last call of Changed
	x, y   int
}

var _ pty.Screen = (*Screen)(nil)

// New returns an empty screen of the given size in cells. If a size is outside the range from 2x1
// to 1000x1000, New takes the nearest size in this range.
func New(cols, rows int) *Screen {
	v := &Screen{Core: pty.New(cols, rows)}
	cols, rows = v.Size()
	v.term = hinshun.New(hinshun.WithSize(cols, rows))
	v.filter.cells = cols * rows
	return v
}

// Write draws a program's output. It takes all of the output and never returns an error.
func (v *Screen) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[v.Feed(rest):]
	}
	return len(p), nil
}

// Feed draws a program's output. It stops after the byte that ends a synchronized update. It
// returns the number of bytes that it has read.
func (v *Screen) Feed(p []byte) int {
	n := v.Core.Feed(p)
	_, _ = v.term.Write(v.filter.pass(p[:n]))
	return n
}

// Resize changes the size of the screen in cells.
func (v *Screen) Resize(cols, rows int) {
	v.Core.Resize(cols, rows)
	cols, rows = v.Size()
	v.filter.cells = cols * rows
	v.term.Resize(cols, rows)
}

// Row returns the text of row y without trailing blanks. It returns "" if there is no
// row y.
func (v *Screen) Row(y int) string {
	cols, rows := v.term.Size()
	if y < 0 || y >= rows {
		return ""
	}
	var b strings.Builder
	for x := range cols {
		r := v.term.Cell(x, y).Char
		if r == 0 {
			r = ' '
		}
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), " ")
}

// Cursor returns the 0-based position of the cursor.
func (v *Screen) Cursor() (x, y int) {
	c := v.term.Cursor()
	return c.X, c.Y
}

// View returns a copy of the whole screen.
func (v *Screen) View() coleo.Screen {
	s := v.Core.View()
	for y := range s.Lines {
		s.Lines[y] = v.Row(y)
	}
	s.Cursor[0], s.Cursor[1] = v.Cursor()
	return s
}

// Changed returns what has changed on the screen since the last call of Changed.
func (v *Screen) Changed() pty.Change {
	change := v.Core.Changed()
	change.Rows = nil
	_, rows := v.term.Size()
	for y := range rows {
		text := v.Row(y)
		if y >= len(v.rows) || v.rows[y] != text {
			change.Rows = append(change.Rows, y)
		}
		if y < len(v.rows) {
			v.rows[y] = text
		} else {
			v.rows = append(v.rows, text)
		}
	}
	v.rows = v.rows[:rows]
	x, y := v.Cursor()
	change.Cursor = x != v.x || y != v.y
	v.x, v.y = x, y
	return change
}
