package pty

import (
	"strings"

	"github.com/hinshun/vt10x"

	"coleo.dev"
)

// VT10x is a second opinion on the grid: that of hinshun/vt10x for the same output. A
// filter removes from the output what vt10x misreads. Everything beside the grid (title,
// modes, replies, notices, history) is a Core's.
//
// It exists for comparisons. It knows no wide and no combining characters, and loses text
// when it is resized. It implements Screen.
type VT10x struct {
	*Core
	term   vt10x.Terminal
	filter filter
	rows   []string // as the last Changed saw them
	x, y   int
}

var _ Screen = (*VT10x)(nil)

// NewVT10x returns an empty screen of the given size in cells, clamped as in New.
func NewVT10x(cols, rows int) *VT10x {
	cols, rows = clampSize(cols, rows)
	v := &VT10x{Core: New(cols, rows), term: vt10x.New(vt10x.WithSize(cols, rows))}
	v.filter.cells = cols * rows
	return v
}

// Write takes a program's output. It takes all of it and returns no error.
func (v *VT10x) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[v.Feed(rest):]
	}
	return len(p), nil
}

// Feed is Write up to the end of a frame. It returns the number of bytes taken.
func (v *VT10x) Feed(p []byte) int {
	n := v.Core.Feed(p)
	_, _ = v.term.Write(v.filter.pass(p[:n]))
	return n
}

// Resize changes the size in cells.
func (v *VT10x) Resize(cols, rows int) {
	v.Core.Resize(cols, rows)
	cols, rows = v.Size()
	v.filter.cells = cols * rows
	v.term.Resize(cols, rows)
}

// Row returns the text of row y without trailing blanks, "" if there is no such row.
func (v *VT10x) Row(y int) string {
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

// Cursor returns the position of the next character.
func (v *VT10x) Cursor() (x, y int) {
	c := v.term.Cursor()
	return c.X, c.Y
}

// View returns a copy of the whole screen.
func (v *VT10x) View() coleo.Screen {
	s := v.Core.View()
	for y := range s.Lines {
		s.Lines[y] = v.Row(y)
	}
	s.Cursor[0], s.Cursor[1] = v.Cursor()
	return s
}

// Changed returns the differences since the last call.
func (v *VT10x) Changed() Change {
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
