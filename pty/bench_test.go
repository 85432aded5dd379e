package pty

import (
	"bytes"
	"runtime"
	"testing"
)

// agentTraffic is the output of all recordings, one after the other.
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

// BenchmarkReading adds what a watcher does after every write.
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

// BenchmarkMemory reports the heap of a screen: fresh, on its alternate
// screen, and with 10,000 lines of history.
func BenchmarkMemory(b *testing.B) {
	const screens = 20
	line := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog, again and again\r\n"), 10_000)
	for b.Loop() {
		New(DefaultCols, DefaultRows) // the width table
		before := liveHeap()
		all := make([]*Core, screens)
		for i := range all {
			all[i] = New(DefaultCols, DefaultRows)
		}
		fresh := liveHeap()
		for _, c := range all {
			_, _ = c.Write([]byte("\x1b[?1049h\x1b[2Jx\x1b]0;title\a"))
		}
		alt := liveHeap()
		for _, c := range all {
			_, _ = c.Write([]byte("\x1b[?1049l"))
			_, _ = c.Write(line)
		}
		full := liveHeap()
		b.ReportMetric(float64(fresh-before)/screens/1e6, "MB/fresh")
		b.ReportMetric(float64(alt-before)/screens/1e6, "MB/alt")
		b.ReportMetric(float64(full-before)/screens/1e6, "MB/10k-lines")
		runtime.KeepAlive(all)
	}
}
