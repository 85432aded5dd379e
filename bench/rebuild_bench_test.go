package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
	"coleo.dev/pty"
)

// rebuildBound is the longest time from attaching to an arm until its screen is there, whatever the
// arm has written before.
const rebuildBound = 60 * time.Millisecond

// BenchmarkRebuild measures the time from attaching a session until its screen is there. The arm
// has 256 MiB of history, and nearly a whole segment since the last snapshot. That is the worst
// state that a kill -9 can leave. For comparison, it measures the same without any snapshot.
func BenchmarkRebuild(b *testing.B) {
	h := harness(b, "fake")
	c := config(b, h, "")
	const last = "the very last line"
	total := flood(b, c.Workdir, last)
	ok(b, os.WriteFile(c.Binary,
		[]byte("#!/bin/sh\nstty raw -echo\ncat many many many many many many many many tail\nexec cat >/dev/null\n"),
		0o700))
	c.Keep = 1 << 30
	s, err := h.Spawn(b.Context(), c)
	ok(b, err)
	handle := s.Handle()
	b.Cleanup(func() {
		if client, err := holder.Dial(handle.Dir, handle.Nonce); err == nil {
			_ = client.End(handle.Arm, 0)
			_ = client.Close()
		}
	})
	awaitLast(b, s, last)
	ok(b, s.Close())
	if _, end, err := journal.Span(holder.JournalDir(handle.Dir)); err != nil || end != total {
		b.Fatalf("the journal ends at %d (%v), want %d", end, err, total)
	}
	kept := keepWhole(b, handle.Dir)
	var took []time.Duration
	for b.Loop() {
		took = append(took, attach(b, h, handle, last))
		keepWhole(b, handle.Dir)
	}
	b.ReportMetric(0, "ns/op")
	report(b, took, "rebuild")
	b.ReportMetric(float64(kept)/1e6, "snapshots-MB")
	ok(b, os.RemoveAll(filepath.Join(handle.Dir, "snapshots")))
	b.ReportMetric(millis(attach(b, h, handle, last)), "without-ms")
	if median := at(took, 50); median > rebuildBound {
		b.Errorf("a screen is rebuilt in %s, more than %s", median, rebuildBound)
	}
}

// flood writes the files with the program's output. The program prints the file "many" eight times,
// and then the output of real agent CLIs. flood returns the total size.
func flood(b *testing.B, dir, last string) int64 {
	b.Helper()
	const history = 256 << 20
	var many, tail []byte
	for n := 0; len(many) < history/8-200; n++ {
		many = fmt.Appendf(many, "line %d, \x1b[3%dmof some colour\x1b[m and %x\r\n", n, n%8, n*n)
	}
	many = append(many, bytes.Repeat([]byte("."), history/8-len(many))...)
	casts, err := filepath.Glob("../pty/testdata/casts/claude-*.cast")
	ok(b, err)
	for len(tail) < journal.SegmentSize-64<<10 {
		for _, path := range casts {
			f, err := os.Open(path)
			ok(b, err)
			cast, err := pty.ReadCast(f)
			ok(b, err)
			_ = f.Close()
			for _, e := range cast.Events {
				if e.Kind == pty.CastOutput {
					tail = append(tail, e.Data...)
				}
			}
		}
	}
	tail = append(tail[:journal.SegmentSize-64<<10], "\x18\x1bc\x1b[H"+last...)
	ok(b, os.WriteFile(filepath.Join(dir, "many"), many, 0o600))
	ok(b, os.WriteFile(filepath.Join(dir, "tail"), tail, 0o600))
	return 8*int64(len(many)) + int64(len(tail))
}

// keepWhole deletes the snapshots that are not at the end of a whole segment. A session writes such a snapshot
// when it is closed, which a kill -9 would prevent. keepWhole returns the size of the other snapshots.
func keepWhole(b *testing.B, dir string) (size int64) {
	b.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	ok(b, err)
	for _, e := range entries {
		offset, err := strconv.ParseInt(strings.TrimSuffix(e.Name(), ".screen"), 16, 64)
		ok(b, err)
		if offset%journal.SegmentSize != 0 {
			ok(b, os.Remove(filepath.Join(dir, "snapshots", e.Name())))
			continue
		}
		info, err := e.Info()
		ok(b, err)
		size += info.Size()
	}
	return size
}

// attach attaches to the session, and returns the time until its screen is there.
func attach(b *testing.B, h coleo.Harness, handle coleo.Handle, last string) time.Duration {
	b.Helper()
	start := time.Now()
	s, err := h.Attach(b.Context(), handle)
	ok(b, err)
	view := s.(coleo.Terminal).Screen()
	took := time.Since(start)
	if view.Lines[0] != last {
		b.Fatalf("the screen begins with %q, want %q", view.Lines[0], last)
	}
	ok(b, s.Close())
	return took
}

func awaitLast(b *testing.B, s coleo.Session, last string) {
	b.Helper()
	for deadline := time.Now().Add(patience); s.(coleo.Terminal).Screen().Lines[0] != last; {
		if time.Now().After(deadline) {
			b.Fatal("the output has not been read in time")
		}
		time.Sleep(50 * time.Millisecond)
	}
}
