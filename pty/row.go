package pty

// A row is one line of the grid. Only its first cells are in memory, those
// right of them all look like rest: so that to erase a row, or a screen, costs
// the same whatever its size.
type row struct {
	cells   []cell // at most cols
	rest    cell   // a narrow character, or blank
	full    []cell // on the alternate screen: the cells before it was made narrower
	cols    int
	wrapped bool   // goes on from the row above
	known   knower // who has seen what it shows; a write sets it to 0
	text    string // what it shows, for knownByText
}

// A knower is one who need not look at a row again until it is written to.
type knower uint8

// The knowers.
const (
	knownByChanged knower = 1 << iota
	knownByText
)

func newRow(cols int) *row {
	return &row{cols: cols}
}

// at is cell x, which there is.
func (r *row) at(x int) cell {
	if x < len(r.cells) {
		return r.cells[x]
	}
	return r.rest
}

// need is the first n cells or more, to be changed.
func (r *row) need(n int) []cell {
	old := len(r.cells)
	r.reach(n)
	for i := old; i < n; i++ {
		r.cells[i] = r.rest
	}
	return r.cells
}

// reach has at least n cells in memory. What new ones hold is left open.
func (r *row) reach(n int) {
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

// span is n cells from x, all of them to be overwritten.
func (r *row) span(x, n int) []cell {
	if x > len(r.cells) {
		r.need(x)
	}
	r.reach(x + n)
	return r.cells[x : x+n]
}

// clear makes all cells b.
func (r *row) clear(b cell) {
	if len(r.cells) == 0 && r.rest == b && !r.wrapped && r.full == nil {
		return
	}
	r.cells, r.rest, r.wrapped, r.known = r.cells[:0], b, false, 0
	if r.full != nil {
		r.full = nil
	}
}

// cut makes the cells from x on b; those before x are in memory.
func (r *row) cut(x int, b cell) {
	r.cells, r.rest, r.full, r.known = r.cells[:x], b, nil, 0
}

// used is the number of cells up to the last one written to.
func (r *row) used() int {
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

// fill blanks the cells from x to end, and what is left of wide characters
// cut at either side.
func (r *row) fill(x, end int, b cell) {
	end = min(end, r.cols)
	if x >= end {
		return
	}
	r.known = 0
	r.split(x, b)
	if end < r.cols {
		r.split(end, b)
	}
	switch {
	case end == r.cols || end >= len(r.cells) && r.rest == b:
		full := r.full
		if x > len(r.cells) && r.rest != b {
			r.need(x)
		}
		r.cut(min(x, len(r.cells)), b)
		if end < r.cols {
			r.full = full
		}
	case b == cell{}:
		clear(r.span(x, end-x))
	default:
		cells := r.span(x, end-x)
		for i := range cells {
			cells[i] = b
		}
	}
}

// fillUnprotected is fill that leaves what DECSCA protects.
func (r *row) fillUnprotected(x, end int, b cell) {
	end = min(end, r.cols)
	known := min(end, len(r.cells))
	if end > known && r.rest.attr&attrProtected == 0 {
		r.fill(max(x, known), end, b)
	}
	for x < known {
		to := x
		for to < known && r.cells[to].attr&attrProtected == 0 {
			to++
		}
		r.fill(x, to, b)
		x = to + 1
	}
}

// split blanks both halves of a wide character that x would cut in two.
func (r *row) split(x int, b cell) {
	if x > 0 && x < len(r.cells) && r.cells[x].ch&filler != 0 {
		r.cells[x-1] = b
		r.cells[x] = b
	}
}

// insert shifts the cells from x to the right by n and blanks the gap.
func (r *row) insert(x, n int, b cell) {
	n = min(n, r.cols-x)
	if n <= 0 {
		return
	}
	r.known = 0
	r.split(x, b)
	old := len(r.cells)
	if x >= old && r.rest == b {
		return
	}
	if x < old {
		r.reach(min(old+n, r.cols))
		copy(r.cells[x+n:], r.cells[x:old])
		if last := len(r.cells) - 1; last == r.cols-1 && r.cells[last].ch&wide != 0 {
			r.cells[last] = b
		}
	}
	gap := r.span(x, n)
	for i := range gap {
		gap[i] = b
	}
}

// remove shifts the cells right of x to the left by n and blanks the end.
func (r *row) remove(x, n int, b cell) {
	n = min(n, r.cols-x)
	if n <= 0 {
		return
	}
	r.known = 0
	r.split(x, b)
	r.split(x+n, b)
	if r.rest != b {
		r.need(r.cols)
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

// whole makes sure that all cells are in memory, and returns them.
func (r *row) whole() []cell {
	return r.need(r.cols)
}

// looksLike tells, if it can at a glance, that r and other show the same text.
func (r *row) looksLike(other *row) bool {
	return len(r.cells) == 0 && len(other.cells) == 0 && r.rest.ch == other.rest.ch
}
