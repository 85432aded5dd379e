package pty

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// everything returns all that a Core shows and keeps.
func everything(c *Core) []any {
	return []any{c.View(), c.History(1 << 20), string(c.replies), c.notices, c.Frame(), c.pen, c.state, c.buf.saved,
		c.buf.keyboardFlags()}
}

// brief returns the beginning of what the function `everything` returns, as text.
func brief(c *Core) string {
	return fmt.Sprintf("%.3000s", fmt.Sprint(everything(c)))
}

// checkBounds checks the limits of what a screen keeps. They hold after any output.
func checkBounds(t *testing.T, c *Core) {
	t.Helper()
	b := c.buf
	if b.x < 0 || b.x > c.cols || b.y < 0 || b.y >= c.rows || b.top < 0 || b.top > b.bottom || b.bottom >= c.rows {
		t.Fatalf("cursor %d,%d region %d-%d on %dx%d", b.x, b.y, b.top, b.bottom, c.cols, c.rows)
	}
	if len(b.rows) != c.rows || c.tabs != nil && len(c.tabs) < c.cols {
		t.Fatalf("%d rows, %d tabs on %dx%d", len(b.rows), len(c.tabs), c.cols, c.rows)
	}
	if len(c.replies) > maxReplies || len(c.notices) > maxNotices || len(c.str) > maxString ||
		c.history.bytes > historyBytes+historyChunk+4*maxSize*maxCluster || c.history.lines > historyLines+chunkLines {
		t.Fatalf("%d bytes of replies, %d notices, %d bytes of string, %d of history", len(c.replies), len(c.notices),
			len(c.str), c.history.bytes)
	}
	for y := range b.rows {
		r := b.rows[y]
		if r.cols != c.cols || len(r.cells) > c.cols || r.rest.ch&(wide|filler) != 0 {
			t.Fatalf("row %d has %d cells of %d, the rest %+v", y, len(r.cells), c.cols, r.rest)
		}
		if !r.sound() {
			t.Fatalf("row %d has half a wide character: %q", y, c.Row(y))
		}
		if s := c.Row(y); !utf8.ValidString(s) || strings.HasSuffix(s, " ") ||
			strings.ContainsFunc(s, func(r rune) bool {
				return r < ' '
			}) {
			t.Fatalf("row %d is %q", y, s)
		} else if now := string(c.appendRow(nil, r)); s != now {
			t.Fatalf("row %d is told as %q, and shows %q", y, s, now)
		}
	}
}

// fuzzSizes are the sizes of screens for fuzzing, in cells.
var fuzzSizes = [...][2]int{
	{80, 24}, {20, 6}, {5, 3}, {1, 1}, {2, 2}, {9, 1}, {2, 9}, {7, 4},
	{120, 40}, {40, 12}, {3, 3}, {13, 5}, {500, 300}, {8, 8}, {17, 3}, {33, 7},
}

