package holder

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"
	"coleo.dev/holder/journal"
	"coleo.dev/holder/process"
)

// load starts a holder with a program that writes endlessly. The function `writtenSoFar` returns how many bytes
// the kernel has taken from the program.
func load(t *testing.T, kind string, change func(*Launch)) (s Status, l Launch, writtenSoFar func() int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "said")
	if err := os.WriteFile(path, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	count, err := mapCounter(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(count) })
	s, l = startLaunch(t, change, os.Args[0], writerArg, kind, path)
	return s, l, func() int { return int(binary.NativeEndian.Uint64(count)) }
}

// inTransit is how many bytes can be between a program's write and the journal. They are in the
// kernel's buffers of the pseudo-terminal, in the pipe, and in one write of the program.
const inTransit = 128 << 10

// awaitPause waits until a count has stayed the same for 300 ms, and returns it.
func awaitPause(t *testing.T, count func() int) int {
	t.Helper()
	const pause = 300 * time.Millisecond
	last, since := count(), time.Now()
	for deadline := time.Now().Add(patience); time.Since(since) <= pause; time.Sleep(betweenLooks) {
		if now := count(); now != last {
			last, since = now, time.Now()
		}
		if time.Now().After(deadline) {
			t.Fatalf("it goes on to grow, to %d", last)
		}
	}
	return last
}

func TestTheWriterIsHeldBackWhenTheHostAgentIsBehind(t *testing.T) {
	t.Parallel()
	_, l, writtenSoFar := load(t, "binary", nil)
	c := dial(t, l)
	wait(t, func() bool { return writtenSoFar() >= unreadLimit })
	written := awaitPause(t, writtenSoFar)
	if written > unreadLimit+inTransit {
		t.Fatalf("the writer got %d bytes off with nobody reading, want at most %d", written, unreadLimit+inTransit)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := c.Lead(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for got := 0; got < written+1<<20; {
		chunk, err := stream.Next()
		if err != nil {
			t.Fatal(err)
		}
		if want := outputFrom("binary", int(chunk.Offset), len(chunk.Data)); !bytes.Equal(chunk.Data, want) {
			t.Fatalf("the output is wrong at offset %d", chunk.Offset)
		}
		got += len(chunk.Data)
	}
}

func TestOnlyWhatASnapshotCoversIsDeleted(t *testing.T) {
	t.Parallel()
	const keep = 3 * journal.SegmentSize
	_, l, _ := load(t, "text", func(l *Launch) { l.Keep, l.Alone = keep, true })
	c := dial(t, l)
	wait(t, func() bool { s, err := c.Status(); return err == nil && s.End > 6*journal.SegmentSize })
	if s, err := c.Status(); err != nil || s.Start != 0 {
		t.Fatalf("with nothing covered the journal begins at %d (%v), want all of it", s.Start, err)
	}
	if err := c.Covered(2*journal.SegmentSize + 5); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Status(); err != nil || s.Start != 2*journal.SegmentSize {
		t.Fatalf("covered to within the third segment, the journal has %d to %d (%v), want it to begin at %d", s.Start,
			s.End, err, 2*journal.SegmentSize)
	}
	s, err := c.Status()
	if err != nil {
		t.Fatal(err)
	}
	covered := s.End
	if err := c.Covered(covered); err != nil {
		t.Fatal(err)
	}
	s, err = c.Status() // the program has written more since Covered, but only the output up to `covered` is in a snapshot
	if err != nil || s.End-s.Start < keep || covered-s.Start > keep+2*journal.SegmentSize ||
		s.Start <= 2*journal.SegmentSize {
		t.Fatalf("covered up to %d, the journal has %d to %d (%v), want about %d bytes before what is covered", covered,
			s.Start, s.End, err, keep)
	}
	if coleo.ErrorCode(c.Covered(s.End+1<<40)) != coleo.EInvalid {
		t.Error("output that is not there yet can be covered")
	}
	marks, err := journal.Marks(JournalDir(l.Dir))
	if err != nil || len(marks) == 0 || marks[0].Kind != journal.MarkResize || marks[0].Cols != 80 {
		t.Fatalf("marks = %v (%v), want the last size first", marks, err)
	}
	if _, err := journal.NewReader(JournalDir(l.Dir), 0).Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read of what is gone = %v, want an error that says so", err)
	}
}

func TestAProgramThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	_, l, writtenSoFar := load(t, "binary", func(l *Launch) { l.Alone = true })
	typist, other := dial(t, l), dial(t, l)
	if err := other.Pace(2 << 20); err != nil { // the program writes for seconds
		t.Fatal(err)
	}
	much := make([]byte, 1<<20)
	if w, err := typist.Write(Write{ID: "answer", Kind: WriteReply, Data: much}); err != nil || !w.Applied {
		t.Fatalf("an answer that nobody reads = %+v, %v", w, err)
	}
	typed := make(chan error, 1)
	began, before := time.Now(), writtenSoFar()
	go func() {
		_, err := typist.Write(Write{ID: "keys", Kind: WriteKeys, Data: much[:terminalBuffer]})
		typed <- err
	}()
	var err error
	for waiting := true; waiting; { // the holder must answer others while the keys wait
		if _, err := other.Status(); err != nil {
			t.Fatal(err)
		}
		select {
		case err = <-typed:
			waiting = false
		case <-time.After(10 * time.Millisecond): // between two questions
		}
	}
	if n := writtenSoFar() - before; n <= inTransit {
		t.Errorf("the program wrote %d bytes while the keys waited: the arm stood still", n)
	}
	if coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("keys that nobody reads = %v, want %s", err, coleo.EConflict)
	}
	if took := time.Since(began); took < typeTimeout {
		t.Errorf("the keys waited %s, want %s", took, typeTimeout)
	}
}

