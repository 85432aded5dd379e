package pty

import (
	"bytes"
	"fmt"
	"strconv"

	"coleo.dev/pty/width"
)

// Paint returns output that makes a terminal of the same size look and behave like c. The terminal
// can be in any state before the output. The output sets the cells, the cursor, the title, the
// modes, the scroll region and the tab stops. If the alternate screen is shown, it also sets the
// normal screen.
//
// The output leaves out the history and an incomplete sequence (see Between). If a blank cell has
// more style than a background, the output contains a space with this style instead.
func (c *Core) Paint() []byte {
	p := &painter{c: c}
	p.out = append(p.out, "\x1bc"...)
	if c.title != "" {
		p.escape("\x1b]2;%s\a", c.title)
	}
	p.tabs()
	p.buffer(&c.main)
	if c.buf == &c.alt {
		p.escape("\x1b[?1047h")
		p.buffer(&c.alt)
	}
	p.finish()
	return p.out
}

// Between reports whether the output so far is complete. Incomplete output ends inside a character or a
// sequence.
func (c *Core) Between() bool { return c.state == ground && c.need == 0 }

// painter writes the output for Paint. Its fields describe a terminal that has read the output so
// far.
type painter struct {
	c       *Core
	out     []byte
	x, y    int
	pen     style
	joining width.State
}

// escape appends an escape sequence to the output.
func (p *painter) escape(format string, args ...any) {
	p.out = fmt.Appendf(p.out, format, args...)
	p.joining = width.State{}
}

// nowhere is the value of painter.x if the cursor's column is unknown. It is unknown after a
// character that another terminal may draw with another width.
const nowhere = -1

func (p *painter) moveTo(x, y int) {
	if p.x != x || p.y != y {
		p.escape("\x1b[%d;%dH", y+1, x+1)
		p.x, p.y = x, y
	}
}

// tabs sets the tab stops, unless they are those of a new terminal.
func (p *painter) tabs() {
	if p.c.tabs == nil {
		return
	}
	p.escape("\x1b[3g")
	for x := range p.c.cols {
		if p.c.tabs[x] {
			p.moveTo(x, 0)
			p.escape("\x1bH")
		}
	}
}

// buffer paints b on a terminal with an empty screen. It also sets the scroll region, the saved
// cursor and the keyboard flags.
func (p *painter) buffer(b *buffer) {
	p.x, p.y = -1, -1
	for y, r := range b.rows {
		p.row(y, r)
	}
	if b.top != 0 || b.bottom != p.c.rows-1 {
		p.escape("\x1b[%d;%dr", b.top+1, b.bottom+1)
	}
	p.x, p.y = -1, -1
	p.saveCursor(b)
	for _, flags := range b.keyboard {
		p.escape("\x1b[>%du", flags)
	}
	p.style(style{})
}

// row paints row y.
//
// If row y continues the row above, the terminal must wrap the text by itself, because it then records that the
// rows belong together. So row does not move the cursor if the painter has just filled the row above. The row
// above also counts as full if only its last column is free and row y begins with a wide character.
func (p *painter) row(y int, r *row) {
	full := p.x == p.c.cols || p.x == p.c.cols-1 && r.at(1).ch&filler != 0
	if r.wrapped && full && p.y == y-1 && r.at(0).ch != 0 {
		p.x, p.y = 0, y
	}
	for x := 0; x < p.c.cols; {
		in := r.at(x)
		switch {
		case in == (cell{}) || in.ch&filler != 0:
			x++
		case in == blankIn(in.style):
			n := 1
			for x+n < p.c.cols && r.at(x+n) == in {
				n++
			}
			p.moveTo(x, y)
			p.style(in.style)
			p.escape("\x1b[%dX", n)
			x += n
		default:
			x += p.cell(x, y, in)
		}
	}
}

// cell paints one character, and returns the number of its cells.
func (p *painter) cell(x, y int, in cell) int {
	p.moveTo(x, y)
	p.style(in.style)
	cells := 1
	if in.ch&wide != 0 {
		cells = 2
	}
	text := p.c.appendCell(nil, in.ch)
	for i, r := range string(text) {
		after, joined := p.c.widths.Next(p.joining, r)
		if i == 0 && joined { // the cursor movement separates r from the character to its left, which r would otherwise join
			p.escape("\x1b[%d;%dH", y+1, x+1)
			after, _ = p.c.widths.Next(p.joining, r)
		}
		p.joining = after
	}
	p.out = append(p.out, text...)
	if p.x += cells; p.c.widths.Narrow && bytes.ContainsRune(text, width.EmojiSelector) {
		p.x = nowhere
	}
	return cells
}

