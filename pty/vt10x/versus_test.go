package vt10x

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	hinshun "github.com/hinshun/vt10x"

	"coleo.dev/pty"
)

// BenchmarkVersus compares three emulators on the same writes: Core, vt10x, and vt10x behind the filter. The emulators
// take turns, so that a busy machine slows all of them alike. The benchmark reports the ns/byte of each, and the time
// of each vt10x divided by the time of Core. If this quotient is above 1, Core is faster, although Core does more:
// history, wide characters, replies.
func BenchmarkVersus(b *testing.B) {
	for _, x := range []struct {
		name   string
		writes [][]byte
	}{
		{"agent-traffic", agentTraffic(b)},
		{"plain-text", plainText()},
		{"SGR", colouredText(256 << 10)},
	} {
		b.Run(x.name, func(b *testing.B) { versus(b, x.writes) })
	}
}

// plainText returns 256 KiB of ASCII lines in writes of 4 KiB.
func plainText() [][]byte {
	line := "the quick brown fox jumps over the lazy dog 0123456789\r\n"
	return pieces(strings.Repeat(line, 256<<10/len(line)))
}

// colouredText returns n bytes or a few more of words, each in another colour.
func colouredText(n int) [][]byte {
	var all strings.Builder
	for i := 0; all.Len() < n; i++ {
		fmt.Fprintf(&all, "\x1b[1;38;5;%dmword\x1b[0m \x1b[38;2;%d;90;7mword\x1b[39m ", i%256, i%200)
		if i%8 == 7 {
			all.WriteString("\r\n")
		}
	}
	return pieces(all.String())
}

func pieces(s string) [][]byte {
	const write = 4 << 10 // the most that one read of a terminal returns, in bytes
	var out [][]byte
	for p := []byte(s); len(p) > 0; p = p[min(write, len(p)):] {
		out = append(out, bytes.Clone(p[:min(write, len(p))]))
	}
	return out
}

// agentTraffic returns the output of all recordings, one after the other.
func agentTraffic(b *testing.B) [][]byte {
	b.Helper()
	all := recordings(b)
	var out [][]byte
	for _, path := range slices.Sorted(maps.Keys(all)) {
		for _, e := range all[path].Events {
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

func versus(b *testing.B, writes [][]byte) {
	core := pty.New(pty.DefaultCols, pty.DefaultRows)
	plain := hinshun.New(hinshun.WithSize(pty.DefaultCols, pty.DefaultRows))
	behind := hinshun.New(hinshun.WithSize(pty.DefaultCols, pty.DefaultRows))
	f := filter{cells: pty.DefaultCols * pty.DefaultRows}
	emulators := []struct {
		name  string
		write func([]byte)
		took  time.Duration
	}{
		{name: "core", write: func(p []byte) { _, _ = core.Write(p) }},
		{name: "filter+vt10x", write: func(p []byte) { _, _ = behind.Write(f.pass(p)) }},
		{name: "vt10x", write: func(p []byte) { _, _ = plain.Write(p) }},
	}
	for b.Loop() {
		for i := range emulators {
			e := &emulators[i]
			start := time.Now()
			for _, w := range writes {
				e.write(w)
			}
			e.took += time.Since(start)
		}
		core.Replies()
		core.Notices()
	}
	b.ReportMetric(0, "ns/op") // the time of all together has no meaning
	for _, e := range emulators {
		b.ReportMetric(float64(e.took.Nanoseconds())/float64(b.N)/float64(size(writes)), e.name+"-ns/byte")
		if e.name != "core" {
			b.ReportMetric(float64(e.took)/float64(emulators[0].took), e.name+"/core-ratio")
		}
	}
}
