package vt10x

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// mostNumber is the largest parameter that reaches vt10x. A limit is needed because
	// vt10x loops over some parameters.
	mostNumber = 9999
	// mostSequence is the largest size in bytes of a CSI sequence. A longer sequence is
	// dropped.
	mostSequence = 256
)

// filter removes from the output what vt10x reads wrongly or never finishes. This includes strings
// (OSC, DCS, APC, PM, SOS), private CSI u, huge numbers, and REP. If a character or sequence is
// divided between two writes, filter keeps the first part until the rest comes.
type filter struct {
	held   []byte // first part of an incomplete character or sequence
	inText bool   // the next byte is inside a string
	esc    bool   // the last byte of the string was ESC
	last   rune   // the last printed character, for REP
	cells  int    // number of cells on the screen; REP never prints more characters than this
}

// pass returns the part of p that vt10x can read correctly.
func (f *filter) pass(p []byte) []byte {
	p = append(f.held, p...)
	f.held = nil
	var out []byte
	for i := 0; i < len(p); {
		n := f.handleFirst(p[i:], &out)
		if n == 0 {
			f.held = append([]byte(nil), p[i:]...)
			break
		}
		i += n
	}
	return out
}

// handleFirst handles the first character, control or sequence in p. It returns the number of
// bytes that it has handled. It returns 0 if the character or sequence is incomplete.
func (f *filter) handleFirst(p []byte, out *[]byte) int {
	switch {
	case f.inText:
		f.text(p[0])
		return 1
	case p[0] == 0x1b:
		return f.sequence(p, out)
	case p[0] < 0x80:
		if p[0] >= ' ' && p[0] < 0x7f {
			f.last = rune(p[0])
		}
		*out = append(*out, p[0])
		return 1
	case !utf8.FullRune(p):
		return 0
	}
	r, n := utf8.DecodeRune(p)
	if r != utf8.RuneError {
		f.last = r
		*out = append(*out, p[:n]...)
	}
	return n
}

// text drops one byte of a string. If the byte ends the string, text also ends the string.
func (f *filter) text(b byte) {
	if b == 0x07 || b == 0x18 || b == 0x1a || f.esc && b == '\\' {
		f.inText = false
	}
	f.esc = b == 0x1b
}

func (f *filter) sequence(p []byte, out *[]byte) int {
	if len(p) < 2 {
		return 0
	}
	switch p[1] {
	case ']', 'P', 'X', '^', '_':
		f.inText, f.esc = true, false
		return 2
	case '[':
		return f.csi(p, out)
	}
	n := 1
	for n < len(p) && p[n] >= ' ' && p[n] < '0' { // intermediate bytes
		n++
	}
	switch {
	case n >= mostSequence:
		return n
	case n == len(p):
		return 0
	case p[n] < ' ' || p[n] >= 0x7f: // a control or non-ASCII byte cannot be in a sequence, so it begins something else
		return n
	}
	*out = append(*out, p[:n+1]...)
	return n + 1
}

func (f *filter) csi(p []byte, out *[]byte) int {
	end := 2
	for end < len(p) && p[end] >= ' ' && p[end] < 0x40 {
		end++
	}
	switch {
	case end == len(p) && end < mostSequence:
		return 0
	case end == len(p) || end >= mostSequence:
		return end
	case p[end] < ' ': // a control inside the sequence: the sequence so far is dropped
		return end
	}
	body, final := string(p[2:end]), p[end]
	private := strings.ContainsAny(body, "<=>?")
	switch {
	case final == 'u' && private, strings.ContainsAny(body, "<=>"):
	case final == 'b' && !private:
		f.repeat(body, out)
	default:
		*out = append(*out, "\x1b["+clampNumbers(body)+string(final)...)
	}
	return end + 1
}

// repeat executes REP: it writes the last character again. The body of the sequence contains the
// number of repeats.
func (f *filter) repeat(body string, out *[]byte) {
	n, err := strconv.Atoi(body)
	if err != nil || n < 1 {
		n = 1
	}
	if f.last != 0 {
		*out = append(*out, strings.Repeat(string(f.last), min(n, f.cells))...)
	}
}

// clampNumbers limits the parameters of a CSI sequence to mostNumber. It removes subparameters,
// because vt10x rejects them. A subparameter comes after a colon.
func clampNumbers(body string) string {
	fields := strings.Split(body, ";")
	for i, field := range fields {
		field, _, _ = strings.Cut(field, ":")
		if n, err := strconv.Atoi(field); err == nil && n > mostNumber || len(field) > 9 {
			field = strconv.Itoa(mostNumber)
		}
		fields[i] = field
	}
	return strings.Join(fields, ";")
}
