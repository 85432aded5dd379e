package pty

// buffer is the normal screen or the alternate screen.
type buffer struct {
	rows []*row
	// x and y are the place of the cursor. x is the number of columns while a wrap is pending, which means that
	// the next character begins a new row.
	x, y        int
	top, bottom int // first and last row of the scroll region
	saved       saved
	keyboard    []uint8 // kitty keyboard flags; the last element applies

	// `above` and `below` are the rows that a smaller screen size hides. They are shown again when the screen
	// becomes larger. On the normal screen, `above` is empty, because rows above the screen go into the history.
	above, below []*row

	moved [2]int // the next Changed compares the rows moved[0] to moved[1]-1, even those that were not written
	turn  []*row // reused memory for the rows that a shift moves to the other end
}

// saved is the cursor state that DECSC saves.
type saved struct {
	x, y    int
	pen     style
	charset byte
	origin  bool
}

func newBuffer(cols, rows int) buffer {
	b := buffer{rows: make([]*row, rows)}
	all := make([]row, rows) // one allocation for all rows
	for y := range b.rows {
		b.rows[y] = &all[y]
		b.rows[y].cols = cols
	}
	b.reset()
	return b
}

// reset returns b to the state of a new buffer. It makes all rows blank, but keeps their memory.
func (b *buffer) reset() {
	for _, r := range b.rows {
		r.clear(cell{})
	}
	*b = buffer{rows: b.rows, bottom: len(b.rows) - 1, saved: saved{charset: 'B'}, moved: [2]int{0, len(b.rows)},
		turn: b.turn}
}

// markChanged makes the next call of Changed compare the rows from y to end-1.
func (b *buffer) markChanged(y, end int) {
	if b.moved[0] == b.moved[1] {
		b.moved = [2]int{y, end}
	}
	b.moved = [2]int{min(b.moved[0], y), max(b.moved[1], end)}
}

// shiftUp moves the rows from topRow to bottomRow up by n rows. The last n of these rows become
// blank.
func (b *buffer) shiftUp(topRow, bottomRow, n int, blank cell) {
	n = min(n, bottomRow-topRow+1)
	b.turn = append(b.turn[:0], b.rows[topRow:topRow+n]...)
	copy(b.rows[topRow:], b.rows[topRow+n:bottomRow+1])
	for i, r := range b.turn {
		r.clear(blank)
		b.rows[bottomRow-n+1+i] = r
	}
	b.markChanged(topRow, bottomRow+1)
}

// shiftDown moves the rows from topRow to bottomRow down by n rows. The first n of these rows
// become blank.
func (b *buffer) shiftDown(topRow, bottomRow, n int, blank cell) {
	n = min(n, bottomRow-topRow+1)
	b.turn = append(b.turn[:0], b.rows[bottomRow-n+1:bottomRow+1]...)
	copy(b.rows[topRow+n:bottomRow+1], b.rows[topRow:])
	for i, r := range b.turn {
		r.clear(blank)
		b.rows[topRow+i] = r
	}
	b.markChanged(topRow, bottomRow+1)
}

// scrollUp moves the rows of the scroll region up by n rows. If keepsHistory returns true, the rows
// that scroll off become history.
func (c *Core) scrollUp(n int) {
	b := c.buf
	n = min(n, b.bottom-b.top+1)
	if c.keepsHistory() {
		c.appendHistory(b.rows[:n])
	}
	b.shiftUp(b.top, b.bottom, n, blankIn(c.pen))
}

// keepsHistory reports whether rows that scroll off become history. They do on the normal screen,
// if the scroll region begins at the top of the screen.
func (c *Core) keepsHistory() bool {
	return c.buf.top == 0 && c.buf == &c.main
}

// appendHistory appends rows to the history.
func (c *Core) appendHistory(rows []*row) {
	for i := 0; i < len(rows); {
		first, times := rows[i], 1
		for i+times < len(rows) && rows[i+times].looksLike(first) {
			times++
		}
		c.line = c.appendRow(c.line[:0], first)
		c.history.push(c.line, times)
		i += times
	}
	if cap(c.line) > maxNoticeText {
		c.line = nil
	}
}

// index moves the cursor down one row. If the cursor is at the bottom of the scroll
// region, index scrolls the region up instead.
func (c *Core) index() {
	b := c.buf
	switch {
	case b.y == b.bottom:
		c.scrollUp(1)
	case b.y < c.rows-1:
		b.y++
	}
}

