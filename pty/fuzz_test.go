package pty

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// everything is all that a Screen shows.
func everything(c *Core) []any {
	return []any{c.View(), c.History(1 << 20), string(c.replies), c.notices, c.Frame(), c.pen, c.state, c.buf.saved, c.buf.keyboardFlags()}
}

// bounds of what any bytes may make a screen keep.
func checkBounds(t *testing.T, c *Core) {
	t.Helper()
	b := c.buf
	if b.x < 0 || b.x > c.cols || b.y < 0 || b.y >= c.rows || b.top < 0 || b.top > b.bottom || b.bottom >= c.rows {
		t.Fatalf("cursor %d,%d region %d-%d on %dx%d", b.x, b.y, b.top, b.bottom, c.cols, c.rows)
	}
	if len(b.rows) != c.rows || len(c.tabs) < c.cols {
		t.Fatalf("%d rows, %d tabs on %dx%d", len(b.rows), len(c.tabs), c.cols, c.rows)
	}
	if len(c.replies) > maxReplies || len(c.notices) > maxNotices || len(c.str) > maxString || c.history.bytes > historyBytes+historyChunk+4*maxSize*maxCluster || c.history.lines > historyLines+chunkLines {
		t.Fatalf("%d bytes of replies, %d notices, %d bytes of string, %d of history", len(c.replies), len(c.notices), len(c.str), c.history.bytes)
	}
	for y := range b.rows {
		cells := b.rows[y].cells
		if len(cells) != c.cols {
			t.Fatalf("row %d has %d cells of %d", y, len(cells), c.cols)
		}
		for x := range cells {
			isFiller := cells[x].ch&filler != 0
			afterWide := x > 0 && cells[x-1].ch&wide != 0
			if isFiller != afterWide || x == c.cols-1 && cells[x].ch&wide != 0 {
				t.Fatalf("row %d has half a wide character at %d: %q", y, x, c.Row(y))
			}
		}
		if s := c.Row(y); !utf8.ValidString(s) || strings.HasSuffix(s, " ") || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
			t.Fatalf("row %d is %q", y, s)
		}
	}
}

// FuzzCore writes any bytes, whole and in small pieces with resizes of another
// screen in between: nothing panics, bounds hold, and pieces do not matter.
func FuzzCore(f *testing.F) {
	for _, path := range recordings(f) {
		cast := readCast(f, path)
		var all []byte
		for _, e := range cast.Events {
			if e.Kind == CastOutput && len(all) < 3000 {
				all = append(all, e.Data...)
			}
		}
		f.Add(all[:min(len(all), 3000)], uint8(7), uint16(80), uint16(24))
	}
	f.Add([]byte("\x1b[999999999I\x1b[5;50r\x1b[T\x1b[65535b\x1b[?6h\x1b[c\x9c\x1b]0;\xe2\x9c\xb3\a"), uint8(1), uint16(5), uint16(5))
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8, cols, rows uint16) {
		c := New(int(cols%200), int(rows%100))
		_, _ = c.Write(data)
		checkBounds(t, c)

		again := New(int(cols%200), int(rows%100))
		for rest := data; len(rest) > 0; {
			n := min(len(rest), int(chunk%16)+1)
			for p := rest[:n]; len(p) > 0; {
				p = p[again.Feed(p):]
			}
			rest = rest[n:]
		}
		if a, b := everything(c), everything(again); !reflect.DeepEqual(a, b) {
			t.Fatalf("%d bytes at a time:\n%v\nwhole:\n%v", chunk%16+1, b, a)
		}

		half := len(data) / 2
		_, _ = again.Write(data[:half])
		again.Resize(int(rows%150), int(cols%60))
		checkBounds(t, again)
		_, _ = again.Write(data[half:])
		checkBounds(t, again)
		again.Resize(int(cols%200), int(rows%100))
		checkBounds(t, again)
		again.Changed()
		if bytes.Contains(data, []byte{'\n'}) {
			again.History(100)
		}
	})
}

// TestHostileFloods writes what is expensive for its length. It only has to
// end: a test of how fast would fail on a busy machine.
func TestHostileFloods(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"\x1b[65535b", "a\x1b[65535b", "漢\x1b[65535b", "\x1b[65535I", "\x1b[65535Z", "\x1b[65535L", "\x1b[65535S", "\x1b[65535T",
		"\x1b[65535@", "\x1b[2J", "\x1b[?1049h\x1b[?1049l", "e\u0301\u0302", "\n", "\x1bM", "\x1b[c", "\x1bc", "\x1b[65535X",
		"\x1b[65535 @", "\x1b[65535'}", "\x1b]8;;http://x\x1b\\x", "\x1b[>1u", "\x1b[22t", "\x1b]0;x\a", "\a", "\x1bP+q;;;;\x1b\\", "\x1b[;;;;;;;;;;",
	} {
		c := New(DefaultCols, DefaultRows)
		for range 300 {
			_, _ = c.Write([]byte(unit))
		}
		checkBounds(t, c)
	}
	c := New(DefaultCols, DefaultRows)
	for i := range 20_000 { // more links than are kept, all of them on the screen
		_, _ = fmt.Fprintf(c, "\x1b]8;;http://x/%d\x1b\\x", i)
	}
	checkBounds(t, c)
}
