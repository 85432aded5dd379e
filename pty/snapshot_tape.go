package pty

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// A tape either writes the values that it receives, or reads them back in the same order. When it
// reads a value, it checks the value against the given limits. After an error, it reads zeros.
type tape struct {
	out []byte
	in  *bufio.Reader // the input of a tape that reads; nil if the tape writes
	err error         // the first error of a tape that reads
}

// check records an error of the tape if `ok` is false. It does nothing if the tape writes.
func (t *tape) check(ok bool) {
	if t.in != nil && t.err == nil && !ok {
		t.err = errSnapshot
	}
}

// uvarint writes v, or reads a number. It returns the number that was written or read.
func (t *tape) uvarint(v uint64) uint64 {
	if t.in == nil {
		t.out = binary.AppendUvarint(t.out, v)
		return v
	}
	if t.err != nil {
		return 0
	}
	v, err := binary.ReadUvarint(t.in)
	if err != nil {
		t.err = errSnapshot
		return 0
	}
	return v
}

type integer interface {
	~int | ~int32 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// number writes or reads the value of p, which must be at least `minimum` and at most `maximum`.
func number[T integer](t *tape, p *T, minimum, maximum int64) {
	v := t.uvarint(uint64(int64(*p) - minimum))
	if t.in == nil {
		return
	}
	if t.check(minimum <= maximum && v <= uint64(maximum-minimum)); t.err == nil {
		*p = T(int64(v) + minimum)
	}
}

func (t *tape) flag(p *bool) {
	var v uint8
	if *p {
		v = 1
	}
	number(t, &v, 0, 1)
	*p = v == 1
}

// list writes or reads the length of the list p, which is at most maxLength. Then it calls the
// function `each` with every element.
func list[T any](t *tape, p *[]T, maxLength int, each func(*T)) {
	n := len(*p)
	number(t, &n, 0, int64(maxLength))
	for i := 0; i < n && t.err == nil; i++ {
		if t.in != nil {
			var zero T
			*p = append(*p, zero) // append one by one, so that the list grows no faster than the input
		}
		each(&(*p)[i])
	}
}

// bytes writes or reads the bytes of p. There are at most maxLength of them.
func (t *tape) bytes(p *[]byte, maxLength int) {
	n := len(*p)
	number(t, &n, 0, int64(maxLength))
	if t.in == nil {
		t.out = append(t.out, *p...)
		return
	}
	if n == 0 || t.err != nil {
		return
	}
	*p = make([]byte, n)
	if _, err := io.ReadFull(t.in, *p); err != nil {
		t.err = errSnapshot
	}
}

func (t *tape) text(p *string, most int) {
	b := []byte(*p)
	if t.in != nil {
		b = nil
	}
	t.bytes(&b, most)
	if t.in != nil {
		*p = string(b)
		t.check(utf8.ValidString(*p))
	}
}

// texts writes or reads the table p. Each string occurs in p only once. There are at most
// maxStrings strings, with at most maxBytes bytes each.
func texts(t *tape, p *internTable, maxStrings, maxBytes int) {
	strings := p.list
	list(t, &strings, maxStrings, func(s *string) {
		t.text(s, maxBytes)
		if t.in != nil && t.err == nil {
			before := len(p.list)
			p.id(*s)
			t.check(len(p.list) > before)
		}
	})
}

// cells writes or reads the cells of a row: first the number of cells, then runs of cells with the
// same style. A run consists of its length, its style and its characters.
func (t *tape) cells(p *[]cell) {
	n := len(*p)
	number(t, &n, 0, maxSize)
	if t.in != nil && n > 0 && t.err == nil {
		*p = make([]cell, n)
	}
	for rest := *p; len(rest) > 0 && t.err == nil; {
		first := rest[0].style
		run := slices.IndexFunc(rest, func(x cell) bool { return x.style != first })
		if run < 0 {
			run = len(rest)
		}
		number(t, &run, 1, int64(len(rest)))
		first.walk(t)
		for i := range rest[:max(run, 0)] {
			t.char(&rest[i].ch)
			rest[i].style = first
		}
		rest = rest[run:]
	}
}

// char writes or reads the content of a cell. On the tape, the flag bits are the lowest bits,
// because small numbers take fewer bytes.
func (t *tape) char(ch *uint32) {
	const flags = 3
	v := bits.RotateLeft32(*ch, flags)
	if t.in == nil {
		t.uvarint(uint64(v))
		return
	}
	*ch = bits.RotateLeft32(uint32(t.uvarint(uint64(v))), -flags)
	t.check(soundChar(*ch))
}

// soundChar reports whether ch is a valid content of a cell.
func soundChar(ch uint32) bool {
	r := ch & charMask
	switch {
	case ch&^(cluster|wide|filler|charMask) != 0:
		return false
	case ch&cluster != 0:
		return ch&filler == 0
	case ch&filler != 0:
		return ch == filler
	case ch == 0:
		return true
	}
	return r >= ' ' && (r < 0x7f || r >= 0xa0) && utf8.ValidRune(rune(r))
}
