package pty

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// maxReplies limits the total size of the replies that wait for a call of Replies, in bytes. A
// reply that would exceed the limit is dropped.
const maxReplies = 64 << 10

// The terminal identifies itself with these replies.
const (
	deviceAttributes    = "\x1b[?1;2c"            // a VT100 with advanced video, as in xterm.js
	secondaryAttributes = "\x1b[>0;276;0c"        // as in xterm.js
	version             = "\x1bP>|coleo(1)\x1b\\" // XTVERSION
)

// These are the colors in the replies to OSC 10 to 12. The colors of the user's terminal are
// unknown, and often no user has a terminal open. Most agent CLIs assume a dark background, so
// these colors are those of a dark terminal.
const (
	foreground = 0xd4d4d4
	background = 0x1e1e1e
)

func (c *Core) reply(s string) {
	if len(c.replies)+len(s) <= maxReplies {
		c.replies = append(c.replies, s...)
	}
}

func (c *Core) replyf(format string, args ...any) {
	c.reply(fmt.Sprintf(format, args...))
}

// query answers DA1 (CSI c), DSR (CSI n) and XTWINOPS (CSI t).
func (c *Core) query(b byte) {
	n := c.arg(0, 0)
	switch {
	case b == 'c' && n == 0:
		c.reply(deviceAttributes)
	case b == 'n' && n == 5:
		c.reply("\x1b[0n")
	case b == 'n' && n == 6:
		x, y := c.reportedCursor()
		c.replyf("\x1b[%d;%dR", y, x)
	case b == 't':
		c.window(n)
	}
}

// reportedCursor returns the position of the cursor as CPR reports it. The first row and the first
// column have the number 1. In origin mode, the first row is the top of the scroll region.
func (c *Core) reportedCursor() (x, y int) {
	x, y = min(c.buf.x, c.cols-1)+1, c.buf.y+1
	if c.modes&modeOrigin != 0 {
		y -= c.buf.top
	}
	return x, y
}

// maxTitles is the largest number of saved titles. xterm has the same limit.
const maxTitles = 10

// window executes XTWINOPS. It answers queries for sizes, and saves and restores the title. It does
// not answer queries for the title. A program can set any title, so the reply would type the
// program's own text into the terminal.
func (c *Core) window(n int) {
	switch n {
	case 14, 15:
		c.replyf("\x1b[%d;%d;%dt", n-10, c.rows*CellHeight, c.cols*CellWidth)
	case 16:
		c.replyf("\x1b[6;%d;%dt", CellHeight, CellWidth)
	case 18, 19:
		c.replyf("\x1b[%d;%d;%dt", n-10, c.rows, c.cols)
	case 22:
		if c.arg(1, 0) != 1 {
			if len(c.titles) >= maxTitles {
				c.titles = append(c.titles[:0], c.titles[1:]...)
			}
			c.titles = append(c.titles, c.title)
		}
	case 23:
		if last := len(c.titles) - 1; last >= 0 && c.arg(1, 0) != 1 {
			c.setTitle(c.titles[last])
			c.titles = c.titles[:last]
		}
	}
}

// privateQuery answers CSI ? n, which asks for the cursor or the color scheme, and CSI ? u, which
// asks for the kitty keyboard flags.
func (c *Core) privateQuery(b byte) {
	switch n := c.arg(0, 0); {
	case b == 'u':
		c.replyf("\x1b[?%du", c.buf.keyboardFlags())
	case n == 6:
		x, y := c.reportedCursor()
		c.replyf("\x1b[?%d;%dR", y, x)
	case n == 996: // the program asks whether the colors are dark or light
		c.reply("\x1b[?997;1n")
	}
}

// identify answers DA2 and XTVERSION, which ask for the type and the version of the terminal.
func (c *Core) identify(b byte) {
	switch {
	case c.arg(0, 0) != 0:
	case b == 'c':
		c.reply(secondaryAttributes)
	default:
		c.reply(version)
	}
}

// These are the states of a mode in the reply to DECRQM.
const (
	modeUnknown = iota
	modeSet1
	modeReset
	modeAlwaysSet
	modeAlwaysReset
)

// reportMode answers DECRQM, which asks for the state of a mode.
func (c *Core) reportMode(number int, ansi bool) {
	var state int
	if m := modeNumber(number, ansi); m != 0 {
		state = modeReset
		if c.modes&m != 0 {
			state = modeSet1
		}
	} else {
		state = fixedMode(number, ansi, c.buf == &c.alt)
	}
	mark := "?"
	if ansi {
		mark = ""
	}
	c.replyf("\x1b[%s%d;%d$y", mark, number, state)
}

