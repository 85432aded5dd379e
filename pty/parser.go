package pty

import "coleo.dev/pty/width"

// parseState says which part of an escape sequence the parser is in. The states are those of Paul
// Williams' VT500 parser, except that CSI and DCS share the states for parameters.
type parseState uint8

const (
	ground parseState = iota
	escape
	escapeMore // after ESC and an intermediate byte
	params     // in the parameters of CSI or DCS
	paramsMore // in CSI or DCS, after an intermediate byte
	paramsSkip // in a malformed CSI or DCS, which is ignored up to its final byte
	oscText
	dcsText
	skipText // in SOS, PM, APC, or an unsupported DCS
)

const (
	maxParams = 32
	maxParam  = 65535    // a larger parameter becomes 65535, as in real terminals
	maxString = 64 << 10 // bytes of an OSC or DCS; a longer OSC or DCS is ignored
	maxInter  = 2        // number of intermediate bytes that are kept
)

// A parser contains what the emulator remembers between two bytes of output, such as an incomplete
// character or sequence.
type parser struct {
	state parseState

	// The following fields describe an incomplete UTF-8 character.
	need uint8 // number of missing bytes
	low  rune  // smallest character whose UTF-8 form is as long as the incomplete one
	char rune

	// The following fields describe a CSI or DCS that is not complete yet.
	dcs    bool
	prefix byte // the byte < = > or ? before the parameters; 0 if there is none
	inter  [maxInter]byte
	inters int // number of intermediate bytes; if more than maxInter, the sequence is ignored
	param  [maxParams]int32
	given  int    // number of parameters that have begun
	subs   uint32 // bit i is set if param[i] came after a colon; such a parameter is -1 if omitted

	str     []byte // text of an OSC or DCS
	tooLong bool
	lastStr byte // last byte of an OSC, DCS, SOS, PM or APC, to recognize U+009C
	bell    bool // BEL ended the string
}

// Feed draws output of the program up to and including the byte that ends a synchronized update. It
// returns the number of bytes that it has read.
func (c *Core) Feed(p []byte) int {
	for i := 0; i < len(p); {
		if c.state == ground {
			n := c.printRun(p[i:])
			i += n
			c.bytesTaken += n
			if n > 0 {
				continue
			}
		}
		c.step(p[i])
		i++
		c.bytesTaken++
		if c.ended {
			c.ended = false
			return i
		}
	}
	return len(p)
}

// printRun prints the printable characters at the beginning of p: either only ASCII characters, or
// only complete characters of three bytes. Those include all of box drawing and most of CJK.
// printRun returns the number of bytes that it has printed.
func (c *Core) printRun(p []byte) int {
	if c.need > 0 {
		return 0
	}
	n := 0
	for n < len(p) && p[n]-' ' < 0x5f {
		n++
	}
	if n > 0 {
		c.printASCII(p[:n])
		return n
	}
	for n+2 < len(p) && p[n]&0xf0 == 0xe0 && p[n+1]&0xc0 == 0x80 && p[n+2]&0xc0 == 0x80 {
		c.character(rune(p[n]&0x0f)<<12|rune(p[n+1]&0x3f)<<6|rune(p[n+2]&0x3f), 0x800)
		n += 3
	}
	return n
}

// step handles one byte of output.
func (c *Core) step(b byte) {
	if b >= 0x80 {
		c.stepHigh(b)
		return
	}
	c.need = 0 // an incomplete UTF-8 character is dropped
	switch b {
	case 0x1b:
		c.endString(true)
		c.state, c.inters = escape, 0
		return
	case 0x18, 0x1a: // CAN and SUB abort any sequence
		c.endString(false)
		c.state, c.joining = ground, width.State{}
		return
	}
	switch c.state {
	case ground:
		switch {
		case b < ' ':
			c.control(b)
		case b < 0x7f: // printable ASCII comes here only if it follows an incomplete character
			c.printASCII([]byte{b})
		}
	case escape, escapeMore:
		c.stepEscape(b)
	case params, paramsMore, paramsSkip:
		c.stepParams(b)
	case oscText:
		if b == 0x07 {
			c.bell = true
			c.endString(true)
			c.state = ground
		} else if b >= ' ' {
			c.put(b)
		}
	case dcsText:
		if b != 0x7f {
			c.put(b)
		}
	case skipText:
		c.lastStr = b
	}
}

// stepHigh handles one byte of a character that is not ASCII.
func (c *Core) stepHigh(b byte) {
	if c.state >= oscText {
		if b == 0x9c && c.lastStr == 0xc2 { // the two bytes are U+009C (ST), and not the end of another character
			c.str = c.str[:max(len(c.str)-1, 0)]
			c.endString(true)
			c.state = ground
			return
		}
		c.put(b)
		return
	}
	switch {
	case b&0xc0 == 0x80 && c.need > 0:
		c.char = c.char<<6 | rune(b&0x3f)
		if c.need--; c.need == 0 {
			c.character(c.char, c.low)
		}
	case b&0xe0 == 0xc0:
		c.need, c.low, c.char = 1, 0x80, rune(b&0x1f)
	case b&0xf0 == 0xe0:
		c.need, c.low, c.char = 2, 0x800, rune(b&0x0f)
	case b&0xf8 == 0xf0:
		c.need, c.low, c.char = 3, 0x10000, rune(b&0x07)
	default:
		c.need = 0 // the byte is not UTF-8
	}
}

