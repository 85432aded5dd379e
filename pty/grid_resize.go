package pty

// Resize changes the size of the screen in cells.
//
// On the normal screen, Resize wraps the lines again for the new width, as xterm.js does. Rows at
// the top that no longer fit go into the history. They return to the screen when there is room for
// them.
//
// On the alternate screen, Resize hides the part that does not fit. If the screen grows before the
// program erases the hidden part, Resize shows that part again.
func (c *Core) Resize(cols, rows int) {
	cols, rows = ClampSize(cols, rows)
	if cols == c.cols && rows == c.rows {
		return
	}
	for _, b := range []*buffer{&c.main, &c.alt} {
		for _, r := range b.rows {
			r.allCells()
		}
	}
	if c.buf == &c.main {
		c.alt = buffer{}
	}
	if cols != c.cols {
		c.reflow(cols)
		c.alt.setColumns(cols)
	}
	c.cols, c.rows = cols, rows
	c.fitRows(&c.main)
	if c.buf == &c.alt {
		c.fitRows(&c.alt)
	}
	c.growTabs()
	c.last.rows = nil
}

// fitRows gives the buffer as many rows as the screen has, and keeps the cursor on the screen.
func (c *Core) fitRows(b *buffer) {
	for len(b.rows) > c.rows && b.y < len(b.rows)-1 && b.rows[len(b.rows)-1].usedCells() == 0 {
		b.rows = b.rows[:len(b.rows)-1]
	}
	for len(b.rows) > c.rows && b.y > 0 {
		c.removeTopRow(b)
	}
	if extra := len(b.rows) - c.rows; extra > 0 {
		hidden := append([]*row(nil), b.rows[c.rows:]...)
		b.below = bounded(append(hidden, b.below...))
		b.rows = b.rows[:c.rows]
	}
	for len(b.rows) < c.rows && len(b.below) > 0 {
		b.rows = append(b.rows, b.below[0].resized(c.cols))
		b.below = b.below[1:]
	}
	for shown := true; shown && len(b.rows) < c.rows; {
		shown = c.restoreTopRow(b)
	}
	for len(b.rows) < c.rows {
		b.rows = append(b.rows, newRow(c.cols))
	}
	b.rows = append([]*row(nil), b.rows...) // frees the memory of dropped rows
	b.x, b.y = min(b.x, c.cols), min(max(b.y, 0), c.rows-1)
	b.saved.x, b.saved.y = min(b.saved.x, c.cols-1), min(b.saved.y, c.rows-1)
	b.top, b.bottom = 0, c.rows-1
	b.markChanged(0, c.rows)
}

// bounded returns at most the first maxSize rows, because a screen cannot have more.
func bounded(rows []*row) []*row {
	return rows[:min(len(rows), maxSize)]
}

// removeTopRow removes the top row of a buffer. A row of the normal screen goes into the history,
// and a row of the alternate screen into b.above.
func (c *Core) removeTopRow(b *buffer) {
	if b == &c.main {
		c.appendHistory(b.rows[:1])
	} else {
		b.above = append(b.above, b.rows[0])
		b.above = b.above[max(len(b.above)-maxSize, 0):]
	}
	b.rows = b.rows[1:]
	b.y--
	b.saved.y = max(b.saved.y-1, 0)
}

// restoreTopRow puts the most recently removed row back above the top row. It returns false if
// there is no removed row, or if the removed text does not fit into one row.
//
// On the normal screen, it also returns false if there are rows below the cursor, as in xterm. A
// program that has drawn rows below the cursor expects new rows at the bottom.
func (c *Core) restoreTopRow(b *buffer) bool {
	var top *row
	if b != &c.main {
		if len(b.above) == 0 {
			return false
		}
		last := len(b.above) - 1
		top, b.above = b.above[last].resized(c.cols), b.above[:last]
	} else {
		if b.y < len(b.rows)-1 {
			return false
		}
		text, ok := c.history.pop()
		if !ok {
			return false
		}
		if top, ok = c.rowOf(text); !ok {
			c.history.push([]byte(text), 1)
			return false
		}
	}
	b.rows = append([]*row{top}, b.rows...)
	b.y++
	b.saved.y++
	return true
}

