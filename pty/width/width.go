// Package width says how many cells a character takes, and which characters share a cell.
//
// Both are those of xterm.js with its grapheme addon (Unicode 15). The table is in
// width_table.go. The alternatives were:
//
//   - xterm.js alone (Unicode 6): emoji are one cell wide. No agent CLI seen assumes
//     that. They measure text with string-width or the like, which returns two, and place
//     the words after an emoji accordingly.
//   - its unicode11 addon: emoji have two cells, but those that U+FE0F makes emoji have
//     one, and each part of a ZWJ sequence or flag has a pair of cells.
//   - go-runewidth, uniseg, x/ansi: dependencies that disagree with each other on U+FE0F,
//     flags and Indic vowel signs.
//
// There is one difference from the table's source: invisible formatting characters
// (U+200B, U+200E, U+2060 …) take no cell, as in all of the others. Characters of
// ambiguous width are one cell wide.
package width

import "sync"

// Kinds of characters in grapheme clusters (UAX #29), as in the table. LastKind is the
// highest.
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
	kindWide = 16 // two cells
)

type propertyRange struct {
	lo, hi   rune
	property uint8
}

// Table has the kind and the width of every character. It is in two steps: a block for
// every 256 characters.
type Table struct {
	index  [0x1100]uint16
	blocks [][256]uint8
	Narrow bool // an emoji with its selector takes one cell
}

// Standard returns the table, which is made once.
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

// EmojiSelector is U+FE0F. It makes the character before it an emoji.
const EmojiSelector = 0xfe0f

// NarrowEmoji returns the table by which a character with U+FE0F, and all that is
// joined to it, takes one cell.
func NarrowEmoji() *Table { return madeNarrowTable() }

var madeNarrowTable = sync.OnceValue(func() *Table {
	p := *madeTable()
	p.Narrow = true
	return &p
})

// Next returns the state after r, and whether r joins.
func (p *Table) Next(s State, r rune) (State, bool) {
	after, joined := s.next(p.of(r))
	switch {
	case !joined || !p.Narrow:
	case r == EmojiSelector:
		after.Cells = 1
	case after.Kind == kindPictograph:
		after.Cells = s.Cells
	}
	return after, joined
}

// of returns the kind of r and whether it is wide; r must be a Unicode character.
func (p *Table) of(r rune) uint8 {
	return p.blocks[p.index[r>>8]][r&0xff]
}

// A State determines whether the next character joins the last one.
type State struct {
	Kind  uint8
	Cells uint8 // cells of the cluster so far; 0: nothing to join
}

// next returns the state after a character with property p, and whether it joins.
func (s State) next(p uint8) (State, bool) {
	kind, width := p&kindMask, uint8(1)
	if p&kindWide != 0 {
		width = 2
	}
	if s.Cells == 0 || !joins(s.Kind, kind) {
		return State{kind, width}, false
	}
	if kind == kindRegional {
		return State{Other, 2}, true // a flag is complete: a third indicator starts another
	}
	return State{kind, max(width, s.Cells)}, true
}

// joins reports whether there is no cluster boundary between a and b.
func joins(a, b uint8) bool {
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