// fixedMode returns the state of a mode that modeTable does not contain, as a value for the reply
// to DECRQM. onAlternate says whether the alternate screen is shown.
func fixedMode(number int, ansi, onAlternate bool) int {
	switch {
	case ansi && number == 2: // KAM: the keyboard is never locked
		return modeAlwaysReset
	case ansi && number == 12: // SRM: there is no local echo
		return modeAlwaysSet
	case ansi:
		return modeUnknown
	}
	switch number {
	case 8: // autorepeat
		return modeAlwaysSet
	case 67, 1005, 1015: // backarrow key, old mouse encodings
		return modeAlwaysReset
	case 12: // blinking cursor
		return modeReset
	case 1048:
		return modeSet1
	case 47, 1047:
		if onAlternate {
			return modeSet1
		}
		return modeReset
	}
	return modeUnknown
}

// reportPalette answers OSC 4, which asks for palette colors. The text is a list of pairs of an
// index and "?". reportPalette ignores pairs without "?", which would set a color.
func (c *Core) reportPalette(text string) {
	for {
		index, rest, ok := strings.Cut(text, ";")
		spec, rest, more := strings.Cut(rest, ";")
		if n, err := strconv.ParseUint(index, 10, 8); ok && err == nil && spec == "?" {
			c.reply("\x1b]4;" + index + ";" + rgb(paletteColour(int(n))) + c.terminator())
		}
		if !more {
			return
		}
		text = rest
	}
}

// reportColours answers OSC 10, 11 and 12, which ask for the default colors. The first field of the
// text is for the given OSC number, and each further field for the next number.
func (c *Core) reportColours(number int, text string) {
	for spec := range strings.SplitSeq(text, ";") {
		if number > 12 {
			return
		}
		if spec == "?" {
			colour := foreground
			if number == 11 {
				colour = background
			}
			c.replyf("\x1b]%d;%s%s", number, rgb(colour), c.terminator())
		}
		number++
	}
}

// terminator returns the end of a reply to an OSC query. As in xterm, the reply ends as the query
// does: with BEL or with ST.
func (c *Core) terminator() string {
	if c.bell {
		return "\a"
	}
	return "\x1b\\"
}

func rgb(colour int) string {
	r, g, b := colour>>16&0xff, colour>>8&0xff, colour&0xff
	return fmt.Sprintf("rgb:%02x%02x/%02x%02x/%02x%02x", r, r, g, g, b, b)
}

// paletteColour returns the RGB value of color n of xterm's 256 colors.
func paletteColour(n int) int {
	basic := [16]int{
		0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
		0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
	}
	step := func(i int) int { // brightness of step i of the 6x6x6 color cube
		if i == 0 {
			return 0
		}
		return 55 + 40*i
	}
	switch {
	case n < 16:
		return basic[n]
	case n < 232:
		n -= 16
		return step(n/36)<<16 | step(n/6%6)<<8 | step(n%6)
	}
	return (8 + 10*(n-232)) * 0x010101
}

// deviceControl answers DECRQSS (DCS $ q), which asks for a setting, and XTGETTCAP (DCS + q), which
// asks for capabilities of the terminal.
func (c *Core) deviceControl(final byte, data []byte) {
	if final != 'q' || c.inters != 1 {
		return
	}
	switch c.inter[0] {
	case '$':
		c.reportSetting(string(data))
	case '+':
		for name := range strings.SplitSeq(string(data), ";") {
			if _, err := hex.DecodeString(name); err == nil {
				c.reply("\x1bP0+r" + name + "\x1b\\") // this reply says that the terminal lacks the capability
			}
		}
	}
}

func (c *Core) reportSetting(name string) {
	switch name {
	case "r":
		c.replyf("\x1bP1$r%d;%dr\x1b\\", c.buf.top+1, c.buf.bottom+1)
	case `"p`:
		c.reply("\x1bP1$r61;1\"p\x1b\\")
	case `"q`:
		protected := 0
		if c.pen.attr&attrProtected != 0 {
			protected = 1
		}
		c.replyf("\x1bP1$r%d\"q\x1b\\", protected)
	default:
		c.reply("\x1bP0$r\x1b\\")
	}
}
