package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"coleo.dev/pty"
)

// The smallest size of an arm's terminal, in cells: agent CLIs draw garbage on
// less. A smaller viewer sees a part of it.
const minArmCols, minArmRows = 80, 24

// panEvery is the shortest time between two pictures of a part.
const panEvery = 30 * time.Millisecond

// viewport shows an arm's terminal on another one. Where that is large enough the
// output goes there as it is. Where it is smaller, it shows the part around the
// cursor, as text.
type viewport struct {
	mu         sync.Mutex
	out        io.Writer
	screen     *pty.Core // of the arm's terminal
	cols, rows int       // of the viewer's
	x, y       int       // the part's upper left corner
	drawing    bool      // a picture is on its way
}

func newViewport(out io.Writer, cols, rows int) *viewport {
	v := &viewport{out: out, cols: cols, rows: rows}
	v.screen = pty.New(v.armSize())
	return v
}

// armSize is the size that the arm's terminal gets.
func (v *viewport) armSize() (cols, rows int) {
	return max(v.cols, minArmCols), max(v.rows, minArmRows)
}

func (v *viewport) fits() bool { return v.cols >= minArmCols && v.rows >= minArmRows }

// Write takes output of the arm.
func (v *viewport) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := v.screen.Write(p); err != nil {
		return 0, err
	}
	if v.fits() {
		return v.out.Write(p)
	}
	v.drawSoon()
	return len(p), nil
}

// resize takes another size of the viewer's terminal. The arm's program draws
// itself anew when its own has changed.
func (v *viewport) resize(cols, rows int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cols, v.rows = cols, rows
	v.screen.Resize(v.armSize())
	_, _ = io.WriteString(v.out, screenTop+clearBelow)
	if !v.fits() {
		v.drawSoon()
	}
}

// drawSoon draws what stands after a moment, once for all that comes in it. The
// caller holds mu.
func (v *viewport) drawSoon() {
	if v.drawing {
		return
	}
	v.drawing = true
	time.AfterFunc(panEvery, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.drawing = false
		if !v.fits() {
			_, _ = io.WriteString(v.out, v.picture())
		}
	})
}

// picture is the part of the screen around the cursor. The caller holds mu.
func (v *viewport) picture() string {
	view := v.screen.View()
	cx, cy := view.Cursor[0], view.Cursor[1]
	v.x, v.y = around(cx, v.x, v.cols, view.Cols), around(cy, v.y, v.rows, view.Rows)
	var out strings.Builder
	out.WriteString(screenTop)
	for row := range v.rows {
		if row > 0 {
			out.WriteString("\r\n")
		}
		if at := v.y + row; at < len(view.Lines) {
			out.WriteString(cells(view.Lines[at], v.x, v.cols))
		}
		out.WriteString(clearLine)
	}
	fmt.Fprintf(&out, "\x1b[%d;%dH", cy-v.y+1, min(cx-v.x, v.cols-1)+1)
	return out.String()
}

// around moves the beginning of a part as little as it takes to have at in it.
func around(at, begin, size, all int) int {
	begin = max(min(begin, all-size), 0)
	switch {
	case at < begin:
		return at
	case at >= begin+size:
		return at - size + 1
	}
	return begin
}

// cells returns the cells of a line from one on, at most n. A wide character that
// is cut in two is a blank.
func cells(line string, from, n int) string {
	var out strings.Builder
	x := 0
	for _, r := range line {
		width := 1
		if r > '~' {
			width = pty.Cells(string(r))
		}
		switch {
		case x >= from && x+width <= from+n:
			out.WriteRune(r)
		case x < from && x+width > from:
			out.WriteByte(' ')
		}
		x += width
	}
	return out.String()
}
