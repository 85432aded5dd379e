package pty

import "coleo.dev/pty/width"

// maxCluster is the largest size in bytes of a character with all its combining marks.
const maxCluster = 64

// print prints r at the cursor.
func (c *Core) print(r rune) {
	after, joined := c.widths.Next(c.joining, r)
	oldCells := 0 // number of cells of the cluster to the left that r joins; 0 if r joins no cluster
	if joined {
		oldCells = int(c.joining.Cells)
	}
	c.joining = after
	cells := int(after.Cells)
	if c.buf.x+cells-oldCells > c.cols {
		if c.modes&modeWrap == 0 {
			c.buf.x = c.cols - 1
			if cells == 2 { // a wide r has no room and is dropped, so no character can join it
				c.joining = width.State{}
				return
			}
		} else {
			c.wrap(oldCells)
		}
	}
	if joined && c.buf.x > 0 {
		c.join(r, cells-oldCells)
		return
	}
	c.putCharacter(r, cells)
}

// wrap moves the cursor to the next row, together with the last `carry` cells to the left of the
// cursor. These cells hold a cluster that has become too wide for the end of its row.
func (c *Core) wrap(carry int) {
	b := c.buf
	from := b.x - carry
	var carried [2]cell
	old := b.rows[b.y]
	if carry > 0 {
		copy(carried[:carry], old.allCells()[max(from, 0):])
	}
	old.fill(max(from, 0), c.cols, cell{style: c.pen})
	c.index()
	b.rows[b.y].wrapped = true
	if carry > 0 {
		next := b.rows[b.y]
		next.fill(0, carry, cell{})
		copy(next.cellsTo(carry), carried[:carry])
	}
	b.x = carry
}

// join adds r to the cluster to the left of the cursor. The cluster becomes wider by moreCells
// cells, or narrower if moreCells is negative.
func (c *Core) join(r rune, moreCells int) {
	b := c.buf
	line := b.rows[b.y]
	at := b.x - 1
	if line.at(at).ch&filler != 0 && at > 0 {
		at--
	}
	line.readBy = 0
	cells := line.cellsTo(min(b.x+max(moreCells, 0), c.cols))
	lead := &cells[at]
	text := c.appendCell(nil, lead.ch)
	if len(text) < maxCluster {
		text = append(text, string(r)...)
		lead.ch = lead.ch&wide | cluster | c.clusterID(string(text))
	}
	if moreCells < 0 && at == b.x-2 {
		lead.ch &^= wide
		cells[at+1] = cell{style: c.pen}
		b.x--
	}
	for ; moreCells > 0 && b.x < c.cols; moreCells-- {
		line.blankHalves(b.x+1, cell{style: c.pen})
		lead.ch |= wide
		cells[b.x] = cell{filler, c.pen}
		b.x++
	}
}

// putCharacter writes r into the next cells at the cursor, and moves the cursor. The argument `width`
// is the number of cells of the character, and the row must have room for them.
func (c *Core) putCharacter(r rune, width int) {
	b := c.buf
	line := b.rows[b.y]
	pen := cell{style: c.pen}
	if c.modes&modeInsert != 0 {
		line.insert(b.x, width, pen)
	}
	line.blankHalves(b.x, pen)
	line.blankHalves(b.x+width, pen)
	cells := line.cellsToOverwrite(b.x, width)
	ch := uint32(r)
	if width == 2 {
		ch |= wide
		cells[1] = cell{filler, c.pen}
	}
	cells[0] = cell{ch, c.pen}
	line.readBy = 0
	b.x += width
	c.frameCells += width
}

// printASCII prints printable ASCII at the cursor. It has the same effect as print, and is faster. Most output
// is ASCII.
func (c *Core) printASCII(p []byte) {
	if c.charsets[c.gl] != 'B' || c.modes&modeInsert != 0 || c.joining.Kind == width.Prepend {
		for _, ch := range p {
			c.print(c.translate(ch))
		}
		return
	}
	c.joining = width.State{Kind: width.Other, Cells: 1}
	b := c.buf
	for len(p) > 0 {
		if b.x >= c.cols {
			if c.modes&modeWrap == 0 {
				b.x, p = c.cols-1, p[len(p)-1:]
			} else {
				c.wrap(0)
			}
		}
		line := b.rows[b.y]
		n := min(len(p), c.cols-b.x)
		pen := cell{style: c.pen}
		line.blankHalves(b.x, pen)
		line.blankHalves(b.x+n, pen)
		line.readBy = 0
		cells := line.cellsToOverwrite(b.x, n)
		for i := range cells {
			cells[i] = cell{uint32(p[i]), c.pen}
		}
		b.x += n
		c.frameCells += n
		p = p[n:]
	}
}

// lineDrawing holds the characters of charset 0 (DEC Special Graphics) for the characters from ` to
// ~.
const lineDrawing = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"

// translate returns the character for ch in the present charset.
func (c *Core) translate(ch byte) rune {
	switch set := c.charsets[c.gl]; {
	case set == 'A' && ch == '#':
		return '£'
	case set == '0' && ch >= '`' && ch <= '~':
		i := int(ch - '`')
		for _, r := range lineDrawing {
			if i == 0 {
				return r
			}
			i--
		}
	}
	return rune(ch)
}
