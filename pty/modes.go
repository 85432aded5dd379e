package pty

// A modeSet has one bit for each Mode.
type modeSet uint32

const (
	modeCursorVisible modeSet = 1 << iota
	modeAppCursor
	modeAppKeypad
	modeInsert
	modeNewline
	modeOrigin
	modeWrap
	modeReverseWrap
	modeBracketedPaste
	modeFocus
	modeSynchronized
	modeGraphemes
	modeColourScheme
	modeMouseX10
	modeMouseClick
	modeMouseDrag
	modeMouseMotion
	modeMouseSGR
	modeMousePixels
	modeKittyKeyboard
	modeAltScreen
)

// These are groups of modes. If a program switches on one mode of a group, the others are switched
// off.
const (
	mouseEvents   = modeMouseX10 | modeMouseClick | modeMouseDrag | modeMouseMotion
	mouseEncoding = modeMouseSGR | modeMousePixels
)

const modesAtStart = modeCursorVisible | modeWrap

// modeTable lists the modes in the order of their bits. The sequences CSI ? NUMBER h and CSI ?
// NUMBER l switch a mode on and off. If the field `ansi` is true, the sequences are CSI NUMBER h and
// CSI NUMBER l. If the number is 0, other sequences switch the mode.
var modeTable = [...]struct {
	name   Mode
	number int
	ansi   bool
}{
	{"cursor_visible", 25, false},     // DECTCEM
	{"application_cursor", 1, false},  // DECCKM: arrow keys send SS3
	{"application_keypad", 66, false}, // DECNKM
	{"insert", 4, true},               // IRM
	{"newline", 20, true},             // LNM: a line feed also moves the cursor to the first column
	{"origin", 6, false},              // DECOM
	{"wrap", 7, false},                // DECAWM
	{"reverse_wrap", 45, false},
	{ModeBracketedPaste, 2004, false},
	{"focus", 1004, false},         // the program wants focus reports
	{"synchronized", 2026, false},  // a synchronized update is open
	{"graphemes", 2027, false},     // the program has asked for grapheme clusters; Core always draws them
	{"colour_scheme", 2031, false}, // the program wants dark/light reports
	{"mouse_x10", 9, false},
	{"mouse_click", 1000, false},
	{"mouse_drag", 1002, false},
	{"mouse_motion", 1003, false},
	{"mouse_sgr", 1006, false},
	{"mouse_pixels", 1016, false},
	{"kitty_keyboard", 0, false}, // CSI > u, CSI = u: keys can be sent as CSI u
	{"alt_screen", 1049, false},  // the modes 47, 1047 and 1049 all show the alternate screen
}

func (s *modeSet) set(m modeSet, on bool) {
	*s &^= m
	if on {
		*s |= m
	}
}

// names returns a map from the name of each mode to whether the mode is on.
func (s modeSet) names() map[string]bool {
	out := make(map[string]bool, len(modeTable))
	for i, m := range modeTable {
		out[string(m.name)] = s&(1<<i) != 0
	}
	return out
}

// modeNumber returns the mode with the given number, or 0 if there is none.
func modeNumber(number int, ansi bool) modeSet {
	for i, m := range modeTable {
		if number != 0 && m.number == number && m.ansi == ansi {
			return 1 << i
		}
	}
	return 0
}

// Mode reports whether m is on.
func (c *Core) Mode(m Mode) bool {
	for i := range modeTable {
		if modeTable[i].name == m {
			return c.modes&(1<<i) != 0
		}
	}
	return false
}

// setModes executes SM (CSI h) and RM (CSI l), which switch modes on and off.
func (c *Core) setModes(on bool) {
	for i := range c.count() {
		c.modes.set(modeNumber(c.arg(i, 0), true), on)
	}
}

// setPrivateModes executes DECSET (CSI ? h) and DECRST (CSI ? l), which switch private
// modes on and off.
func (c *Core) setPrivateModes(on bool) {
	for i := range c.count() {
		c.setPrivateMode(c.arg(i, 0), on)
	}
}

func (c *Core) setPrivateMode(number int, on bool) {
	switch number {
	case 2: // DECANM; the only effect here is that leaving VT52 mode resets the charsets
		if on {
			c.charsets = [4]byte{'B', 'B', 'B', 'B'}
		}
	case 47, 1047, 1048, 1049:
		c.setAltMode(number, on)
	case 2026:
		if on {
			if c.modes&modeSynchronized == 0 {
				c.frameCells = 0
			}
			c.modes |= modeSynchronized
		} else {
			c.endFrame()
		}
	default:
		m := modeNumber(number, false)
		if m&mouseEvents != 0 {
			c.modes &^= mouseEvents
		}
		if m&mouseEncoding != 0 {
			c.modes &^= mouseEncoding
		}
		c.modes.set(m, on)
		if m == modeOrigin {
			c.moveTo(0, 0)
		}
	}
}

// setAltMode executes the modes 47, 1047, 1048 and 1049. All except 1048 switch between the normal
// and the alternate screen. 1048 and 1049 save or restore the cursor.
func (c *Core) setAltMode(number int, on bool) {
	keepCursor := number == 1048 || number == 1049
	if on && keepCursor {
		c.saveCursor()
	}
	if number != 1048 {
		if on {
			c.showAlt()
		} else {
			c.showMain()
		}
		c.updateKeyboardMode()
	}
	if !on && keepCursor {
		c.restoreCursor()
	}
}

// maxKeyboard is the largest number of entries in the stack of kitty keyboard flags. kitty has the
// same limit.
const maxKeyboard = 8

// keyboardFlags returns the top of the stack of kitty keyboard flags, or 0 if the stack
// is empty.
func (b *buffer) keyboardFlags() uint8 {
	if len(b.keyboard) == 0 {
		return 0
	}
	return b.keyboard[len(b.keyboard)-1]
}

// pushKeyboard executes CSI > flags u: it pushes kitty keyboard flags.
func (c *Core) pushKeyboard(flags int) {
	b := c.buf
	if len(b.keyboard) >= maxKeyboard {
		b.keyboard = append(b.keyboard[:0], b.keyboard[1:]...)
	}
	b.keyboard = append(b.keyboard, uint8(flags&31))
	c.updateKeyboardMode()
}

// popKeyboard executes CSI < n u: it pops n entries from the stack of kitty keyboard flags.
func (c *Core) popKeyboard(n int) {
	b := c.buf
	b.keyboard = b.keyboard[:len(b.keyboard)-min(n, len(b.keyboard))]
	c.updateKeyboardMode()
}

// setKeyboard executes CSI = flags ; how u, which changes the kitty keyboard flags on top of the
// stack. If `how` is 1, it replaces these flags. If `how` is 2, it adds the given flags. If `how`
// is 3, it removes the given flags.
func (c *Core) setKeyboard(flags, how int) {
	b := c.buf
	if len(b.keyboard) == 0 {
		b.keyboard = append(b.keyboard, 0)
	}
	top := &b.keyboard[len(b.keyboard)-1]
	switch f := uint8(flags & 31); how {
	case 1:
		*top = f
	case 2:
		*top |= f
	case 3:
		*top &^= f
	}
	c.updateKeyboardMode()
}

func (c *Core) updateKeyboardMode() {
	c.modes.set(modeKittyKeyboard, c.buf.keyboardFlags() != 0)
}
