package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/pty"
)

// traffic is output of one kind, divided into the writes that a terminal receives.
type traffic struct {
	name   string
	writes [][]byte
}

const (
	mostWrite = 4 << 10   // the most that one read from a terminal returns, in bytes
	synthetic = 256 << 10 // how much of each synthetic kind is generated, in bytes
)

func allTraffic(b *testing.B) []traffic {
	b.Helper()
	return []traffic{
		{"plain", cut(repeat(func(int) string {
			return "the quick brown fox jumps over the lazy dog 0123456789\r\n"
		}))},
		{"SGR", cut(repeat(coloured))},
		{"TUI", cut(repeat(redraw))},
		{"agent", recorded(b)},
	}
}

func repeat(piece func(i int) string) string {
	var all strings.Builder
	for i := 0; all.Len() < synthetic; i++ {
		all.WriteString(piece(i))
	}
	return all.String()
}

// coloured returns a line of words with changing colours.
func coloured(i int) string {
	var line strings.Builder
	for k := range 8 {
		fmt.Fprintf(&line, "\x1b[1;38;5;%dmword\x1b[0m \x1b[38;2;%d;90;7mword\x1b[39m ", (8*i+k)%256, (8*i+k)%200)
	}
	return line.String() + "\r\n"
}

// redraw returns a frame of a program that uses the whole screen. The frame has a title bar, a
// framed table with some changing rows, a scroll region and a status line.
func redraw(i int) string {
	var f strings.Builder
	fmt.Fprintf(&f,
		"\x1b[?2026h\x1b[?25l\x1b[H\x1b[7m top %-100d\x1b[m\x1b[K\x1b[3;30r\x1b[30H\r\n\x1b[r\x1b[30;1H│ line %d\x1b[K",
		i, i)
	for y := 3; y < 30; y += 1 + i%3 {
		fmt.Fprintf(&f, "\x1b[%d;1H│\x1b[%d;3H\x1b[3%dm%6d\x1b[m  漢字 %s\x1b[%d;100H│", y, y, y%8, i*y,
			strings.Repeat("━", (i+y)%40), y)
	}
	fmt.Fprintf(&f, "\x1b[31;1H╰%s╯\x1b[40;1H\x1b[2K\x1b[2mstatus %d\x1b[m\x1b[?25h\x1b[?2026l",
		strings.Repeat("─", 98), i)
	return f.String()
}

func cut(s string) [][]byte {
	var out [][]byte
	for len(s) > 0 {
		n := min(mostWrite, len(s))
		out = append(out, []byte(s[:n]))
		s = s[n:]
	}
	return out
}

// recorded returns the output of all recordings of agent CLIs, one after another.
func recorded(b *testing.B) [][]byte {
	b.Helper()
	paths, err := filepath.Glob("../../pty/testdata/casts/*.cast")
	if err != nil || len(paths) == 0 {
		b.Fatalf("no recordings: %v", err)
	}
	var out [][]byte
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		cast, err := pty.ReadCast(file)
		_ = file.Close()
		if err != nil {
			b.Fatalf("%s: %v", path, err)
		}
		for _, e := range cast.Events {
			if e.Kind == pty.CastOutput {
				out = append(out, []byte(e.Data))
			}
		}
	}
	return out
}

func size(writes [][]byte) (n int) {
	for _, w := range writes {
		n += len(w)
	}
	return n
}
