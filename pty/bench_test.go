package pty

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// agentTraffic returns the output of all recordings, one after the other.
func agentTraffic(b *testing.B) [][]byte {
	b.Helper()
	var out [][]byte
	for _, path := range recordings(b) {
		for _, e := range readCast(b, path).Events {
			if e.Kind == CastOutput {
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

func BenchmarkAgentTraffic(b *testing.B) {
	writes := agentTraffic(b)
	c := New(DefaultCols, DefaultRows)
	b.SetBytes(int64(size(writes)))
	b.ReportAllocs()
	for b.Loop() {
		for _, w := range writes {
			_, _ = c.Write(w)
		}
		c.Replies()
		c.Notices()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size(writes)), "ns/byte")
}

// BenchmarkReading measures a Core that receives the output of agent CLIs. After each write, it also reads the
// changed rows of the screen, as a session does.
func BenchmarkReading(b *testing.B) {
	writes := agentTraffic(b)
	c := New(DefaultCols, DefaultRows)
	b.SetBytes(int64(size(writes)))
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		for _, w := range writes {
			_, _ = c.Write(w)
			for _, y := range c.Changed().Rows {
				_ = c.Row(y)
				rows++
			}
			c.Replies()
			c.Notices()
		}
	}
	b.ReportMetric(float64(rows)/float64(b.N)/float64(len(writes)), "rows/write")
}

func BenchmarkFlood(b *testing.B) {
	data := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog 0123456789\r\n"), 1000)
	c := New(DefaultCols, DefaultRows)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = c.Write(data)
	}
}

func BenchmarkView(b *testing.B) {
	c := New(DefaultCols, DefaultRows)
	_, _ = c.Write(bytes.Join(agentTraffic(b)[:200], nil))
	b.ReportAllocs()
	for b.Loop() {
		_ = c.View()
	}
}

// BenchmarkMemory reports the heap of three screens. On the first one every cell is written. On the
// second one the alternate screen is full, too. The third one has 10,000 lines of history.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		drawn, alt, full := memory()
		b.ReportMetric(drawn, "MB/drawn")
		b.ReportMetric(alt, "MB/alt")
		b.ReportMetric(full, "MB/10k-lines")
	}
}

// memory returns the memory of a screen of 120x40, in MB. It measures the screen with every cell
// written, with the alternate screen also full, and with 10,000 different lines of history.
func memory() (drawn, alt, full float64) {
	const screens = 20
	New(DefaultCols, DefaultRows) // loads the table of widths, which all screens share
	all := make([]*Core, screens)
	before := liveHeap()
	each := func(f func(c *Core)) float64 {
		for _, c := range all {
			f(c)
		}
		return float64(liveHeap()-before) / screens / 1e6
	}
	fill := bytes.Repeat([]byte("0123456789"), DefaultCols*DefaultRows/10)
	for i := range all {
		all[i] = New(DefaultCols, DefaultRows)
	}
	drawn = each(func(c *Core) { _, _ = c.Write(fill) })
	alt = each(func(c *Core) {
		_, _ = c.Write([]byte("\x1b[?1049h\x1b]0;title\a"))
		_, _ = c.Write(fill)
	})
	full = each(func(c *Core) {
		_, _ = c.Write([]byte("\x1b[?1049l"))
		for i := range historyLines {
			_, _ = fmt.Fprintf(c, "line %d: the quick brown fox jumps over the lazy dog, again and again\r\n", i)
		}
	})
	runtime.KeepAlive(all)
	return drawn, alt, full
}

// TestMemoryIsWithinItsBars checks the limits that docs/screen.md promises.
func TestMemoryIsWithinItsBars(t *testing.T) {
	drawn, alt, full := memory()
	if drawn > 0.3 || alt > 0.3 || full > 2.5 {
		t.Errorf("%.2f MB drawn, %.2f MB with the alternate screen, %.2f MB with 10,000 lines; want at most 0.3, "+
			"0.3 and 2.5", drawn, alt, full)
	}
	t.Logf("%.2f MB drawn, %.2f MB with the alternate screen, %.2f MB with 10,000 lines", drawn, alt, full)
}

// BenchmarkHostile reports the time of the slowest hostile output, in ms for each MiB. It fails
// above 200 ms.
func BenchmarkHostile(b *testing.B) {
	for _, size := range [][2]int{{1, 1}, {5, 3}, {DefaultCols, DefaultRows}, {500, 300}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			worst, which := 0.0, ""
			for b.Loop() {
				worst, which = slowestInput(size[0], size[1])
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(worst*(1<<20)/1e6, "ms/MiB")
			if worst > slowest {
				b.Errorf("%q takes %.0f ns a byte, more than %d", which, worst, slowest)
			}
		})
	}
}

func slowestInput(cols, rows int) (worst float64, which string) {
	const most = 5 // number of measurements of each output; the shortest time counts
	for _, in := range hostile() {
		data := append([]byte("\x1b#8"), bytes.Repeat([]byte(in), (512<<10)/len(in))...)
		took := perByte(data, cols, rows)
		for range most - 1 {
			took = min(took, perByte(data, cols, rows))
		}
		if took > worst {
			worst, which = took, in
		}
	}
	return worst, which
}

// colouredText returns at least n bytes of words in changing colors.
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
	const write = 4 << 10 // the largest result of one read of a terminal, in bytes
	var out [][]byte
	for p := []byte(s); len(p) > 0; p = p[min(write, len(p)):] {
		out = append(out, bytes.Clone(p[:min(write, len(p))]))
	}
	return out
}

// BenchmarkSnapshot measures how long it takes to save and to restore a screen, with and without a
// full history.
func BenchmarkSnapshot(b *testing.B) {
	full := New(DefaultCols, DefaultRows)
	// Fills the history with what agent CLIs print, because one repeated line would be too easy to save.
	for full.history.lines < historyLines {
		for _, w := range agentTraffic(b) {
			_, _ = full.Write(bytes.ReplaceAll(strip(w), []byte("\n"), []byte("\r\n")))
		}
	}
	drawn := New(DefaultCols, DefaultRows)
	for _, w := range agentTraffic(b)[:200] {
		_, _ = drawn.Write(w)
	}
	for name, c := range map[string]*Core{"drawn": drawn, "10k-lines": full} {
		data := c.Snapshot()
		b.Run(name+"/keep", func(b *testing.B) {
			for b.Loop() {
				_ = c.Snapshot()
			}
			b.ReportMetric(float64(len(data)), "bytes")
		})
		b.Run(name+"/restore", func(b *testing.B) {
			for b.Loop() {
				if _, err := Restore(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStrip(b *testing.B) {
	writes := agentTraffic(b)
	b.SetBytes(int64(size(writes)))
	var s Stripper
	for b.Loop() {
		for _, w := range writes {
			_ = s.Strip(w)
		}
	}
}
