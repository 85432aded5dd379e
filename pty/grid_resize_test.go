package pty

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestResize(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		in         string
		cols, rows int
		want       string // the history, then a line "--", then the screen
		x, y       int
	}{
		{"a long line wraps", "abcdefgh\r\nxy", 4, 4, "--|abcd|efgh|xy", 2, 2},
		{"a wrapped line joins", "abcdefghijkl\r\nxy", 20, 4, "--|abcdefghijkl|xy", 2, 1},
		{"wide characters are not halved", "abc漢字", 4, 4, "--|abc|漢字", 4, 1},
		{"the cursor stays with its text", "abcdefgh\x1b[6G", 4, 4, "--|abcd|efgh", 1, 1},
		{"blank rows below the cursor go first", "ab\r\ncd", 8, 2, "--|ab|cd", 2, 1},
		{"then the top goes into the history", "1\r\n2\r\n3\r\n4", 8, 2, "1|2|--|3|4", 1, 1},
		{"text below the cursor stays", "1\r\n2\r\n3\r\n4\x1b[3H", 8, 2, "1|2|--|3|4", 0, 0},
		{"a cursor right of the text gets no pending wrap", "ab\x1b[8G", 4, 4, "--|ab", 3, 0},
		{"new rows are below the text", "ab", 8, 6, "--|ab", 2, 0},
		{"the history comes back above a cursor at the bottom", "1\r\n2\r\n3\r\n4\r\n5\r\n漢e\u0301", 8, 5,
			"1|--|2|3|4|5|漢e\u0301", 3, 4},
		{"a wrap more than fits goes into the history", "abcdefgh\r\nijklmnop\r\n3\r\n4", 4, 4,
			"abcd|efgh|--|ijkl|mnop|3|4", 1, 3},
		{"no size is too small", "漢字", 0, -1, "漢|--|字", 2, 0},
	}
	for _, tt := range tests {
		c := draw(8, 4, tt.in)
		c.Resize(tt.cols, tt.rows)
		got := strings.Join(slices.Concat(c.History(99), []string{"--", strings.ReplaceAll(text(c), "\n", "|")}), "|")
		x, y := c.Cursor()
		if got != tt.want || x != tt.x || y != tt.y {
			t.Errorf("%s: %q, cursor %d,%d, want %q, %d,%d", tt.name, got, x, y, tt.want, tt.x, tt.y)
		}
		checkBounds(t, c)
	}
}

func TestAlternateScreenComesBackWhenItGrows(t *testing.T) {
	t.Parallel()
	c := New(12, 6)
	_, _ = c.Write([]byte("normal\x1b[?1049h\x1b[H"))
	for y := range 6 {
		_, _ = fmt.Fprintf(c, "\x1b[%dHrow %d 漢字ab", y+1, y)
	}
	_, _ = c.Write([]byte("\x1b[4H"))
	want := text(c)
	c.Resize(7, 2)
	checkBounds(t, c)
	c.Resize(9, 3)
	checkBounds(t, c)
	c.Resize(12, 6)
	if got := text(c); got != want {
		t.Errorf("after shrinking and growing:\n%s\nwant\n%s", got, want)
	}
	if x, y := c.Cursor(); x != 0 || y != 3 {
		t.Errorf("cursor %d,%d, want 0,3", x, y)
	}
	c.Resize(7, 2)
	_, _ = c.Write([]byte("\x1b[2Jnew"))
	c.Resize(12, 6)
	if got := strings.TrimSpace(text(c)); got != "new" {
		t.Errorf("what was erased while hidden came back: %q", got)
	}
	c.Resize(7, 2)
	_, _ = c.Write([]byte("\x1b[99 @\x1b[?2Jx"))
	c.Resize(12, 6)
	if got := strings.TrimSpace(text(c)); got != "x" {
		t.Errorf("what was shifted away and erased selectively came back: %q", got)
	}
	_, _ = c.Write([]byte("\x1b[?1049l"))
	if got := text(c); got != "normal" {
		t.Errorf("the normal screen after resizes: %q", got)
	}
}

