package pty

// control executes a C0 control.
func (c *Core) control(b byte) {
	c.before = joinState{}
	switch b {
	case 0x07:
		c.notice(NoticeBell, "")
	case '\b':
		c.backspace()
	case '\t':
		c.tab(1)
	case '\n', '\v', '\f':
		c.lineFeed()
	case '\r':
		c.buf.x = 0
	case 0x0e: // SO
		c.gl = 1
	case 0x0f: // SI
		c.gl = 0
	}
}

// escape executes ESC, intermediate bytes and b.
func (c *Core) escape(b byte) {
	c.before = joinState{}
	switch c.inters {
	case 0:
		c.plainEscape(b)
	case 1:
		c.designate(c.inter[0], b)
	}
}

func (c *Core) plainEscape(b byte) {
	switch b {
	case '7':
		c.saveCursor()
	case '8':
		c.restoreCursor()
	case 'D':
		c.settle()
		c.index()
	case 'E':
		c.buf.x = 0
		c.index()
	case 'H':
		c.tabs[min(c.buf.x, c.cols-1)] = true
	case 'M':
		c.reverseIndex()
	case 'Z':
		c.reply(deviceAttributes)
	case 'c':
		c.reset()
	case 'n', '}':
		c.gl = 2
	case 'o', '|':
		c.gl = 3
	case '~':
		c.gl = 1
	case '=':
		c.modes |= modeAppKeypad
	case '>':
		c.modes &^= modeAppKeypad
	}
}

// designate selects a character set, or fills the screen with E (DECALN).
func (c *Core) designate(kind, b byte) {
	switch set := charset(b); kind {
	case '(', ')', '*', '+':
		if set != 0 {
			c.charsets[kind-'('] = set
		}
	case '-', '.':
		if set != 0 {
			c.charsets[kind-'-'+1] = set
		}
	case '%': // UTF-8 or not: always UTF-8 here
		c.gl, c.charsets[0] = 0, 'B'
	case '#':
		if b == '8' {
			for y := range c.buf.rows {
				c.buf.rows[y].clear(cell{'E', c.pen})
			}
			c.moveTo(0, 0)
		}
	}
}

// charset is the set that b designates; 0 if there is none. National sets are
// shown as ASCII: no program seen uses them.
func charset(b byte) byte {
	switch b {
	case '0', 'A':
		return b
	case 'B', '4', 'C', '5', 'R', 'Q', 'K', 'Y', 'E', '6', 'Z', 'H', '7', '=':
		return 'B'
	}
	return 0
}

// csi executes a control sequence.
func (c *Core) csi(b byte) {
	switch {
	case c.inters == 0 && c.prefix == 0:
		c.plainCSI(b)
	case c.inters == 0:
		c.privateCSI(c.prefix, b)
	case c.inters == 1 && c.prefix == 0:
		c.spacedCSI(c.inter[0], b)
	case c.inters == 1 && c.inter[0] == '$' && c.prefix == '?' && b == 'p':
		c.reportMode(c.arg(0, 0), false)
	}
}

// plainCSI executes CSI with neither a prefix nor an intermediate byte.
func (c *Core) plainCSI(b byte) {
	n := c.arg(0, 1)
	switch b {
	case 'm':
		c.graphics()
	case 'H', 'f':
		c.moveTo(c.arg(1, 1)-1, n-1)
	case 'A':
		c.moveUp(n)
	case 'B':
		c.moveDown(n)
	case 'C', 'a':
		c.settle()
		c.place(c.buf.x+n, c.buf.y)
	case 'D':
		c.settle()
		c.place(c.buf.x-n, c.buf.y)
	case 'E':
		c.moveDown(n)
		c.buf.x = 0
	case 'F':
		c.moveUp(n)
		c.buf.x = 0
	case 'G', '`':
		c.place(n-1, c.buf.y)
	case 'd':
		c.moveTo(c.buf.x, n-1)
	case 'e':
		c.verticalMove(n)
	case 'I':
		c.tab(n)
	case 'Z':
		c.backTab(n)
	case 'g':
		c.clearTabs(c.arg(0, 0))
	case 'b':
		c.repeat(n)
	case 'r':
		c.setRegion(n, c.arg(1, c.rows))
	case 's':
		c.saveCursor()
	case 'u':
		c.restoreCursor()
	case 'h', 'l':
		c.setModes(b == 'h')
	case 'c', 'n', 't':
		c.query(b)
	default:
		c.edit(b, n)
	}
}

// edit executes the control sequences that erase or shift cells.
func (c *Core) edit(b byte, n int) {
	buf, blank := c.buf, blankIn(c.pen)
	switch b {
	case 'J':
		c.eraseDisplay(c.arg(0, 0), (*row).fill)
		return
	case 'K':
		c.eraseLine(c.arg(0, 0), (*row).fill)
		return
	case 'S':
		c.scrollUp(n)
		return
	case 'T':
		buf.shiftDown(buf.top, buf.bottom, n, cell{})
		return
	}
	switch b {
	case '@':
		c.settle()
		buf.rows[buf.y].insert(buf.x, n, blank)
	case 'P':
		c.settle()
		buf.rows[buf.y].remove(buf.x, n, blank)
	case 'X':
		c.settle()
		buf.rows[buf.y].fill(buf.x, buf.x+n, blank)
	case 'L', 'M':
		c.settle()
		if buf.y < buf.top || buf.y > buf.bottom {
			return
		}
		if b == 'L' {
			buf.shiftDown(buf.y, buf.bottom, n, blank)
		} else {
			buf.shiftUp(buf.y, buf.bottom, n, blank)
		}
		buf.x = 0
	}
}

