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
	before coleo.Screen            // the screen before the change
	cell   func(x, y int) pty.Cell // the cells of that screen
	after  coleo.Screen            // the screen just after the change
}

// isDrawn reports whether the program has drawn since the change. `now` is the present screen. A new title or
// a moved cursor is no drawing.
func (z *resized) isDrawn(now *coleo.Screen) bool {
	return now.Alt != z.after.Alt || !slices.Equal(now.Lines, z.after.Lines)
}

// Resize gives the screen another size. Until the program draws, the rules continue to read the screen from
// before.
func (r *Reader) Resize(cols, rows int) {
	z, before := r.resized, r.visible()
	if z == nil || z.isDrawn(&before) {
		z = &resized{before: before, cell: cellsOf(r.screen)}
	}
	r.screen.Resize(cols, rows)
	z.after, r.resized = r.visible(), z
}

// nextPicture returns the picture that the rules read now.
func (r *Reader) nextPicture() *rules.Picture {
	shown, cell := r.visible(), r.screen.Cell
	switch z := r.resized; {
	case z == nil:
	case z.isDrawn(&shown):
		r.resized = nil
	default:
		title, modes := shown.Title, shown.Modes
		shown, cell = z.before, z.cell
		shown.Title, shown.Modes = title, modes
	}
	p := rules.NewPicture(shown, &r.spec.Composer)
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
