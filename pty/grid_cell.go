package pty

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// cell is one character cell of the screen: a character and a style, in 16 bytes.
type cell struct {
	ch uint32 // 0 for a blank; otherwise a character or the index of a cluster, plus the flag bits below
	style
}

const (
	cluster  = 1 << 31 // flag: ch holds an index into Core.clusters
	wide     = 1 << 30 // flag: the character takes this cell and the next one
	filler   = 1 << 29 // flag: the cell is the right half of a wide character
	charMask = 1<<21 - 1
)

// style describes how a cell looks. The color 0 is the default color. In any other color, the
// highest byte is the color's kind, and the other bytes are an index or an RGB value.
type style struct {
	fg, bg uint32
	attr   uint16
	link   uint16 // index into Core.links plus 1; 0 if there is no link
}

const (
	colourIndex = 1 << 24
	colourRGB   = 2 << 24
)

const (
	attrBold = 1 << iota
	attrFaint
	attrItalic
	attrUnderline
	attrBlink
	attrInverse
	attrHidden
	attrStruck
	attrOverline
	attrProtected // set by DECSCA
)

// blankIn returns the cell that remains after erasing with style s: a blank with the background of
// s.
func blankIn(s style) cell {
	return cell{style: style{bg: s.bg}}
}

// appendRow appends the text of r to dst, without trailing blanks.
func (c *Core) appendRow(dst []byte, r *row) []byte {
	start := len(dst)
	end := len(r.cells)
	if isBlank(r.rest.ch) {
		for end > 0 && isBlank(r.cells[end-1].ch) {
			end--
		}
	}
	for i := range r.cells[:end] {
		if ch := r.cells[i].ch; ch-1 < utf8.RuneSelf-1 {
			dst = append(dst, byte(ch))
		} else {
			dst = c.appendCell(dst, ch)
		}
	}
	switch ch := r.rest.ch; {
	case isBlank(ch):
	case ch < utf8.RuneSelf:
		n := len(dst)
		dst = slices.Grow(dst, r.cols-end)[:n+r.cols-end]
		for i := range dst[n:] {
			dst[n+i] = byte(ch)
		}
	default:
		for range r.cols - end {
			dst = c.appendCell(dst, ch)
		}
	}
	for len(dst) > start && dst[len(dst)-1] == ' ' { // this also cuts spaces at the end of a cluster
		dst = dst[:len(dst)-1]
	}
	return dst
}

func isBlank(ch uint32) bool {
	return ch == 0 || ch == ' '
}

func (c *Core) appendCell(dst []byte, ch uint32) []byte {
	switch {
	case ch&cluster != 0:
		return append(dst, c.clusters.at(ch&charMask)...)
	case ch&filler != 0:
		return dst
	case ch == 0:
		return append(dst, ' ')
	case ch&charMask < utf8.RuneSelf:
		return append(dst, byte(ch))
	}
	return utf8.AppendRune(dst, rune(ch&charMask))
}

// hash returns a hash of the row's characters and of all attributes except colors. Changed compares
// these hashes, so it does not report a change of colors alone.
func (c *Core) hash(r *row) uint64 {
	h, blanks := uint64(0), uint64(0)
	for x := range r.cols {
		in := r.at(x)
		ch := in.ch
		if ch == ' ' {
			ch = 0
		}
		if ch == 0 && in.attr == 0 {
			if blanks++; x >= len(r.cells) {
				break // all cells after this one are blank too
			}
			continue
		}
		h, blanks = mix(h, blanks), 0
		if ch&cluster != 0 { // hash the text, because an index can later belong to another cluster
			for _, b := range []byte(c.clusters.at(ch & charMask)) {
				h = mix(h, uint64(b))
			}
		}
		h = mix(h, uint64(ch)|uint64(in.attr)<<32)
	}
	return mix(h, uint64(r.cols))
}

func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// Cells returns how many cells a line of text takes on a screen.
func Cells(line string) int {
	if !strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
		return len(line)
	}
	c := New(utf8.RuneCountInString(line)*2+1, 1)
	_, _ = c.Write([]byte(line))
	x, _ := c.Cursor()
	return x
}

// Cut returns the beginning of `line` that fits into the given number of cells, without trailing blanks. It
// leaves out a wide character if only half of it would fit.
func Cut(line string, cells int) string {
	c := New(utf8.RuneCountInString(line)*2+1, 1)
	_, _ = c.Write([]byte(line))
	var out strings.Builder
	for x := range cells {
		switch cell := c.Cell(x, 0); {
		case cell.Width == 0 || cell.Width > cells-x:
		case cell.Text == "":
			out.WriteByte(' ')
		default:
			out.WriteString(cell.Text)
		}
	}
	return strings.TrimRight(out.String(), " ")
}
