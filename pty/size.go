package pty

// DefaultCols and DefaultRows are the size in cells at which agent CLIs were recorded.
// The other constants limit the size. Every size within these limits is accepted by the
// emulator and fits into the kernel's 16-bit fields.
const (
	DefaultCols = 120
	DefaultRows = 40

	minCols = 2 // a wide character needs two cells
	minRows = 1
	maxSize = 1000
)

// CellWidth and CellHeight are the size of one cell in pixels, for programs that ask
// for it (TIOCGWINSZ, CSI 14 t, CSI 16 t). Nothing is drawn in pixels.
const (
	CellWidth  = 10
	CellHeight = 20
)

// ClampSize returns the size within the limits that is nearest to cols by rows. The
// limits are 2x1 and 1000x1000.
func ClampSize(cols, rows int) (int, int) {
	return min(max(cols, minCols), maxSize), min(max(rows, minRows), maxSize)
}