// TestNoTextIsLostByResizing writes words between resizes to random sizes. All words must be in the
// history or on the screen.
func TestNoTextIsLostByResizing(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		c := New(20+rnd.IntN(60), 3+rnd.IntN(30))
		words := 0
		for range 10 {
			for range rnd.IntN(30) {
				_, _ = fmt.Fprintf(c, "<%d>%s", words, []string{" ", "\r\n", "漢", ""}[rnd.IntN(4)])
				words++
			}
			if rnd.IntN(3) == 0 {
				_, y := c.Cursor()
				_, _ = fmt.Fprintf(c, "\x1b[%dH\x1b[%dH\r\n", 1+rnd.IntN(y+1), y+1)
			}
			c.Resize(2+rnd.IntN(100), 1+rnd.IntN(40))
			checkBounds(t, c)
		}
		all := strings.Join(append(c.History(1<<20), c.View().Lines...), "")
		all = strings.NewReplacer(" ", "", "漢", "").Replace(all)
		for w := range words {
			if !strings.Contains(all, fmt.Sprintf("<%d>", w)) {
				t.Fatalf("round %d: word %d of %d is lost in %q", round, w, words, all)
			}
		}
	}
}

// TestResizeKeepsWorking writes random sequences between resizes to random sizes.
func TestResizeKeepsWorking(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		c := New(1+rnd.IntN(40), 1+rnd.IntN(20))
		for range 60 {
			_, _ = c.Write([]byte(piece(rnd)))
			if rnd.IntN(6) == 0 {
				c.Resize(rnd.IntN(40), rnd.IntN(20))
			}
			checkBounds(t, c)
		}
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	c := New(20, 3)
	for i := range 3 * historyLines {
		_, _ = fmt.Fprintf(c, "line %d  \r\n", i)
	}
	got := c.History(1 << 20)
	if n := len(got); n != historyLines {
		t.Fatalf("%d lines are kept, want %d", n, historyLines)
	}
	last := 3*historyLines - 3 // two lines and the cursor's row stay on the screen
	for i, line := range got {
		if want := fmt.Sprintf("line %d", last-historyLines+1+i); line != want {
			t.Fatalf("line %d is %q, want %q", i, line, want)
		}
	}
	if c.history.lines > historyLines+chunkLines {
		t.Errorf("%d lines are held", c.history.lines)
	}
	if got := c.History(2); len(got) != 2 || got[1] != fmt.Sprintf("line %d", last) {
		t.Errorf("the last 2 are %q", got)
	}
	if got := c.History(-1); got != nil {
		t.Errorf("History(-1) = %q", got)
	}
	_, _ = c.Write([]byte("\x1b[3J"))
	if got := c.History(5); len(got) != 0 {
		t.Errorf("after ED 3 %q", got)
	}
}

func TestHistoryOfBlankLinesIsBounded(t *testing.T) {
	t.Parallel()
	c := draw(20, 2, strings.Repeat("\n", 20*historyLines))
	if c.history.lines > historyLines+chunkLines || len(c.history.chunks) > historyLines/chunkLines+2 {
		t.Errorf("%d lines in %d chunks", c.history.lines, len(c.history.chunks))
	}
}

func TestHistoryIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	c := New(maxSize, 2)
	line := []byte(strings.Repeat("漢", maxSize/2) + "\r\n")
	for range historyLines {
		_, _ = c.Write(line)
	}
	if c.history.bytes > historyBytes+historyChunk {
		t.Errorf("%d bytes of history", c.history.bytes)
	}
	if n := len(c.History(1 << 20)); n < historyBytes/len(line)-100 {
		t.Errorf("only %d lines of history", n)
	}
}

func TestScrollingARegionMakesHistoryOnlyFromTheTopRow(t *testing.T) {
	t.Parallel()
	c := draw(10, 4, "1\r\n2\r\n3\r\n4\x1b[1;2r\x1b[2H\n\x1b[2;3r\x1b[3H\n\x1b[1;3r\x1b[S")
	if got := c.History(9); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("history %q, want 1 and 2", got)
	}
}

// A row that comes back from the history can contain several clusters. The table of clusters may become full
// just then. All clusters of that row must still be the same afterwards.
func TestARowThatComesBackKeepsItsClustersWhenTheTableIsFull(t *testing.T) {
	t.Parallel()
	const row = "a\u0301b\u0301c\u0301"
	for spare := range 4 {
		c := draw(8, 2, row+"\r\n2\r\n3")
		c.collectClusters() // the row is in the history now, so the table has none of its clusters
		for i := 0; len(c.clusters.list) < minClusters-spare; i++ {
			_, _ = fmt.Fprintf(c, "\r%c\u0302", 'Ā'+rune(i))
		}
		_, _ = c.Write([]byte("\r3 "))
		c.Resize(8, 3)
		if got := c.Row(0); got != row {
			t.Errorf("with room for %d clusters, the row is %q, want %q", spare, got, row)
		}
	}
}
