package pty

// DefaultCols and DefaultRows are the size in cells at which agent CLIs were recorded.
// The limits are such that the emulator and the kernel's 16-bit fields both accept
// every size within them.
const (
	DefaultCols = 120
	DefaultRows = 40

	minCols = 2 // a wide character needs two cells
	minRows = 1
	maxSize = 1000
)

// CellWidth and CellHeight are the size of one cell in pixels. Programs that ask for
// this size get it (TIOCGWINSZ, CSI 14 t, CSI 16 t). Nothing is really drawn in pixels.
const (
	CellWidth  = 10
	CellHeight = 20
)

// ClampSize returns the size that is nearest to cols by rows and within the limits,
// which are 2x1 and 1000x1000.
func ClampSize(cols, rows int) (int, int) {
	return min(max(cols, minCols), maxSize), min(max(rows, minRows), maxSize)
}
