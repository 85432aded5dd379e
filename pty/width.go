package pty

import "sync"

// The width of a character, and the characters that share a cell, are those of xterm.js
// with its grapheme addon (Unicode 15). The table is in width_table.go. The alternatives
// were:
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

// Kinds of characters in grapheme clusters (UAX #29), as in the table.
const (
	kindOther = iota
	kindPrepend
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

	kindMask = 15
	kindWide = 16 // two cells
)

type propertyRange struct {
	lo, hi   rune
	property uint8
}

// properties is the table in two steps: a block for every 256 characters.
type properties struct {
	index  [0x1100]uint16
	blocks [][256]uint8
	narrow bool // an emoji with its selector takes one cell
}

var loadProperties = sync.OnceValue(func() *properties {
	p := &properties{}
	var flat [0x110000]uint8
	for _, r := range propertyRanges() {
		for ch := r.lo; ch <= r.hi; ch++ {
			flat[ch] = r.property
		}
	}
	known := map[[256]uint8]uint16{}
	for i := range p.index {
		block := [256]uint8(flat[i<<8:])
		n, ok := known[block]
		if !ok {
			n = uint16(len(p.blocks))
			p.blocks = append(p.blocks, block)
			known[block] = n
		}
		p.index[i] = n
	}
	return p
})

// emojiSelector, U+FE0F, makes the character before it an emoji.
const emojiSelector = 0xfe0f

var narrowProperties = sync.OnceValue(func() *properties {
	p := *loadProperties()
	p.narrow = true
	return &p
})

// NarrowEmoji makes a character with U+FE0F, and all that is joined to it, take one cell
// from now on instead of two. It is for programs that draw the second cell themselves as
// a blank. A terminal that has already moved on by two cells shows everything after it
// one cell too far to the right (Codex 0.169.0). Restore does not restore this setting.
func (c *Core) NarrowEmoji() { c.props = narrowProperties() }

// next returns the state after r, and whether r joins.
func (p *properties) next(s joinState, r rune) (joinState, bool) {
	after, joined := s.next(p.of(r))
	switch {
	case !joined || !p.narrow:
	case r == emojiSelector:
		after.width = 1
	case after.kind == kindPictograph:
		after.width = s.width
	}
	return after, joined
}

// of returns the kind of r and whether it is wide; r must be a Unicode character.
func (p *properties) of(r rune) uint8 {
	return p.blocks[p.index[r>>8]][r&0xff]
}

// A joinState determines whether the next character joins the last one.
type joinState struct {
	kind  uint8
	width uint8 // cells of the cluster so far; 0: nothing to join
}

// next returns the state after a character with property p, and whether it joins.
func (s joinState) next(p uint8) (joinState, bool) {
	kind, width := p&kindMask, uint8(1)
	if p&kindWide != 0 {
		width = 2
	}
	if s.width == 0 || !joins(s.kind, kind) {
		return joinState{kind, width}, false
	}
	if kind == kindRegional {
		return joinState{kindOther, 2}, true // a flag is complete: a third indicator starts another
	}
	return joinState{kind, max(width, s.width)}, true
}

// joins reports whether there is no cluster boundary between a and b.
func joins(a, b uint8) bool {
	switch b {
	case kindExtend, kindZWJ, kindSpacing:
		return true
	case kindPictograph:
		return a == kindZWJ || a == kindPrepend
	case kindRegional:
		return a == kindRegional || a == kindPrepend
	case kindHangulL, kindHangulLV, kindHangulLVT:
		return a == kindHangulL || a == kindPrepend
	case kindHangulV:
		return a == kindHangulL || a == kindHangulLV || a == kindHangulV || a == kindPrepend
	case kindHangulT:
		return a >= kindHangulV && a <= kindHangulLVT || a == kindPrepend
	}
	return a == kindPrepend
}
