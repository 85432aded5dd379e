package pty

import "coleo.dev/pty/width"

// control executes a C0 control character.
func (c *Core) control(b byte) {
	c.joining = width.State{}
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

// escape executes the sequence of ESC, the intermediate bytes and b.
func (c *Core) escape(b byte) {
	c.joining = width.State{}
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
		c.endPendingWrap()
		c.index()
	case 'E':
		c.buf.x = 0
		c.index()
	case 'H':
		c.setTab(true)
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

// designate executes ESC with one intermediate byte, which selects a charset. The exception is ESC
// # 8 (DECALN), which fills the screen with the letter E.
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
	case '%': // selects UTF-8 or ISO 2022; UTF-8 is always on here
		c.gl, c.charsets[0] = 0, 'B'
	case '#':
		if b == '8' {
			for _, r := range c.buf.rows {
				r.clear(cell{'E', c.pen})
			}
			c.moveTo(0, 0)
		}
	}
}

// charset returns the charset that the byte selects, or 0 if the byte selects none. For national
// charsets it returns ASCII, because no known program uses them.
func charset(b byte) byte {
	switch b {
	case '0', 'A':
		return b
	case 'B', '4', 'C', '5', 'R', 'Q', 'K', 'Y', 'E', '6', 'Z', 'H', '7', '=':
		return 'B'
	}
	return 0
}

// csi executes the control sequence with the final byte b.
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

// plainCSI executes a CSI that has neither a prefix nor an intermediate byte.
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
		c.endPendingWrap()
		c.putCursor(c.buf.x+n, c.buf.y)
	case 'D':
		c.endPendingWrap()
		c.putCursor(c.buf.x-n, c.buf.y)
	case 'E':
		c.moveDown(n)
		c.buf.x = 0
	case 'F':
		c.moveUp(n)
		c.buf.x = 0
	case 'G', '`':
		c.putCursor(n-1, c.buf.y)
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
		c.eraseDisplay(c.arg(0, 0), false)
		return
	case 'K':
		c.eraseLine(c.arg(0, 0), false)
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
		c.endPendingWrap()
		buf.rows[buf.y].insert(buf.x, n, blank)
	case 'P':
		c.endPendingWrap()
		buf.rows[buf.y].remove(buf.x, n, blank)
	case 'X':
		c.endPendingWrap()
		buf.rows[buf.y].fill(buf.x, buf.x+n, blank)
	case 'L', 'M':
		c.endPendingWrap()
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

// privateCSI executes a CSI that has one of the prefixes < = > ?
func (c *Core) privateCSI(prefix, b byte) {
	switch prefix {
	case '?':
		switch b {
		case 'h', 'l':
			c.setPrivateModes(b == 'h')
		case 'J':
			c.eraseDisplay(c.arg(0, 0), true)
		case 'K':
			c.eraseLine(c.arg(0, 0), true)
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

// spacedCSI executes a CSI that has one intermediate byte.
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

// shiftColumns inserts or removes n columns at column x, in the rows of the scroll region.
func (c *Core) shiftColumns(x, n int, shift func(r *row, x, n int, b cell)) {
	b, blank := c.buf, blankIn(c.pen)
	x = min(x, c.cols-1)
	if b.y < b.top || b.y > b.bottom {
		return
	}
	for _, r := range b.rows[b.top : b.bottom+1] {
		if x < len(r.cells) || r.rest != blank {
			if !c.spendAllowance(c.cols - x) {
				return
			}
			shift(r, x, n, blank)
		}
		r.wrapped = false
	}
}

// eraseDisplay executes ED, which erases parts of the screen. `param` is the parameter of the
// sequence. If `selective` is true, it executes DECSED, which does not erase protected cells.
func (c *Core) eraseDisplay(param int, selective bool) {
	b := c.buf
	switch param {
	case 0:
		c.eraseLine(0, selective)
		c.eraseRows(b.y+1, c.rows, selective)
		b.below = nil
	case 1:
		c.eraseRows(0, b.y, selective)
		c.eraseLine(1, selective)
		b.rows[b.y].wrapped = false
		if b.x+1 >= c.cols && b.y+1 < c.rows {
			b.rows[b.y+1].wrapped = false
		}
		b.above = nil
	case 2:
		c.eraseRows(0, c.rows, selective)
		b.above, b.below = nil, nil
	case 3:
		if b == &c.main {
			c.history.clear()
		}
	}
}

func (c *Core) eraseRows(y, end int, selective bool) {
	blank := blankIn(c.pen)
	for _, r := range c.buf.rows[min(y, end):end] {
		switch {
		case !selective:
			r.clear(blank)
		case len(r.cells) == 0 && r.rest == blank: // the row is already blank
			r.beforeNarrowing = nil
		case !c.spendAllowance(len(r.cells) * protectionCost):
			return
		default:
			r.fillUnprotected(0, c.cols, blank)
		}
		r.wrapped = false
	}
}

// eraseLine executes EL, which erases parts of the cursor's row. `param` is the parameter of the
// sequence. If `selective` is true, it executes DECSEL, which does not erase protected cells.
func (c *Core) eraseLine(param int, selective bool) {
	b := c.buf
	r, blank, fill := b.rows[b.y], blankIn(c.pen), (*row).fill
	if selective {
		fill = (*row).fillUnprotected
	}
	switch param {
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

// setRegion executes DECSTBM, which sets the scroll region. Row numbers begin at 1.
func (c *Core) setRegion(top, bottom int) {
	bottom = min(bottom, c.rows)
	if top >= bottom {
		return
	}
	c.buf.top, c.buf.bottom = top-1, bottom-1
	c.moveTo(0, 0)
}

// verticalMove executes VPR, which moves the cursor down n rows. In origin mode, the
// cursor stops at the bottom of the scroll region.
func (c *Core) verticalMove(n int) {
	y := c.buf.y + n
	if c.modes&modeOrigin != 0 {
		y = min(y, c.buf.bottom)
	}
	c.putCursor(c.buf.x, y)
}