// style sets the style of the characters that are printed next.
func (p *painter) style(s style) {
	if s.link != p.pen.link {
		target := ""
		if s.link != 0 {
			target = p.c.links.at(uint32(s.link - 1))
		}
		p.escape("\x1b]8;;%s\a", target)
	}
	was := p.pen
	p.pen = s
	if was.link = s.link; was == s {
		return
	}
	p.escape("\x1b[0%s%s%sm", attributeCodes(s.attr), colourCode(s.fg, 38), colourCode(s.bg, 48))
	if s.attr&attrProtected != 0 {
		p.escape("\x1b[1\"q")
	}
}

// attributeCodes returns the SGR parameters for attr, with a semicolon before each.
func attributeCodes(attr uint16) string {
	codes := [...]struct {
		attr uint16
		code string
	}{
		{attrBold, ";1"}, {attrFaint, ";2"}, {attrItalic, ";3"}, {attrUnderline, ";4"}, {attrBlink, ";5"},
		{attrInverse, ";7"}, {attrHidden, ";8"}, {attrStruck, ";9"}, {attrOverline, ";53"},
	}
	out := ""
	for _, c := range codes {
		if attr&c.attr != 0 {
			out += c.code
		}
	}
	return out
}

// colourCode returns the SGR parameters for a color. The parameter `base` is 38 for a foreground
// color and 48 for a background color.
func colourCode(colour uint32, base int) string {
	switch colour &^ (1<<24 - 1) {
	case colourIndex:
		if n := int(colour & 0xff); n < 8 {
			return ";" + strconv.Itoa(base-8+n)
		}
		return fmt.Sprintf(";%d;5;%d", base, colour&0xff)
	case colourRGB:
		return fmt.Sprintf(";%d;2;%d;%d;%d", base, colour>>16&0xff, colour>>8&0xff, colour&0xff)
	}
	return ""
}

// saveCursor makes the terminal save the cursor that b has saved.
func (p *painter) saveCursor(b *buffer) {
	s := b.saved
	if s == (saved{charset: 'B'}) {
		return
	}
	y := s.y
	if s.origin {
		p.escape("\x1b[?6h")
		y = max(0, s.y-b.top)
	}
	p.escape("\x1b[%d;%dH", y+1, min(s.x, p.c.cols-1)+1)
	p.style(s.pen)
	p.escape("\x1b(%c\x1b7\x1b(B", s.charset)
	if s.origin {
		p.escape("\x1b[?6l")
	}
	p.x, p.y = -1, -1
}

// finish sets the cursor, the charsets, the pen and the modes. Paint calls it last, because some
// modes would change the effect of the other output.
func (p *painter) finish() {
	c := p.c
	const later = modeInsert | modeOrigin | modeWrap | modeSynchronized | modeKittyKeyboard | modeAltScreen
	for i, m := range modeTable {
		if bit := modeSet(1) << i; bit&later == 0 && (c.modes^modesAtStart)&bit != 0 {
			p.mode(m.number, m.ansi, c.modes&bit != 0)
		}
	}
	p.cursor()
	for i, set := range c.charsets {
		if set != 'B' {
			p.escape("\x1b%c%c", "()*+"[i], set)
		}
	}
	p.escape("%s", [...]string{"", "\x0e", "\x1bn", "\x1bo"}[c.gl])
	if c.modes&modeInsert != 0 {
		p.mode(4, true, true)
	}
	if c.modes&modeWrap == 0 {
		p.mode(7, false, false)
	}
	p.style(c.pen)
	if c.modes&modeSynchronized != 0 {
		p.mode(2026, false, true)
	}
}

func (p *painter) mode(number int, ansi, on bool) {
	prefix, final := "?", 'l'
	if ansi {
		prefix = ""
	}
	if on {
		final = 'h'
	}
	p.escape("\x1b[%s%d%c", prefix, number, final)
}

// cursor moves the cursor to its position. If a wrap is pending, it prints the last character of
// the row again, so that a wrap is pending in the terminal, too.
func (p *painter) cursor() {
	c, b := p.c, p.c.buf
	top := 0
	if c.modes&modeOrigin != 0 {
		p.mode(6, false, true)
		top = b.top
	}
	x := min(b.x, c.cols-1)
	if b.x == c.cols && b.rows[b.y].at(x).ch&filler != 0 {
		x--
	}
	p.escape("\x1b[%d;%dH", max(0, b.y-top)+1, x+1)
	p.x, p.y = x, b.y
	if b.x < c.cols {
		return
	}
	last := b.rows[b.y].at(x)
	if last.ch == 0 {
		last.ch = ' '
	}
	p.cell(x, b.y, last)
}
