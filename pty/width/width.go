// Package width returns how many cells a character takes, and which characters share a cell.
//
// The widths are those of xterm.js with its grapheme addon (Unicode 15). The table is in
// width_table.go. The alternatives have these drawbacks:
//
//   - xterm.js alone (Unicode 6): emoji are one cell wide. No known agent CLI assumes this width. Agent
//     CLIs measure text with string-width or similar packages, in which emoji are two cells wide. They
//     place the words after an emoji accordingly.
//   - xterm.js with its unicode11 addon: emoji are two cells wide. But a character that becomes an emoji
//     through U+FE0F is one cell wide. Each part of a ZWJ sequence or a flag takes two cells.
//   - go-runewidth, uniseg, x/ansi: they are dependencies, and they disagree on U+FE0F, flags and Indic
//     vowel signs.
//
// There is one difference from xterm.js. Invisible formatting characters (U+200B, U+200E, U+2060 …)
// take no cell, as in all the alternatives. Characters of ambiguous width are one cell wide.
package width

import "sync"

// These are the kinds of characters in grapheme clusters (UAX #29). The values are those in
// width_table.go. LastKind is the highest kind.
const (
	Other = iota
	Prepend
	kindExtend
	kindRegional
	kindSpacing
	kindHangulL
	kindHangulV
	kindHangulT
	kindHangulLV
	kindHangulLVT
	kindZWJ
	kindPictograph

	LastKind = kindPictograph

	kindMask = 15
	kindWide = 16 // flag: the character takes two cells
)

type propertyRange struct {
	lo, hi   rune
	property uint8
}

// Table holds the kind and the width of each character. A block holds the properties of 256
// characters. The block of the character r has the number index[r>>8].
type Table struct {
	index  [0x1100]uint16
	blocks [][256]uint8
	Narrow bool // true if a character with U+FE0F takes only one cell
}

// Standard returns the standard table. It builds the table only once.
func Standard() *Table { return madeTable() }

var madeTable = sync.OnceValue(func() *Table {
	p := &Table{}
	var flat [0x110000]uint8
	for _, r := range propertyRanges() {
		for ch := r.lo; ch <= r.hi; ch++ {
			flat[ch] = r.property
		}
	}
	numbers := map[[256]uint8]uint16{}
	for i := range p.index {
		block := [256]uint8(flat[i<<8:])
		n, ok := numbers[block]
		if !ok {
			n = uint16(len(p.blocks))
			p.blocks = append(p.blocks, block)
			numbers[block] = n
		}
		p.index[i] = n
	}
	return p
})

// EmojiSelector is U+FE0F. It turns the character before it into an emoji.
const EmojiSelector = 0xfe0f

// NarrowEmoji returns a table for narrow emoji. In it, a character with U+FE0F takes one cell,
// together with all characters that are joined to it.
func NarrowEmoji() *Table { return madeNarrowTable() }

var madeNarrowTable = sync.OnceValue(func() *Table {
	p := *madeTable()
	p.Narrow = true
	return &p
})

// Next returns the state after the character r. It returns true if r joins the cluster before it.
func (p *Table) Next(s State, r rune) (State, bool) {
	after, joined := s.after(p.propertyOf(r))
	switch {
	case !joined || !p.Narrow:
	case r == EmojiSelector:
		after.Cells = 1
	case after.Kind == kindPictograph:
		after.Cells = s.Cells
	}
	return after, joined
}

// propertyOf returns the property of r, which is its kind, plus kindWide if r is wide. r must be a
// Unicode character.
func (p *Table) propertyOf(r rune) uint8 {
	return p.blocks[p.index[r>>8]][r&0xff]
}

// A State describes the last cluster. It determines whether the next character joins
// that cluster.
type State struct {
	Kind  uint8
	Cells uint8 // number of cells of the cluster so far; 0 if no character can join it
}

// after returns the state after a character with property p. It returns true if the character joins
// the cluster before it.
func (s State) after(p uint8) (State, bool) {
	kind, width := p&kindMask, uint8(1)
	if p&kindWide != 0 {
		width = 2
	}
	if s.Cells == 0 || !joinsCluster(s.Kind, kind) {
		return State{kind, width}, false
	}
	if kind == kindRegional {
		return State{Other, 2}, true // the flag is complete, and a third regional indicator begins another flag
	}
	return State{kind, max(width, s.Cells)}, true
}

// joinsCluster reports whether a character of kind b joins a cluster whose last character is of
// kind a.
func joinsCluster(a, b uint8) bool {
	switch b {
	case kindExtend, kindZWJ, kindSpacing:
		return true
	case kindPictograph:
		return a == kindZWJ || a == Prepend
	case kindRegional:
		return a == kindRegional || a == Prepend
	case kindHangulL, kindHangulLV, kindHangulLVT:
		return a == kindHangulL || a == Prepend
	case kindHangulV:
		return a == kindHangulL || a == kindHangulLV || a == kindHangulV || a == Prepend
	case kindHangulT:
		return a >= kindHangulV && a <= kindHangulLVT || a == Prepend
	}
	return a == Prepend
}
