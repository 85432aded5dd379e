package pty

import "unicode/utf8"

// A cell is 16 bytes: what stands in it and how it looks.
type cell struct {
	ch uint32 // a character, or the index of a cluster, and the bits below; 0: blank
	style
}

const (
	cluster  = 1 << 31 // ch is an index into Core.clusters
	wide     = 1 << 30 // takes this cell and the next
	filler   = 1 << 29 // right half of a wide character
	charMask = 1<<21 - 1
)

// A style is how a cell looks. Colours are 0 for the default, else a kind in
// the top byte and an index or RGB value below.
type style struct {
	fg, bg uint32
	attr   uint16
	link   uint16 // index into Core.links plus 1; 0: none
}

const (
	colourIndex = 1 << 24
	colourRGB   = 2 << 24
)

const (
	attrBold = 1 << iota
	attrFaint
	attrItalic
	attrUnderline
	attrBlink
	attrInverse
	attrHidden
	attrStruck
	attrOverline
	attrProtected // DECSCA
)

// blankIn is a blank cell with the background of s, as erasing leaves it.
func blankIn(s style) cell {
	return cell{style: style{bg: s.bg}}
}

// A row is one line of the grid.
type row struct {
	cells   []cell
	full    []cell // on the alternate screen: the cells before it was made narrower
	wrapped bool   // goes on from the row above
	dirty   bool   // written to since the last Changed
}

func newRow(cols int) row {
	return row{cells: make([]cell, cols), dirty: true}
}

func (r *row) clear(b cell) {
	if b == (cell{}) {
		clear(r.cells)
	} else {
		for i := range r.cells {
			r.cells[i] = b
		}
	}
	r.full, r.wrapped, r.dirty = nil, false, true
}

// used is the number of cells up to the last one written to.
func (r *row) used() int {
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
	end = min(end, len(r.cells))
	if x >= end {
		return
	}
	r.split(x, b)
	r.split(end, b)
	for i := x; i < end; i++ {
		r.cells[i] = b
	}
	if end == len(r.cells) {
		r.full = nil
	}
	r.dirty = true
}

// fillUnprotected is fill that leaves what DECSCA protects.
func (r *row) fillUnprotected(x, end int, b cell) {
	for i := x; i < min(end, len(r.cells)); i++ {
		if r.cells[i].attr&attrProtected == 0 {
			r.fill(i, i+1, b)
		}
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
	n = min(n, len(r.cells)-x)
	if n <= 0 {
		return
	}
	r.split(x, b)
	copy(r.cells[x+n:], r.cells[x:])
	last := len(r.cells) - 1
	if r.cells[last].ch&wide != 0 {
		r.cells[last] = b
	}
	for i := x; i < x+n; i++ {
		r.cells[i] = b
	}
	r.dirty = true
}

// remove shifts the cells right of x to the left by n and blanks the end.
func (r *row) remove(x, n int, b cell) {
	n = min(n, len(r.cells)-x)
	if n <= 0 {
		return
	}
	r.split(x, b)
	r.split(x+n, b)
	copy(r.cells[x:], r.cells[x+n:])
	for i := len(r.cells) - n; i < len(r.cells); i++ {
		r.cells[i] = b
	}
	r.dirty = true
}

// appendRow appends the text of r, trailing blanks cut.
func (c *Core) appendRow(dst []byte, r *row) []byte {
	end := len(r.cells)
	for end > 0 && isBlank(r.cells[end-1].ch) {
		end--
	}
	start := len(dst)
	for i := range r.cells[:end] {
		dst = c.appendCell(dst, r.cells[i].ch)
	}
	for len(dst) > start && dst[len(dst)-1] == ' ' { // some characters take in a space after them
		dst = dst[:len(dst)-1]
	}
	return dst
}

func isBlank(ch uint32) bool {
	return ch == 0 || ch == ' '
}

func (c *Core) appendCell(dst []byte, ch uint32) []byte {
	switch {
	case ch&cluster != 0:
		return append(dst, c.clusters.at(ch&charMask)...)
	case ch&filler != 0:
		return dst
	case ch == 0:
		return append(dst, ' ')
	case ch&charMask < utf8.RuneSelf:
		return append(dst, byte(ch))
	}
	return utf8.AppendRune(dst, rune(ch&charMask))
}

// hash is a value of all that Changed compares: characters, and attributes
// other than colours, so that a shimmering row stays the same row.
func (c *Core) hash(r *row) uint64 {
	h := uint64(len(r.cells))
	for i := range r.cells {
		ch := r.cells[i].ch
		if ch&cluster != 0 { // its index may have stood for another cluster before
			for _, b := range []byte(c.clusters.at(ch & charMask)) {
				h = mix(h, uint64(b))
			}
		}
		if ch == ' ' {
			ch = 0
		}
		h = mix(h, uint64(ch)|uint64(r.cells[i].attr)<<32)
	}
	return h
}

func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}