func TestAHostAgentSaysHowFarTheDrainMayLead(t *testing.T) {
	t.Parallel()
	_, l, writtenSoFar := load(t, "binary", nil)
	c := dial(t, l)
	const ahead = 1 << 20
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := c.Lead(ctx, 0, ahead)
	if err != nil {
		t.Fatal(err)
	}
	before := 0 // bytes that the program wrote before the holder limited how far it reads ahead
	read := 0
	for range 8 {
		chunk, err := stream.Next()
		if err != nil {
			t.Fatal(err)
		}
		if before == 0 {
			before = writtenSoFar()
		}
		read = int(chunk.Offset) + len(chunk.Data)
		written, since := writtenSoFar(), time.Now()
		wait(t, func() bool {
			if now := writtenSoFar(); now != written {
				written, since = now, time.Now()
			}
			return time.Since(since) > 100*time.Millisecond
		})
		if most := max(read+ahead+socketBuffers, before) + inTransit; written > most {
			t.Fatalf("the writer got %d bytes off where %d were read, want at most %d", written, read, most)
		}
	}
	cancel()
	wait(t, func() bool { return writtenSoFar() >= read+8*(ahead+inTransit) }) // the bound holds no longer
}

// socketBuffers is how many bytes a stream holds between the holder and its reader.
const socketBuffers = 1 << 20

func TestAFloodKeepsToThePaceAsLongAsTheHostAgentIsThere(t *testing.T) {
	t.Parallel()
	_, l, writtenSoFar := load(t, "binary", nil)
	c := dial(t, l)
	if coleo.ErrorCode(c.Pace(-1)) != coleo.EInvalid {
		t.Error("a pace below 0 is taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := c.Lead(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var read atomic.Int64
	go func() {
		for chunk, err := stream.Next(); err == nil; chunk, err = stream.Next() {
			read.Store(int64(chunk.Offset) + int64(len(chunk.Data)))
		}
	}()
	const rate = 2 << 20
	wait(t, func() bool { return writtenSoFar() > rate })
	if err := c.Pace(rate); err != nil {
		t.Fatal(err)
	}
	before, since := writtenSoFar(), time.Now()
	wait(t, func() bool { return time.Since(since) > time.Second })
	most := int(rate*time.Since(since).Seconds()) + inTransit
	if got := writtenSoFar() - before; got > most || got == 0 {
		t.Fatalf("%d bytes in %s, want some, and %d at most", got, time.Since(since), most)
	}
	// Wait until the reader has read all output from before the call of Pace. Otherwise that output would slow
	// down the writer below.
	wait(t, func() bool { return int(read.Load()) >= before })
	cancel()
	const much = 6 * rate
	begin, since := writtenSoFar(), time.Now()
	wait(t, func() bool { return writtenSoFar() >= begin+much })
	if took := time.Since(since); took > much/rate*time.Second {
		t.Errorf("the pace held on when the host agent had gone: %s", took)
	}
}

// TestAFullDiskLosesNothingEvenWhenTheHolderDies kills a holder while the disk is full. The holder has taken
// output from the terminal that it could not write to the disk. This output waits in a pipe. The guard, a
// second process beside the holder, also holds the pipe, and must write the output to the journal.
func TestAFullDiskLosesNothingEvenWhenTheHolderDies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mount := func(flags uintptr, size string) error {
		return syscall.Mount("tmpfs", dir, "tmpfs", flags, "mode=700,size="+size)
	}
	if err := mount(0, "1m"); err != nil {
		t.Skip("no file system of our own can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s, l, writtenSoFar := load(t, "text", func(l *Launch) { l.Dir = filepath.Join(dir, "hold") })
	c := dial(t, l)
	wait(t, func() bool { now, err := c.Status(); return err == nil && now.Blocked != "" })
	if err := syscall.Kill(s.Holder.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return !process.Same(s.Process) })
	if err := mount(syscall.MS_REMOUNT, "16m"); err != nil {
		t.Fatal(err)
	}
	if err := AwaitGuard(l.Dir); err != nil {
		t.Fatal(err)
	}
	got := journalOf(t, l.Dir)
	if want := outputFrom("text", 0, len(got)); !bytes.Equal(got, want) || len(got) < writtenSoFar() {
		t.Fatalf("the journal has %d bytes, right up to %d; the program had written %d", len(got),
			firstDifference(got, want), writtenSoFar())
	}
}

// TestTheLastOutputOfAProgramIsKeptWhenTheHostAgentIsBehind ends a program whose last output is still in the
// terminal, because the host agent does not read. The holder must keep this output until the host agent reads again.
func TestTheLastOutputOfAProgramIsKeptWhenTheHostAgentIsBehind(t *testing.T) {
	t.Parallel()
	s, l, writtenSoFar := load(t, "binary", nil)
	c := dial(t, l)
	stream, err := c.Lead(t.Context(), 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	wait(t, func() bool { return writtenSoFar() >= 1<<20 })
	written := awaitPause(t, writtenSoFar)
	if err := syscall.Kill(s.Process.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	wait(t, func() bool { return time.Since(ended) > drainAfterExit+time.Second })
	got := 0
	for {
		chunk, err := stream.Next()
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Exit != nil {
			break
		}
		if want := outputFrom("binary", got, len(chunk.Data)); !bytes.Equal(chunk.Data, want) {
			t.Fatalf("the output is wrong at offset %d", chunk.Offset)
		}
		got += len(chunk.Data)
	}
	if got < written {
		t.Fatalf("the program wrote %d bytes, and the holder kept %d: %d are lost", written, got, written-got)
	}
}
