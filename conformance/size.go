package conformance

import (
	"strconv"
	"strings"

	"coleo.dev"
)

// Size is that of a terminal, in cells. The zero value leaves it to the
// harness.
type Size struct{ Cols, Rows int }

// The sizes that make sense: below them no agent CLI draws anything that can be
// read, beyond them no terminal program goes.
const (
	minCols, minRows = 20, 5
	maxCells         = 1000
)

// ParseSize reads a size such as "80x24". What is none, or too small or too
// large, is EInvalid.
func ParseSize(text string) (Size, error) {
	cols, rows, _ := strings.Cut(text, "x")
	c, badCols := strconv.Atoi(cols)
	r, badRows := strconv.Atoi(rows)
	if badCols != nil || badRows != nil || c < minCols || r < minRows || c > maxCells || r > maxCells {
		return Size{}, coleo.Errorf(coleo.EInvalid, "%q is no size of a terminal: give columns and rows, such as 80x24, from %dx%d to %dx%d",
			text, minCols, minRows, maxCells, maxCells)
	}
	return Size{Cols: c, Rows: r}, nil
}