// privateCSI executes CSI with one of the prefixes < = > ?
func (c *Core) privateCSI(prefix, b byte) {
	switch prefix {
	case '?':
		switch b {
		case 'h', 'l':
			c.setPrivateModes(b == 'h')
		case 'J':
			c.eraseDisplay(c.arg(0, 0), (*row).fillUnprotected)
		case 'K':
			c.eraseLine(c.arg(0, 0), (*row).fillUnprotected)
		case 'n', 'u':
			c.privateQuery(b)
		}
	case '>':
		switch b {
		case 'c', 'q':
			c.identify(b)
		case 'u':
			c.pushKeyboard(c.arg(0, 0))
		}
	case '<':
		if b == 'u' {
			c.popKeyboard(c.arg(0, 1))
		}
	case '=':
		if b == 'u' {
			c.setKeyboard(c.arg(0, 0), c.arg(1, 1))
		}
	}
}

// spacedCSI executes CSI with one intermediate byte.
func (c *Core) spacedCSI(inter, b byte) {
	switch n := c.arg(0, 1); string([]byte{inter, b}) {
	case " @":
		c.shiftColumns(0, n, (*row).remove)
	case " A":
		c.shiftColumns(0, n, (*row).insert)
	case "'}":
		c.shiftColumns(c.buf.x, n, (*row).insert)
	case "'~":
		c.shiftColumns(c.buf.x, n, (*row).remove)
	case "!p":
		c.softReset()
		c.updateKeyboardMode()
	case "$p":
		c.reportMode(c.arg(0, 0), true)
	case `"q`:
		switch c.arg(0, 0) {
		case 1:
			c.pen.attr |= attrProtected
		case 0, 2:
			c.pen.attr &^= attrProtected
		}
	}
}

// shiftColumns inserts or removes n columns at x in the scroll region.
func (c *Core) shiftColumns(x, n int, shift func(r *row, x, n int, b cell)) {
	b := c.buf
	if b.y < b.top || b.y > b.bottom {
		return
	}
	for y := b.top; y <= b.bottom; y++ {
		shift(&b.rows[y], min(x, c.cols-1), n, blankIn(c.pen))
		b.rows[y].wrapped = false
	}
}

// eraseDisplay is ED and, with fillUnprotected, DECSED.
func (c *Core) eraseDisplay(what int, fill func(r *row, x, end int, b cell)) {
	b, blank := c.buf, blankIn(c.pen)
	rows := func(y, end int) {
		for ; y < end; y++ {
			fill(&b.rows[y], 0, c.cols, blank)
			b.rows[y].wrapped = false
		}
	}
	switch what {
	case 0:
		c.eraseLine(0, fill)
		rows(b.y+1, c.rows)
		b.below = nil
	case 1:
		rows(0, b.y)
		c.eraseLine(1, fill)
		b.rows[b.y].wrapped = false
		if b.x+1 >= c.cols && b.y+1 < c.rows {
			b.rows[b.y+1].wrapped = false
		}
		b.above = nil
	case 2:
		rows(0, c.rows)
		b.above, b.below = nil, nil
	case 3:
		if b == &c.main {
			c.history.clear()
		}
	}
}

// eraseLine is EL and, with fillUnprotected, DECSEL.
func (c *Core) eraseLine(what int, fill func(r *row, x, end int, b cell)) {
	b := c.buf
	r, blank := &b.rows[b.y], blankIn(c.pen)
	switch what {
	case 0:
		fill(r, b.x, c.cols, blank)
		if b.x == 0 {
			r.wrapped = false
		}
	case 1:
		fill(r, 0, min(b.x+1, c.cols), blank)
	case 2:
		fill(r, 0, c.cols, blank)
		r.wrapped = false
	}
}

// setRegion is DECSTBM; rows are counted from 1.
func (c *Core) setRegion(top, bottom int) {
	bottom = min(bottom, c.rows)
	if top >= bottom {
		return
	}
	c.buf.top, c.buf.bottom = top-1, bottom-1
	c.moveTo(0, 0)
}

// verticalMove is VPR, which the scroll region does not stop but in origin mode.
func (c *Core) verticalMove(n int) {
	y := c.buf.y + n
	if c.modes&modeOrigin != 0 {
		y = min(y, c.buf.bottom)
	}
	c.place(c.buf.x, y)
}

// tabWidth is the distance of tab stops at start.
const tabWidth = 8

// growTabs sets the tab stops of columns that are new.
func (c *Core) growTabs() {
	for x := len(c.tabs); x < c.cols; x++ {
		c.tabs = append(c.tabs, x%tabWidth == 0)
	}
}

func (c *Core) tab(n int) {
	if c.buf.x >= c.cols {
		return
	}
	for ; n > 0 && c.buf.x < c.cols-1; n-- {
		for c.buf.x++; c.buf.x < c.cols-1 && !c.tabs[c.buf.x]; c.buf.x++ {
		}
	}
}

func (c *Core) backTab(n int) {
	if c.buf.x >= c.cols {
		return
	}
	for ; n > 0 && c.buf.x > 0; n-- {
		for c.buf.x--; c.buf.x > 0 && !c.tabs[c.buf.x]; c.buf.x-- {
		}
	}
}

// clearTabs is TBC: 0 clears the stop at the cursor, 3 all.
func (c *Core) clearTabs(what int) {
	switch what {
	case 0:
		c.tabs[min(c.buf.x, c.cols-1)] = false
	case 3:
		clear(c.tabs)
	}
}
