package conformance

import (
	"strconv"
	"strings"

	"coleo.dev"
)

// Size is the size of a terminal, in cells. The zero value leaves it to the harness.
type Size struct{ Cols, Rows int }

// The range of useful sizes. Below it no agent CLI draws anything readable, and no
// terminal program exceeds it.
const (
	minCols, minRows = 20, 5
	maxCells         = 1000
)

// ParseSize reads a size such as "80x24". The error is EInvalid for text that is not a
// size, and for sizes below 20x5 or above 1000x1000.
func ParseSize(text string) (Size, error) {
	cols, rows, _ := strings.Cut(text, "x")
	c, badCols := strconv.Atoi(cols)
	r, badRows := strconv.Atoi(rows)
	if badCols != nil || badRows != nil || c < minCols || r < minRows || c > maxCells || r > maxCells {
		return Size{}, coleo.Errorf(coleo.EInvalid,
			"%q is not a terminal size: give columns and rows, such as 80x24, from %dx%d to %dx%d",
			text, minCols, minRows, maxCells, maxCells)
	}
	return Size{Cols: c, Rows: r}, nil
}
