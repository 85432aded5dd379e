package pty

// graphics executes SGR, which sets the style of the characters that are printed next.
func (c *Core) graphics() {
	n := min(c.given, maxParams)
	if n == 0 {
		c.resetPen()
		return
	}
	for i := 0; i < n; i++ {
		subs := 0
		for i+subs+1 < n && c.subs&(1<<(i+subs+1)) != 0 {
			subs++
		}
		i += c.rendition(i, subs)
	}
}

// resetPen executes SGR 0. It keeps the link. It ends protection as xterm.js does, although DEC's
// terminals do not.
func (c *Core) resetPen() {
	c.pen = style{link: c.pen.link}
}

// rendition applies the SGR parameter with index i. The argument `subs` is the number of its
// subparameters. rendition returns how many of the following parameters and subparameters belong to
// it.
func (c *Core) rendition(i, subs int) int {
	switch p := c.param[i]; {
	case p == 38 || p == 48 || p == 58:
		return c.extendedColour(i, subs)
	case p == 4 && subs > 0:
		c.setAttr(attrUnderline, c.param[i+1] != 0)
	case p == 0:
		c.resetPen()
	case p < 30 || p >= 50:
		c.attribute(p)
		if p >= 90 && p <= 97 {
			c.pen.fg = colourIndex | uint32(p-90+8)
		}
		if p >= 100 && p <= 107 {
			c.pen.bg = colourIndex | uint32(p-100+8)
		}
	case p == 39:
		c.pen.fg = 0
	case p == 49:
		c.pen.bg = 0
	case p < 40:
		c.pen.fg = colourIndex | uint32(p-30)
	default:
		c.pen.bg = colourIndex | uint32(p-40)
	}
	return subs
}

func (c *Core) setAttr(a uint16, on bool) {
	c.pen.attr &^= a
	if on {
		c.pen.attr |= a
	}
}

func (c *Core) attribute(p int32) {
	switch p {
	case 1:
		c.setAttr(attrBold, true)
	case 2:
		c.setAttr(attrFaint, true)
	case 3, 23:
		c.setAttr(attrItalic, p == 3)
	case 4, 21, 24:
		c.setAttr(attrUnderline, p != 24)
	case 5, 25:
		c.setAttr(attrBlink, p == 5)
	case 7, 27:
		c.setAttr(attrInverse, p == 7)
	case 8, 28:
		c.setAttr(attrHidden, p == 8)
	case 9, 29:
		c.setAttr(attrStruck, p == 9)
	case 22:
		c.setAttr(attrBold|attrFaint, false)
	case 53, 55:
		c.setAttr(attrOverline, p == 53)
	}
}

// extendedColour executes SGR 38, 48 and 58 at the parameter with index i. It accepts colors with
// colons (38:2::r:g:b, 38:2:r:g:b, 38:5:n) and with semicolons (38;2;r;g;b, 38;5;n). It returns how
// many further parameters and subparameters the color has used.
func (c *Core) extendedColour(i, subs int) int {
	var v [6]int32 // the kind of color, and its values
	given := v[:copy(v[:], c.param[i+1:min(c.given, maxParams)])]
	used := subs
	if subs > 0 {
		given = given[:min(subs, len(given))]
		if len(given) > 4 && given[0] == 2 {
			copy(given[1:], given[2:]) // skip the color space, which most programs omit
		}
	}
	var colour uint32
	most := 0 // largest number of parameters that a color of this kind has, including the kind
	switch v[0] {
	case 2:
		colour, most = colourRGB|channel(v[1])<<16|channel(v[2])<<8|channel(v[3]), 4
	case 5:
		colour, most = colourIndex|channel(v[1]), 2
	default:
		return used
	}
	if subs == 0 {
		used = min(len(given), most)
	}
	switch c.param[i] {
	case 38:
		c.pen.fg = colour
	case 48:
		c.pen.bg = colour
	}
	return used
}

func channel(v int32) uint32 {
	return uint32(max(v, 0)) & 0xff
}
