package pty

// DefaultCols and DefaultRows are the size in cells at which agent CLIs were recorded. The other
// constants limit the size. The emulator accepts every size within these limits, and the kernel's
// 16-bit fields can hold it.
const (
	DefaultCols = 120
	DefaultRows = 40

	minCols = 2 // a wide character needs two cells
	minRows = 1
	maxSize = 1000
)

// CellWidth and CellHeight are the size of one cell in pixels, for programs that ask for this size
// (TIOCGWINSZ, CSI 14 t, CSI 16 t). Coleo draws no pixels.
const (
	CellWidth  = 10
	CellHeight = 20
)

// ClampSize returns the size that is nearest to the given size, in the range from 2x1 to 1000x1000.
func ClampSize(cols, rows int) (int, int) {
	return min(max(cols, minCols), maxSize), min(max(rows, minRows), maxSize)
}
