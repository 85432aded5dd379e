package pty

// DefaultCols and DefaultRows are the size in cells at which agent CLIs were recorded.
// Both the emulator and the kernel's 16-bit fields accept sizes within the bounds.
const (
	DefaultCols = 120
	DefaultRows = 40

	minCols = 2 // a wide character needs two cells
	minRows = 1
	maxSize = 1000
)

// CellWidth and CellHeight are the size of one cell in pixels, which is reported to
// programs that ask (TIOCGWINSZ, CSI 14 t, CSI 16 t). Nothing is drawn in pixels here.
const (
	CellWidth  = 10
	CellHeight = 20
)

// ClampSize returns the size that a screen gets instead of one outside the bounds, 2x1 to
// 1000x1000.
func ClampSize(cols, rows int) (int, int) {
	return min(max(cols, minCols), maxSize), min(max(rows, minRows), maxSize)
}
