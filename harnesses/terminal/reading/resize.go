package reading

import (
	"slices"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// resized describes a terminal that has changed its size, while the program has not drawn since. The emulator
// has wrapped, moved or hidden rows for the new size. The program has never shown these rows, so they prove
// nothing about it. The rules then read the picture from before the change.
type resized struct {
	before     coleo.Screen            // the screen before the change
	cell       func(x, y int) pty.Cell // the cells of that screen
	history    []string                // the newest rows that had scrolled off that screen
	after      coleo.Screen            // the screen just after the change
	afterCells func(x, y int) pty.Cell // the cells of the screen just after the change
}

// isDrawn reports whether the program has drawn since the change of the size. The program has drawn if the
// text, a color or the cursor differs from the screen just after the change. The mark of a list can be a
// color alone, and the cursor alone can show that the program has taken a line. A new title does not count.
// `now` and `cell` are the present screen.
func (z *resized) isDrawn(now *coleo.Screen, cell func(x, y int) pty.Cell) bool {
	if now.Alt != z.after.Alt || now.Cursor != z.after.Cursor || now.CursorVisible != z.after.CursorVisible ||
		!slices.Equal(now.Lines, z.after.Lines) {
		return true
	}
	for y := range now.Rows {
		for x := range now.Cols {
			if cell(x, y) != z.afterCells(x, y) {
				return true
			}
		}
	}
	return false
}

// Resize gives the screen another size. Until the program draws, the rules continue to read the screen from
// before this change.
func (r *Reader) Resize(cols, rows int) {
	z, before := r.resized, r.visible()
	if z == nil || z.isDrawn(&before, r.screen.Cell) {
		z = &resized{before: before, cell: cellsOf(r.screen), history: r.screen.History(HistoryRows)}
	}
	r.screen.Resize(cols, rows)
	z.after, z.afterCells, r.resized = r.visible(), cellsOf(r.screen), z
}

// AwaitsDrawing reports whether the screen has another size, and the program has not drawn since.
func (r *Reader) AwaitsDrawing() bool {
	now := r.visible()
	return r.resized != nil && !r.resized.isDrawn(&now, r.screen.Cell)
}

// history returns the newest rows that have scrolled off the screen of the last picture, at most HistoryRows.
// A change of the size can move rows of that picture to the present screen's history, where they would count
// twice.
func (r *Reader) history() []string {
	if r.resized != nil {
		return slices.Clone(r.resized.history)
	}
	return r.screen.History(HistoryRows)
}

// nextPicture returns the picture that the rules read now, and sets r.cell.
func (r *Reader) nextPicture() *rules.Picture {
	shown, cell := r.visible(), r.screen.Cell
	switch z := r.resized; {
	case z == nil:
	case z.isDrawn(&shown, cell):
		r.resized = nil
	default:
		title, modes := shown.Title, shown.Modes
		shown, cell = z.before, z.cell
		shown.Title, shown.Modes = title, modes
	}
	p := rules.NewPicture(shown, &r.spec.Composer)
	r.cell = cell
	p.Use(cell, r.memo)
	return p
}

// cellsOf copies the cells of a screen. It returns a function like pty.Core.Cell that reads the copy.
func cellsOf(screen *pty.Core) func(x, y int) pty.Cell {
	cols, rows := screen.Size()
	cells := make([]pty.Cell, 0, cols*rows)
	for y := range rows {
		for x := range cols {
			cells = append(cells, screen.Cell(x, y))
		}
	}
	return func(x, y int) pty.Cell {
		if x < 0 || x >= cols || y < 0 || y >= rows {
			return pty.Cell{Width: 1}
		}
		return cells[y*cols+x]
	}
}