// character prints the character r, which had more than one byte in UTF-8. minRune is the smallest
// character that needs this number of bytes. character drops r if r is smaller than minRune,
// because UTF-8 then requires a shorter form. It also drops surrogates, byte order marks and values
// beyond Unicode.
func (c *Core) character(r, minRune rune) {
	switch {
	case r < minRune || r > 0x10ffff || r == 0xfeff || r >= 0xd800 && r < 0xe000:
	case r < 0xa0:
		c.control8(r)
	case c.state == ground:
		c.print(r)
	case c.state != paramsSkip:
		c.state = ground // no sequence can contain this character, so the sequence ends here
	}
}

// control8 executes a C1 control. A C1 control is one character that means the same as ESC followed
// by another character.
func (c *Core) control8(r rune) {
	c.state, c.inters = escape, 0
	c.stepEscape(byte(r - 0x40))
}

// stepEscape handles one byte of a sequence that begins with ESC.
func (c *Core) stepEscape(b byte) {
	switch {
	case b < ' ':
		c.control(b)
	case b == 0x7f:
	case b < '0':
		c.collect(b)
		c.state = escapeMore
	case c.state == escapeMore:
		c.state = ground
		c.escape(b)
	case b == '[' || b == 'P':
		c.state, c.dcs, c.prefix, c.given, c.subs = params, b == 'P', 0, 0, 0
	case b == ']':
		c.startString(oscText)
	case b == 'X' || b == '^' || b == '_':
		c.startString(skipText)
	default:
		c.state = ground
		c.escape(b)
	}
}

func (c *Core) collect(b byte) {
	if c.inters < maxInter {
		c.inter[c.inters] = b
	}
	c.inters++
}

// stepParams handles one byte of a CSI or DCS, up to and including the final byte.
func (c *Core) stepParams(b byte) {
	switch {
	case b < ' ':
		if !c.dcs {
			c.control(b)
		}
	case b == 0x7f:
	case b >= '@':
		c.final(b)
	case c.state == paramsSkip:
	case b < '0':
		c.collect(b)
		c.state = paramsMore
	case c.state == paramsMore:
		c.state = paramsSkip
	case b <= '9':
		c.digit(int32(b - '0'))
	case b == ';' || b == ':':
		c.nextParam(b == ':')
	case c.given == 0 && c.prefix == 0:
		c.prefix = b
	default:
		c.state = paramsSkip
	}
}

func (c *Core) digit(d int32) {
	if c.given == 0 {
		c.given, c.param[0] = 1, 0
	}
	if c.given > maxParams {
		return
	}
	p := &c.param[c.given-1]
	*p = min(max(*p, 0)*10+d, maxParam)
}

func (c *Core) nextParam(sub bool) {
	if c.given == 0 {
		c.given, c.param[0] = 1, 0
	}
	if c.given >= maxParams {
		c.given = maxParams + 1 // ignore all further parameters
		return
	}
	c.param[c.given] = 0
	if sub {
		c.param[c.given] = -1
		c.subs |= 1 << c.given
	}
	c.given++
}

// count returns the number of parameters, which is at least 1. It does not count subparameters,
// which come after a colon.
func (c *Core) count() int {
	n := 1
	for i := 1; i < min(c.given, maxParams); i++ {
		if c.subs&(1<<i) == 0 {
			n++
		}
	}
	return n
}

// arg returns the parameter with index i. It does not count subparameters, which come after a colon. If the
// parameter is 0 or missing, arg returns `def`.
func (c *Core) arg(i, def int) int {
	at := i
	if c.subs != 0 {
		for at = 0; at < min(c.given, maxParams); at++ {
			if c.subs&(1<<at) != 0 {
				continue
			}
			if i == 0 {
				break
			}
			i--
		}
	}
	if at >= min(c.given, maxParams) || c.param[at] == 0 {
		return def
	}
	return int(c.param[at])
}

// final handles the final byte of a CSI or DCS.
func (c *Core) final(b byte) {
	skip := c.state == paramsSkip || c.inters > maxInter
	c.state = ground
	switch {
	case c.dcs && skip:
		c.startString(skipText)
	case c.dcs:
		c.startString(dcsText)
		c.prefix = b // no supported DCS has a prefix, so the field can hold the final byte
	case !skip:
		c.csi(b)
		c.joining = width.State{}
	}
}

func (c *Core) startString(s parseState) {
	c.state = s
	c.str, c.tooLong, c.lastStr, c.bell = c.str[:0], false, 0, false
}

func (c *Core) put(b byte) {
	c.lastStr = b
	if c.state == skipText {
		return
	}
	if len(c.str) >= maxString {
		c.tooLong = true
		return
	}
	c.str = append(c.str, b)
}

// endString ends an OSC or DCS, if one is open. It executes the OSC or DCS if isComplete is true.
// Otherwise the program has aborted the OSC or DCS, and endString drops it.
func (c *Core) endString(isComplete bool) {
	state := c.state
	if state != oscText && state != dcsText {
		return
	}
	c.joining = width.State{}
	if isComplete && !c.tooLong {
		if state == oscText {
			c.osc(c.str)
		} else {
			c.deviceControl(c.prefix, c.str)
		}
	}
	if cap(c.str) > maxNoticeText {
		c.str = nil
	}
}
