package conformance

import (
	"strconv"
	"strings"

	"coleo.dev"
)

// Size is the size of a terminal, in cells. The zero value means that the harness
// chooses the size.
type Size struct{ Cols, Rows int }

// These are the limits of a useful size. Below the minimum, no agent CLI draws readable
// text. No real terminal is larger than the maximum.
const (
	minCols, minRows = 20, 5
	maxCells         = 1000
)

// ParseSize parses a size such as "80x24". If the text is not a size, the error is EInvalid. If the
// size is below 20x5 or above 1000x1000, the error is also EInvalid.
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