// rowOf returns a row that is as wide as the screen and contains the given text. It returns false
// if the text does not fit into one row.
func (c *Core) rowOf(text string) (*row, bool) {
	line := New(c.cols, 1) // line has its own table of clusters, so its clusters are copied below
	_, _ = line.Write([]byte(text))
	if line.history.lines > 0 {
		return nil, false
	}
	r := line.buf.rows[0]
	cells := r.allCells()
	for i := range cells {
		if ch := cells[i].ch; ch&cluster != 0 {
			// Do not call clusterID: it drops the clusters that no row of the screen uses, and so those of this row.
			cells[i].ch = ch&wide | cluster | c.clusters.id(line.clusters.at(ch&charMask))
		}
	}
	return r, true
}

// resized returns a copy of r with `cols` cells. It hides the cells that do not fit into a narrower
// copy, and shows hidden cells again in a wider copy.
func (r *row) resized(cols int) *row {
	all := r.allCells()
	if r.beforeNarrowing != nil {
		r.mergeHiddenCells()
		all = r.beforeNarrowing
	}
	out := &row{cols: cols, cells: make([]cell, cols), wrapped: r.wrapped}
	copy(out.cells, all)
	if len(all) > cols {
		out.beforeNarrowing = all
		if last := &out.cells[cols-1]; last.ch&wide != 0 {
			*last = cell{}
		}
	}
	return out
}

// mergeHiddenCells updates r.beforeNarrowing, which contains the cells from before the row was made
// narrower. It copies the row's visible cells over the cells at the same columns.
func (r *row) mergeHiddenCells() {
	shown := len(r.cells)
	edge := r.beforeNarrowing[shown-1]
	copy(r.beforeNarrowing, r.cells)
	if last := &r.beforeNarrowing[shown-1]; shown < len(r.beforeNarrowing) && r.beforeNarrowing[shown].ch&filler != 0 {
		if last.ch == 0 { // the new edge cuts a wide character in two, and nothing has replaced its left half
			*last = edge
		} else {
			r.beforeNarrowing[shown] = cell{}
		}
	}
}

// setColumns gives each row of the buffer a new number of cells. Resize calls it for the alternate
// screen.
func (b *buffer) setColumns(cols int) {
	for y := range b.rows {
		b.rows[y] = b.rows[y].resized(cols)
	}
	b.x = min(b.x, cols-1)
}

// A textLine is a line of text as a program wrote it. A line that is longer than a row continues in the
// next rows.
type textLine struct {
	cells  []cell
	cursor int // the cursor's index in the field `cells`; -1 if the cursor is not in this line
}

// reflow wraps the lines of the normal screen for a width of cols cells.
func (c *Core) reflow(cols int) {
	b := &c.main
	spans := c.textLines(b)
	b.rows = b.rows[:0:0]
	for _, s := range spans {
		first := true
		for at := 0; first || at < len(s.cells); first = false {
			n := cut(s.cells[at:], cols)
			r := newRow(cols)
			r.wrapped = !first
			copy(r.allCells(), s.cells[at:at+n])
			last := at+n >= len(s.cells)
			if s.cursor >= at && (s.cursor < at+n || last) {
				b.x, b.y = min(s.cursor-at, cols), len(b.rows)
				if b.x == cols && r.cells[cols-1].ch == 0 {
					b.x-- // a wrap is pending only if the last column has text
				}
				s.cursor = -1
			}
			b.rows = append(b.rows, r)
			at += n
		}
	}
	for i := range b.below {
		b.below[i] = b.below[i].resized(cols)
	}
}

// textLines joins the rows of b that belong to one line of text.
func (c *Core) textLines(b *buffer) []textLine {
	var out []textLine
	for y := range b.rows {
		r := b.rows[y]
		if y == 0 || !r.wrapped {
			out = append(out, textLine{cursor: -1})
		}
		s := &out[len(out)-1]
		if y == b.y {
			s.cursor = len(s.cells) + b.x
		}
		n := r.usedCells()
		if y+1 < len(b.rows) && b.rows[y+1].wrapped {
			n = len(r.cells)
			if r.cells[n-1].ch == 0 && b.rows[y+1].cells[0].ch&wide != 0 {
				n-- // the last column is free because a wide character had no room in it
			}
		}
		s.cells = append(s.cells, r.cells[:n]...)
	}
	return out
}

// cut returns how many of the cells fit into a row with the given number of columns. It never cuts
// a wide character in two.
func cut(cells []cell, cols int) int {
	n := min(len(cells), cols)
	if n < len(cells) && cells[n].ch&filler != 0 {
		n--
	}
	return n
}
