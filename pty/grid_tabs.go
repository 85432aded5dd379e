package pty

// tabWidth is the distance between the tab stops of a new terminal.
const tabWidth = 8

// growTabs sets the tab stops in the columns that a resize has added.
func (c *Core) growTabs() {
	for x := len(c.tabs); c.tabs != nil && x < c.cols; x++ {
		c.tabs = append(c.tabs, x%tabWidth == 0)
	}
}

// setTab sets or clears the tab stop at the cursor.
func (c *Core) setTab(on bool) {
	if c.tabs == nil {
		c.tabs = []bool{true}
		c.growTabs()
	}
	c.tabs[min(c.buf.x, c.cols-1)] = on
}

func (c *Core) isTab(x int) bool {
	if c.tabs == nil {
		return x%tabWidth == 0
	}
	return c.tabs[x]
}

func (c *Core) tab(n int) {
	if c.buf.x >= c.cols {
		return
	}
	for ; n > 0 && c.buf.x < c.cols-1; n-- {
		for c.buf.x++; c.buf.x < c.cols-1 && !c.isTab(c.buf.x); c.buf.x++ {
		}
	}
}

func (c *Core) backTab(n int) {
	if c.buf.x >= c.cols {
		return
	}
	for ; n > 0 && c.buf.x > 0; n-- {
		for c.buf.x--; c.buf.x > 0 && !c.isTab(c.buf.x); c.buf.x-- {
		}
	}
}

// clearTabs executes TBC (tab clear). The parameter 0 clears the tab stop at the cursor, and 3
// clears all tab stops. Any other parameter does nothing.
func (c *Core) clearTabs(parameter int) {
	switch parameter {
	case 0:
		c.setTab(false)
	case 3:
		c.tabs = make([]bool, c.cols)
	}
}
