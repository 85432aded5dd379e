package pty

// A row is one line of the grid, with one cell for each column. Only the first columns have a cell in
// the field `cells`. All later columns contain a copy of the field `rest`. So erasing a large row or
// screen costs no more than erasing a small one.
type row struct {
	cells           []cell // the cells of the first columns
	rest            cell   // the content of every later column: a narrow character, or a blank
	beforeNarrowing []cell // only on the alternate screen: the cells from before the screen was made narrower
	cols            int
	wrapped         bool      // this row continues the row above
	readBy          rowReader // one bit for each reader that has seen the current content; a write sets it to 0
	text            string    // text of the row when readByText last read it
}

// A rowReader has one bit for each reader of rows. A reader skips a row that has not changed since
// its last read.
type rowReader uint8

// The values of rowReader.
const (
	readByChanged rowReader = 1 << iota
	readByText
)

func newRow(cols int) *row {
	return &row{cols: cols}
}

// at returns the cell at column x, which must exist.
func (r *row) at(x int) cell {
	if x < len(r.cells) {
		return r.cells[x]
	}
	return r.rest
}

// cellsTo extends r.cells to at least n columns, and returns r.cells. The caller may change the
// returned cells.
func (r *row) cellsTo(n int) []cell {
	old := len(r.cells)
	r.allocate(n)
	for i := old; i < n; i++ {
		r.cells[i] = r.rest
	}
	return r.cells
}

// allocate extends r.cells to at least n columns. The content of the new cells is undefined.
func (r *row) allocate(n int) {
	switch {
	case n <= len(r.cells):
	case n <= cap(r.cells):
		r.cells = r.cells[:n]
	default:
		all := make([]cell, n, r.cols)
		copy(all, r.cells)
		r.cells = all
	}
}

// cellsToOverwrite returns the n cells from column x on. The caller must overwrite all of them.
func (r *row) cellsToOverwrite(x, n int) []cell {
	if x > len(r.cells) {
		r.cellsTo(x)
	}
	r.allocate(x + n)
	return r.cells[x : x+n]
}

// clear sets all cells to b.
func (r *row) clear(b cell) {
	if len(r.cells) == 0 && r.rest == b && !r.wrapped && r.beforeNarrowing == nil {
		return
	}
	r.cells, r.rest, r.wrapped, r.readBy = r.cells[:0], b, false, 0
	if r.beforeNarrowing != nil {
		r.beforeNarrowing = nil
	}
}

// cut sets the cell at column x and all cells to the right of it to b. The cells to the left of x
// must be in r.cells.
func (r *row) cut(x int, b cell) {
	r.cells, r.rest, r.beforeNarrowing, r.readBy = r.cells[:x], b, nil, 0
}

// usedCells returns the number of cells up to and including the last cell that a program has written.
func (r *row) usedCells() int {
	if len(r.cells) < r.cols && r.rest.ch != 0 {
		return r.cols
	}
	for i := len(r.cells) - 1; i >= 0; i-- {
		if r.cells[i].ch != 0 {
			return i + 1
		}
	}
	return 0
}

// fill sets the cells from x to endX-1 to b. If x or endX cuts a wide character, both halves of the
// character become b.
func (r *row) fill(x, endX int, b cell) {
	endX = min(endX, r.cols)
	if x >= endX {
		return
	}
	r.readBy = 0
	r.blankHalves(x, b)
	if endX < r.cols {
		r.blankHalves(endX, b)
	}
	switch {
	case endX == r.cols || endX >= len(r.cells) && r.rest == b:
		full := r.beforeNarrowing
		if x > len(r.cells) && r.rest != b {
			r.cellsTo(x)
		}
		r.cut(min(x, len(r.cells)), b)
		if endX < r.cols {
			r.beforeNarrowing = full
		}
	case b == cell{}:
		clear(r.cellsToOverwrite(x, endX-x))
	default:
		cells := r.cellsToOverwrite(x, endX-x)
		for i := range cells {
			cells[i] = b
		}
	}
}

// fillUnprotected works like fill, but skips cells that DECSCA protects.
func (r *row) fillUnprotected(x, end int, b cell) {
	end = min(end, r.cols)
	inMemory := min(end, len(r.cells))
	if end > inMemory && r.rest.attr&attrProtected == 0 {
		r.fill(max(x, inMemory), end, b)
	}
	for x < inMemory {
		to := x
		for to < inMemory && r.cells[to].attr&attrProtected == 0 {
			to++
		}
		r.fill(x, to, b)
		x = to + 1
	}
}

// blankHalves sets the cells x-1 and x to b if they are the two halves of a wide character.
func (r *row) blankHalves(x int, b cell) {
	if x > 0 && x < len(r.cells) && r.cells[x].ch&filler != 0 {
		r.cells[x-1] = b
		r.cells[x] = b
	}
}

// insert inserts n copies of the cell b at column x. The cells from x on move right by n, and the
// last n cells are lost.
func (r *row) insert(x, n int, b cell) {
	n = min(n, r.cols-x)
	if n <= 0 {
		return
	}
	r.readBy = 0
	r.blankHalves(x, b)
	old := len(r.cells)
	if x >= old && r.rest == b {
		return
	}
	if x < old {
		r.allocate(min(old+n, r.cols))
		copy(r.cells[x+n:], r.cells[x:old])
		if last := len(r.cells) - 1; last == r.cols-1 && r.cells[last].ch&wide != 0 {
			r.cells[last] = b
		}
	}
	gap := r.cellsToOverwrite(x, n)
	for i := range gap {
		gap[i] = b
	}
}

// remove removes n cells at column x. The cells to the right of them move left, and cells b fill
// the end of the row.
func (r *row) remove(x, n int, b cell) {
	n = min(n, r.cols-x)
	if n <= 0 {
		return
	}
	r.readBy = 0
	r.blankHalves(x, b)
	r.blankHalves(x+n, b)
	if r.rest != b {
		r.cellsTo(r.cols)
		r.rest = b
	}
	switch old := len(r.cells); {
	case x >= old:
	case x+n >= old:
		r.cells = r.cells[:x]
	case x == 0:
		r.cells = r.cells[n:]
	default:
		copy(r.cells[x:], r.cells[x+n:])
		r.cells = r.cells[:old-n]
	}
}

// allCells extends r.cells to all columns, and returns r.cells.
func (r *row) allCells() []cell {
	return r.cellsTo(r.cols)
}

// looksLike reports whether both rows certainly show the same text. To be fast, it compares only rows
// in which every column contains a copy of `rest`. For other rows, it returns false.
func (r *row) looksLike(other *row) bool {
	return len(r.cells) == 0 && len(other.cells) == 0 && r.rest.ch == other.rest.ch
}
