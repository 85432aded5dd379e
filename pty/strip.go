package pty

import "unicode/utf8"

// Stripper extracts the text from a program's output. It removes escape sequences, invalid UTF-8,
// and all control characters except line feed and tab. If a program moves the cursor between two
// words, the words run together; a Screen shows them in their correct places.
//
// The output can be passed in pieces of any size. The zero value is ready to use. Only one
// goroutine at a time may use a Stripper. A Stripper keeps only a few bytes in memory.
type Stripper struct {
	state parseState
	held  [utf8.UTFMax]byte // bytes of an incomplete character
	n     int               // number of bytes in the field `held`
	last  byte              // last byte of an OSC, DCS, SOS, PM or APC, to recognize U+009C
}

// Strip returns the text in p, the next piece of output.
func (s *Stripper) Strip(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for i := 0; i < len(p); {
		run := i
		for s.state == ground && s.n == 0 && run < len(p) && p[run]-' ' < 0x5f {
			run++
		}
		if out = append(out, p[i:run]...); run == len(p) {
			break
		}
		out = s.step(out, p[run])
		i = run + 1
	}
	return out
}

// step handles the byte b. It appends a character to `out` if b completes the character.
func (s *Stripper) step(out []byte, b byte) []byte {
	switch {
	case b == 0x1b: // ESC also ends OSC, DCS, SOS, PM and APC
		s.state, s.n = escape, 0
		return out
	case b == 0x18 || b == 0x1a: // CAN and SUB abort a sequence
		s.state, s.n = ground, 0
		return out
	case s.state == oscText || s.state == skipText:
		s.text(b)
		return out
	case b >= utf8.RuneSelf:
		return s.high(out, b)
	}
	s.n = 0
	switch {
	case b == '\n' || b == '\t': // also inside a sequence
		return append(out, b)
	case b < ' ' || b == 0x7f:
	case s.state == ground:
		return append(out, b)
	default:
		s.sequence(b)
	}
	return out
}

// text handles one byte of an OSC, DCS, SOS, PM or APC.
func (s *Stripper) text(b byte) {
	if b == 0x07 && s.state == oscText || b == 0x9c && s.last == 0xc2 {
		s.state = ground
	}
	s.last = b
}

// sequence handles one printable byte of an escape sequence.
func (s *Stripper) sequence(b byte) {
	switch {
	case s.state == params:
		if b >= '@' {
			s.state = ground
		}
	case b < '0':
		s.state = escapeMore
	case s.state == escapeMore:
		s.state = ground
	default:
		s.introduce(b)
	}
}

// introduce handles the byte after ESC, which determines the kind of sequence.
func (s *Stripper) introduce(b byte) {
	s.last = 0
	switch b {
	case '[':
		s.state = params
	case ']':
		s.state = oscText
	case 'P', 'X', '^', '_': // DCS (with its parameters), SOS, PM and APC
		s.state = skipText
	default:
		s.state = ground
	}
}

// high handles one byte of a character that is not ASCII.
func (s *Stripper) high(out []byte, b byte) []byte {
	s.held[s.n] = b
	s.n++
	if !utf8.FullRune(s.held[:s.n]) {
		return out
	}
	r, n := utf8.DecodeRune(s.held[:s.n])
	heldBytes := s.n
	s.n = 0
	switch {
	case r == utf8.RuneError && n < heldBytes: // the character before b is incomplete; b can begin another character
		return s.high(out, b)
	case r == utf8.RuneError && n == 1 || r == 0xfeff:
	case r < 0xa0: // a C1 control means ESC and another character
		s.introduce(byte(r - 0x40))
	case s.state == ground:
		return utf8.AppendRune(out, r)
	default:
		s.state = ground // no sequence can contain this character, so the sequence ends here
	}
	return out
}