// reverseIndex moves the cursor up one row. If the cursor is at the top of the scroll
// region, reverseIndex scrolls the region down instead.
func (c *Core) reverseIndex() {
	b := c.buf
	c.endPendingWrap()
	switch {
	case b.y == b.top:
		b.shiftDown(b.top, b.bottom, 1, blankIn(c.pen))
	case b.y > 0:
		b.y--
	}
}

func (c *Core) lineFeed() {
	if c.modes&modeNewline != 0 {
		c.buf.x = 0
	}
	moved := c.buf.y != c.buf.bottom && c.buf.y < c.rows-1
	c.index()
	if moved {
		c.buf.rows[c.buf.y].wrapped = false
	}
	c.endPendingWrap()
}

// endPendingWrap cancels a pending wrap: it moves the cursor back to the last column.
func (c *Core) endPendingWrap() {
	c.buf.x = min(c.buf.x, c.cols-1)
}

// moveTo moves the cursor to x, y. In origin mode, y is relative to the first row of
// the scroll region.
func (c *Core) moveTo(x, y int) {
	if c.modes&modeOrigin != 0 {
		c.buf.x = min(max(x, 0), c.cols-1)
		c.buf.y = min(max(y+c.buf.top, c.buf.top), c.buf.bottom)
		return
	}
	c.putCursor(x, y)
}

// putCursor moves the cursor to x, y. It ignores origin mode.
func (c *Core) putCursor(x, y int) {
	c.buf.x = min(max(x, 0), c.cols-1)
	c.buf.y = min(max(y, 0), c.rows-1)
}

// moveUp and moveDown move the cursor by n rows. A cursor inside the scroll region stops at the
// edge of the region.
func (c *Core) moveUp(n int) {
	limit := 0
	if c.buf.y >= c.buf.top {
		limit = c.buf.top
	}
	c.putCursor(c.buf.x, max(c.buf.y-n, limit))
}

func (c *Core) moveDown(n int) {
	limit := c.rows - 1
	if c.buf.y <= c.buf.bottom {
		limit = c.buf.bottom
	}
	c.putCursor(c.buf.x, min(c.buf.y+n, limit))
}

// backspace moves the cursor one cell left. In reverse wrap mode, it can also move the cursor from the first
// column to the end of the row above. It does so if the cursor's row continues the row above.
func (c *Core) backspace() {
	b := c.buf
	if c.modes&modeReverseWrap == 0 {
		c.endPendingWrap()
		b.x = max(b.x-1, 0)
		return
	}
	if b.x > 0 {
		b.x = min(b.x, c.cols) - 1
		return
	}
	if b.y > b.top && b.y <= b.bottom && b.rows[b.y].wrapped {
		b.rows[b.y].wrapped = false
		b.y--
		b.x = c.cols - 1
		if b.rows[b.y].at(b.x).ch == 0 { // the last column is free because a wide character had no room in it
			b.x--
		}
	}
}

// saveCursor executes DECSC (save cursor).
func (c *Core) saveCursor() {
	c.buf.saved = saved{c.buf.x, c.buf.y, c.pen, c.charsets[c.gl], c.modes&modeOrigin != 0}
}

// restoreCursor executes DECRC (restore cursor).
func (c *Core) restoreCursor() {
	s := c.buf.saved
	c.pen = s.pen
	c.charsets[c.gl] = s.charset
	c.modes.set(modeOrigin, s.origin)
	c.putCursor(s.x, s.y)
	if s.origin {
		c.buf.y = min(max(c.buf.y, c.buf.top), c.buf.bottom)
	}
}

// showAlt switches to the alternate screen, which is blank at first.
func (c *Core) showAlt() {
	if c.buf == &c.alt {
		return
	}
	if len(c.alt.rows) == c.rows && c.alt.rows[0].cols == c.cols {
		c.alt.reset()
	} else {
		c.alt = newBuffer(c.cols, c.rows)
	}
	if b := blankIn(c.pen); b != (cell{}) {
		for _, r := range c.alt.rows {
			r.clear(b)
		}
	}
	c.alt.x, c.alt.y = c.main.x, c.main.y
	c.buf = &c.alt
	c.modes |= modeAltScreen
}

// showMain switches back to the normal screen, and clears the alternate screen.
func (c *Core) showMain() {
	if c.buf == &c.main {
		return
	}
	c.main.x, c.main.y = c.alt.x, c.alt.y
	c.alt.reset()
	c.buf = &c.main
	c.modes &^= modeAltScreen
	c.main.markChanged(0, c.rows)
}
