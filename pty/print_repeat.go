package pty

import "coleo.dev/pty/width"

// repeat executes REP: it prints the last character n more times.
func (c *Core) repeat(n int) {
	b := c.buf
	width := int(c.joining.Cells)
	at := b.x - width
	if width == 0 || at < 0 {
		return
	}
	ch := b.rows[b.y].at(at).ch
	if ch&filler != 0 || (ch&wide != 0) != (width == 2) {
		return // a resize has put another character in this cell
	}
	if most := max(c.cols*c.rows, 1000); n > most { // more repeats would only scroll equal rows off
		n = most + (n-most)%(c.cols/width)
	}
	separate := c.staysSeparate(ch)
	// In insert mode, print and printCells differ for a cluster. print shifts the row by the width of the
	// cluster's first character, and printCells by the width of the whole cluster. The effect of print is the
	// right one, so the code below prints a cluster in insert mode with print.
	if separate && (ch&cluster == 0 || c.modes&modeInsert == 0) {
		if cost := n*width + n*width/c.cols*scrollCost; cost <= freeRepeats || c.spendAllowance(cost) {
			c.printCells(cell{ch, c.pen}, width, n)
		}
		return
	}
	text := string(c.appendCell(nil, ch))
	if !separate {
		n = min(n, maxCluster/len(text)+1) // the repeats join into one cluster, whose length is limited
	}
	if !c.spendAllowance(n * maxCluster) {
		return
	}
	for range n {
		for _, r := range text {
			c.print(r)
		}
	}
}

// staysSeparate reports whether two copies of the character ch next to each other stay separate.
// Some characters would join into one cluster.
func (c *Core) staysSeparate(ch uint32) bool {
	if ch&cluster == 0 && ch&charMask < 0x80 {
		return true
	}
	text := string(c.appendCell(nil, ch))
	state := width.State{}
	for range 2 {
		for i, r := range text {
			next, joined := c.widths.Next(state, r)
			if joined && i == 0 {
				return false
			}
			state = next
		}
	}
	return true
}

// printCells prints a cell n times, with the same result as print. A width of 2 means that the cell
// is wide, and that a filler, the cell for the right half, follows it.
func (c *Core) printCells(first cell, width, n int) {
	b := c.buf
	for n > 0 {
		if b.x+width > c.cols {
			if c.modes&modeWrap == 0 {
				c.overwriteLast(first, width)
				return
			}
			c.wrap(0)
		}
		k := min(n, (c.cols-b.x)/width)
		b.rows[b.y].write(b.x, first, width, k, c.modes&modeInsert != 0)
		b.x += k * width
		c.frameCells += k * width
		n -= k
	}
}

// overwriteLast prints a character in the last column while automatic wrap (DECAWM) is off. It
// drops a wide character, because the last column has no room for it.
func (c *Core) overwriteLast(lead cell, width int) {
	b := c.buf
	b.x = c.cols - 1
	if width == 1 {
		b.rows[b.y].write(b.x, lead, 1, 1, c.modes&modeInsert != 0)
		b.x = c.cols
	}
}

// write writes a cell n times, beginning at column x. If `width` is 2, write puts a filler, the cell for the right
// half, after each copy. If insertSpace is true, write first inserts space for all copies.
func (r *row) write(x int, lead cell, width, n int, insertSpace bool) {
	pen := cell{style: lead.style}
	if insertSpace {
		r.insert(x, n*width, pen)
	}
	r.blankHalves(x, pen)
	r.blankHalves(x+n*width, pen)
	cells := r.cellsToOverwrite(x, n*width)
	for i := 0; i < len(cells); i += width {
		cells[i] = lead
		if width == 2 {
			cells[i+1] = cell{filler, lead.style}
		}
	}
	r.readBy = 0
}

// These are the limits for slow sequences. Some sequences touch each cell of many rows, and take a thousand
// times as long as other sequences of the same length. They are SL, SR, DECIC, DECDC, DECSED on a full screen,
// and REP for more than freeRepeats cells.
//
// The slow sequences share an allowance, in cells. Each byte of output increases the allowance. A sequence that
// needs more than the allowance is ignored. On a screen of 120x40, a full allowance lasts for 430 slow
// sequences in a row. After that, every 300 bytes of output allow one more. No known program comes near this
// limit.
const (
	maxAllowance     = 2 << 20 // number of cells; the emulator moves this many cells in about 10 ms
	allowancePerByte = 16
	freeRepeats      = 128 // number of cells that one REP can print without using the allowance
	scrollCost       = 32  // number of cells that one scroll costs
	protectionCost   = 8   // cost in cells of checking one cell for protection
)

// spendAllowance subtracts a number of cells from the allowance and returns true. If the allowance
// is too small, it changes nothing and returns false.
func (c *Core) spendAllowance(cells int) bool {
	c.growAllowance()
	if cells > c.allowance {
		return false
	}
	c.allowance -= cells
	return true
}

// growAllowance increases the allowance for the bytes of output since the previous call.
func (c *Core) growAllowance() {
	c.allowance = min(c.allowance+min(c.bytesTaken-c.allowanceGrownAt, maxAllowance)*allowancePerByte, maxAllowance)
	c.allowanceGrownAt = c.bytesTaken
}