// FuzzCore writes random bytes in four ways: whole, in small pieces, with a snapshot in between, and between
// resizes. No call may panic. What the Core keeps must be consistent and limited. Pieces and snapshots must
// make no difference.
func FuzzCore(f *testing.F) {
	for i, path := range recordings(f) {
		f.Add(beginning(readCast(f, path), 3000), uint8(7), uint8(i))
	}
	for i, in := range hostile() {
		f.Add([]byte(strings.Repeat(in, 3)), uint8(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, chunk, size uint8) {
		cols, rows := fuzzSizes[size%16][0], fuzzSizes[size%16][1]
		c := New(cols, rows)
		_, _ = c.Write(data)
		checkBounds(t, c)

		again := New(cols, rows)
		for p := range slices.Chunk(data, int(chunk%16)+1) {
			_, _ = again.Write(p)
		}
		if !bytes.Equal(c.body(), again.body()) {
			t.Fatalf("%d bytes at a time:\n%s\nwhole:\n%s", chunk%16+1, brief(again), brief(c))
		}

		half := len(data) * int(chunk) / 256
		again = New(cols, rows)
		_, _ = again.Write(data[:half])
		again = restored(t, again)
		_, _ = again.Write(data[half:])
		if !bytes.Equal(c.body(), again.body()) {
			t.Fatalf("kept and restored after %d bytes:\n%s\nat once:\n%s", half, brief(again), brief(c))
		}
		checkResizes(t, again, data[half:], int(chunk))
		if crc32.ChecksumIEEE(data)%32 == 0 { // only sometimes, because it takes a hundred times as long as the rest
			checkSpeed(t, data, cols, rows)
		}
	})
}

// slowest is the longest time that one byte of any output may take, in ns. It is 200 ms for a MiB.
const slowest = 190

// checkSpeed checks that writing the data takes not much longer than `slowest` allows. BenchmarkHostile checks
// the exact limit. A fuzzing build, the race detector and an old machine are slower, so checkSpeed first
// measures ordinary output. If ordinary output is slower than usual, the limit grows in proportion.
func checkSpeed(t *testing.T, data []byte, cols, rows int) {
	t.Helper()
	const (
		enough   = 256 << 10 // bytes
		much     = 10        // factor for a fuzzing build, which slows down loops
		ordinary = 9         // ns for each byte of colouredText
	)
	if len(data) == 0 {
		return
	}
	data = bytes.Repeat(data, enough/len(data)+1)
	limit := much * slowest * max(1, perByte(bytes.Join(colouredText(64<<10), nil), 80, 24)/ordinary)
	took := perByte(data, cols, rows)
	for i := 0; took > limit && i < 4; i++ { // measure again, because the machine may have been busy
		took = min(took, perByte(data, cols, rows))
	}
	if took > limit {
		t.Fatalf("on %dx%d a byte takes %.0f ns, more than %.0f: %.200q", cols, rows, took, limit, data)
	}
}

// perByte returns the time that this thread needs for each byte of data, in ns.
func perByte(data []byte, cols, rows int) float64 {
	c := New(cols, rows)
	start := threadTime()
	for p := range slices.Chunk(data, 4<<10) {
		_, _ = c.Write(p)
	}
	return float64((threadTime() - start).Nanoseconds()) / float64(len(data))
}

// checkResizes resizes the screen several times, and writes output after each resize.
func checkResizes(t *testing.T, c *Core, data []byte, n int) {
	t.Helper()
	cols, rows := c.Size()
	for _, size := range [][2]int{{n % 30, n % 7}, {rows, cols % 100}, {cols + n, rows + n%9}, {cols, rows}} {
		c.Resize(size[0], size[1])
		checkBounds(t, c)
		c.Changed()
		_, _ = c.Write(data[:min(len(data), 200)])
		checkBounds(t, c)
	}
	c = restored(t, c)
	checkBounds(t, c)
	c.History(100)
}

// beginning returns the first bytes of the output in a recording, and not many more than n.
func beginning(cast *Cast, n int) []byte {
	var all []byte
	for _, e := range cast.Events {
		if e.Kind == CastOutput && len(all) < n {
			all = append(all, e.Data...)
		}
	}
	return all[:min(len(all), n)]
}

// hostile returns pieces of output that are short but take much time, or that other emulators did
// not survive.
func hostile() []string {
	return []string{
		"\x1b[999999999I\x1b[5;50r\x1b[T\x1b[65535b\x1b[?6h\x1b[c\x9c\x1b]0;\xe2\x9c\xb3\a",
		"\x1b[65535b", "a\x1b[65535b", "漢\x1b[65535b", "漢\x1b[128b", "e\u0301\x1b[128b", "a\x1b[128b",
		"e\u0301\x1b[65535b", "\u0600\x1b[65535b", "\x1b[65535I", "\x1b[65535Z", "\x1b[65535L",
		"\x1b[M", "\x1b[65535S", "\x1b[S", "\x1b[65535T", "\x1b[65535@", "\x1b[@", "\x1b[P", "\x1b[2J",
		"\x1b[41m\x1b[2J\x1b[42m\x1b[2J",
		"x\x1b[J\x1b[1J", "\x1b[?2J", "\x1b[K", "\x1b[1K", "\x1b[?1049h\x1b[?1049l", "\x1b[?47hx\x1b[?47l",
		"e\u0301\u0302", "\n", "\x1bM", "\x1bD", "\x1b[c",
		"\x1bc", "\x1bcx", "\x1b[!p", "\x1b#8", "\x1b#8\x1b[99S", "\x1b[65535X", "\x1b[65535 @", "\x1b[ @",
		"\x1b[ @\x1b[ A", "\x1b[65535'}", "\x1b['}", "\x1b['~",
		"\x1b]8;;http://x\x1b\\x", "\x1b[>1u", "\x1b[22t", "\x1b]0;x\a", "\a", "\x1bP+q;;;;\x1b\\", "\x1b[;;;;;;;;;;",
		"\x1b[2;299r\n",
		"\x1b[4hx", "漢", "\x1b[;m", "\t", "\x1b[3g\x1bH\t", "\xff", "\xe2\x96", "👩\u200d💻",
		"\x1b[?2026h\x1b[?2026l", "\x1b[3J", "\x1b7x\x1b8",
		"a\x1b[1\"q\x1b[?2J", "a\x1b[1\"q\x1b[?a\x1b[11\"zzzzzzq\x1b[?Ja\x1b[1\"q\x1b[?2J",
		"\x1b[1\"qab\x1b[0\"qcd\r\n\x1b[?2J", "\x1b]0;never ended ", "\x1bPq never ended ", "\x1b_G never ended ",
		"\x1b]52;c;QUJD",
	}
}

// TestHostileFloods writes output that takes much time in relation to its length. The test only
// checks that it ends, because a limit on its time would fail on a busy machine.
func TestHostileFloods(t *testing.T) {
	t.Parallel()
	for _, unit := range hostile() {
		c := New(DefaultCols, DefaultRows)
		for range 300 {
			_, _ = c.Write([]byte(unit))
		}
		checkBounds(t, c)
	}
	c := New(DefaultCols, DefaultRows)
	for i := range 20_000 { // more links than a screen keeps, all of them on the screen
		_, _ = fmt.Fprintf(c, "\x1b]8;;http://x/%d\x1b\\x", i)
	}
	checkBounds(t, c)
}
