package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"coleo.dev/cmd/coleo/show"
	"coleo.dev/pty"
)

// minArmCols and minArmRows are the smallest size that attach gives an arm's terminal, in cells. On
// a smaller terminal, agent CLIs draw garbage. If the viewer's terminal is smaller than this size,
// it shows only a part of the arm's terminal.
const minArmCols, minArmRows = 80, 24

// panEvery is the shortest time between two redraws while the viewer's terminal shows only a part
// of the arm's terminal.
const panEvery = 30 * time.Millisecond

// viewport shows an arm's terminal on the viewer's terminal. If the viewer's terminal
// is large enough, the viewport passes all output on unchanged. Otherwise it draws only
// the part of the arm's screen around the cursor, as plain text.
type viewport struct {
	mu         sync.Mutex
	out        io.Writer
	screen     *pty.Core // the arm's terminal
	cols, rows int       // the size of the viewer's terminal, in cells
	x, y       int       // the upper left corner of the shown part, in cells of the arm's screen
	drawing    bool      // a redraw is scheduled
}

func newViewport(out io.Writer, cols, rows int) *viewport {
	v := &viewport{out: out, cols: cols, rows: rows}
	v.screen = pty.New(v.armSize())
	return v
}

// armSize returns the size that attach gives the arm's terminal.
func (v *viewport) armSize() (cols, rows int) {
	return max(v.cols, minArmCols), max(v.rows, minArmRows)
}

func (v *viewport) fits() bool { return v.cols >= minArmCols && v.rows >= minArmRows }

// Write shows output of the arm on the viewer's terminal.
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

// close makes the viewport write nothing more, not even a redraw that is already scheduled.
func (v *viewport) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out = io.Discard
}

// resize stores the new size of the viewer's terminal and clears that terminal. Afterwards the caller must give
// the arm's terminal the size that armSize returns. If this is a new size, the agent CLI redraws its screen.
func (v *viewport) resize(cols, rows int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cols, v.rows = cols, rows
	v.screen.Resize(v.armSize())
	_, _ = io.WriteString(v.out, show.ScreenTop+show.ClearBelow)
	if !v.fits() {
		v.drawSoon()
	}
}

// drawSoon schedules a redraw after panEvery. If a redraw is already scheduled, drawSoon does
// nothing, because that redraw will also show the new output. The caller must hold mu.
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

// picture returns the part of the arm's screen around the cursor, as text that the viewer's
// terminal can draw. The caller must hold mu.
func (v *viewport) picture() string {
	view := v.screen.View()
	cx, cy := view.Cursor[0], view.Cursor[1]
	v.x, v.y = moveWindow(cx, v.x, v.cols, view.Cols), moveWindow(cy, v.y, v.rows, view.Rows)
	var out strings.Builder
	out.WriteString(show.ScreenTop)
	for row := range v.rows {
		if row > 0 {
			out.WriteString("\r\n")
		}
		if at := v.y + row; at < len(view.Lines) {
			out.WriteString(cells(view.Lines[at], v.x, v.cols))
		}
		out.WriteString(show.ClearLine)
	}
	fmt.Fprintf(&out, "\x1b[%d;%dH", cy-v.y+1, min(cx-v.x, v.cols-1)+1)
	return out.String()
}

// moveWindow moves a window along the columns or the rows of the screen. The window is windowSize
// long and begins at oldStart. moveWindow moves it as little as possible, so that it contains the
// cursor and ends within the screen. It returns the new beginning of the window.
func moveWindow(cursor, oldStart, windowSize, screenSize int) int {
	oldStart = max(min(oldStart, screenSize-windowSize), 0)
	switch {
	case cursor < oldStart:
		return cursor
	case cursor >= oldStart+windowSize:
		return cursor - windowSize + 1
	}
	return oldStart
}

// cells returns at most n cells of a line, beginning with the cell firstCell. If the cut divides a
// wide character, that character becomes a blank.
func cells(line string, firstCell, n int) string {
	var out strings.Builder
	x := 0
	for _, r := range line {
		width := 1
		if r > '~' {
			width = pty.Cells(string(r))
		}
		switch {
		case x >= firstCell && x+width <= firstCell+n:
			out.WriteRune(r)
		case x < firstCell && x+width > firstCell:
			out.WriteByte(' ')
		}
		x += width
	}
	return out.String()
}
