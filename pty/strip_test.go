package pty

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStrip(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, in, want string }{
		{"text, line feeds and tabs stay", "a\tb\nwörld 漢 🟢\n", "a\tb\nwörld 漢 🟢\n"},
		{"other controls go", "a\r\n\x00b\bc\a\x0b\x0c\x0e\x7fd", "a\nbcd"},
		{"colours", "\x1b[1;31mred\x1b[m \x1b[38;2;1;2;3mx\x1b[0m", "red x"},
		{"colours with colons", "\x1b[38:2::1:2:3mx\x1b[4:3my\x1b[58:5:1mz", "xyz"},
		{"private and intermediate bytes", "\x1b[?2026ha\x1b[>1ub\x1b[!pc\x1b[0 qd\x1b[<u", "abcd"},
		{"two-byte and charset sequences", "\x1b7a\x1b(Bb\x1b#8c\x1b=d\x1b%Ge\x1bMf", "abcdef"},
		{"OSC ended by BEL, ST and U+009C", "\x1b]0;t\aa\x1b]8;;http://x\x1b\\b\x1b]0;t\u009cc", "abc"},
		{"OSC with 0x9c inside a character", "\x1b]0;✳ title ✜\aa", "a"},
		{"OSC with 0xc2 0x9c across a character", "\x1b]0;\xe2\x9c\xb3\xe2\x9c\x9c\x1b\\a", "a"},
		{"DCS, which BEL does not end", "a\x1bP1$r0\am\x1b\\b", "ab"},
		{"APC, PM and SOS", "\x1b_Gi=1;AAAA\x1b\\a\x1b^x\x1b\\b\x1bXy\x1b\\c", "abc"},
		{"C1 controls as characters", "\u009b31ma\u009d0;t\u009cb\u0090q\u009cc\u0085d", "abcd"},
		{"bytes that would be C1 controls elsewhere", "a\x9b31m\x9cb", "a31mb"},
		{"CAN and SUB abort", "\x1b[3\x18a\x1b]0;t\x1ab", "ab"},
		{"ESC within a sequence begins another", "\x1b[3\x1b[1ma\x1b\x1b[mb", "ab"},
		{"a line feed within a sequence", "\x1b[3\n1ma", "\na"},
		{"a character within a sequence", "\x1b[3漢a", "a"},
		{"what is not UTF-8", "a\xffb\xc0\x80c\xe2\x9cd\xed\xa0\x80e\xe2漢\xf0\x9f\x9f", "abcde漢"},
		{"the replacement character itself", "a\ufffdb", "a\ufffdb"},
		{"a byte order mark", "\ufeffa", "a"},
		{"something unfinished", "a\x1b[12", "a"},
		{"a string without an end", "a\x1b]0;text\ntext", "a"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			for _, chunk := range []int{len(x.in), 1, 2, 3} {
				if got := string(stripped([]byte(x.in), chunk)); got != x.want {
					t.Errorf("%d bytes at a time: %q, want %q", chunk, got, x.want)
				}
			}
			if got := string(strip([]byte(x.in))); got != x.want {
				t.Errorf("Strip: %q, want %q", got, x.want)
			}
		})
	}
}

// stripped returns the text of p. It passes p to a Stripper in pieces of `chunk` bytes.
func stripped(p []byte, chunk int) []byte {
	var s Stripper
	var out []byte
	for piece := range slices.Chunk(p, chunk) {
		out = append(out, s.Strip(piece)...)
	}
	return out
}

func checkStripped(t *testing.T, p []byte) {
	t.Helper()
	got := strip(p)
	if !utf8.Valid(got) || bytes.ContainsFunc(got, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
	}) {
		t.Fatalf("%q is left of %q", got, p)
	}
	if again := strip(got); !bytes.Equal(again, got) {
		t.Fatalf("%q once more is %q", got, again)
	}
	for _, chunk := range []int{1, 7} {
		if pieces := stripped(p, chunk); !bytes.Equal(pieces, got) {
			t.Fatalf("%d bytes at a time: %q, want %q", chunk, pieces, got)
		}
	}
}

func TestStripRecordings(t *testing.T) {
	t.Parallel()
	for _, path := range recordings(t) {
		var all strings.Builder
		for _, e := range readCast(t, path).Events {
			if e.Kind == CastOutput {
				all.WriteString(e.Data)
			}
		}
		checkStripped(t, []byte(all.String()))
	}
}

func FuzzStrip(f *testing.F) {
	f.Add([]byte("a\x1b[38:2::1:2:3mb\x1b]0;\xe2\x9c\xb3\x07\xc2\x9bm\xe2\x1b\\\xf0\x9f"))
	f.Add([]byte("\x1bP\x07\x1b_\xc2\x9c\x18\x1b(\n\xff"))
	f.Fuzz(checkStripped)
}

// strip returns the text of p. It passes p to a Stripper in one piece.
func strip(p []byte) []byte {
	var s Stripper
	return s.Strip(p)
}
