package journal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAGapIsMarkedWhenAnArmIsEndedOnAFullDisk(t *testing.T) {
	t.Parallel()
	j, err := Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	j.Mark(Mark{Time: time.Now(), Kind: MarkGap, Lost: 70_000})
	marks, err := Marks(j.dir)
	if err != nil || len(marks) != 1 || marks[0].Lost != 70_000 || marks[0].Cols != 0 {
		t.Fatalf("marks = %+v, %v; want the gap of 70000 bytes", marks, err)
	}
}

func TestTheJournalIsReadAcrossSegmentsAndATornIndexIsRepaired(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for i := range 3 {
		p := bytes.Repeat([]byte{byte('a' + i)}, SegmentSize-7)
		want = append(want, p...)
		if n, err := j.Append(p, time.Now()); n != len(p) || err != nil {
			t.Fatalf("append = %d, %v", n, err)
		}
	}
	j.Mark(Mark{Time: time.Now(), Kind: MarkResize, Cols: 90, Rows: 30})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	index, _ := os.OpenFile(filepath.Join(dir, "index"), os.O_APPEND|os.O_WRONLY, 0)
	_, _ = index.Write([]byte("torn"))
	index.Close()
	if j, err = Create(dir); err != nil {
		t.Fatal(err)
	}
	j.Mark(Mark{Time: time.Now(), Kind: MarkExit})
	marks, err := Marks(dir)
	if err != nil || len(marks) < 2 {
		t.Fatalf("marks = %v, %v", marks, err)
	}
	last := marks[len(marks)-2:]
	if last[0].Cols != 90 || last[1].Kind != MarkExit || last[1].Offset != int64(len(want)) {
		t.Fatalf("last marks = %+v, want the resize and the end at %d", last, len(want))
	}
	got, err := io.ReadAll(NewReader(dir, 5))
	if err != nil || !bytes.Equal(got, want[5:]) {
		t.Fatalf("read %d bytes, %v; want %d", len(got), err, len(want)-5)
	}
}

// A reader lists the segments of a journal while the holder deletes an old segment. The reader must not
// conclude that the journal is empty.
func TestASegmentThatIsDeletedMeanwhileIsNoEmptyJournal(t *testing.T) {
	dir := t.TempDir()
	newest := segmentPath(dir, SegmentSize)
	if err := os.WriteFile(newest, []byte("output"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- makeAndDelete(ctx, segmentPath(dir, 0)) }()
	for range 1000 {
		if _, end, err := Span(dir); err != nil || end != SegmentSize+6 {
			t.Errorf("the journal ends at %d (%v), want %d", end, err, SegmentSize+6)
			break
		}
		r := NewReader(dir, 0)
		if n, err := r.Read(make([]byte, 1)); n == 0 && errors.Is(err, io.EOF) {
			t.Error("the reader says that the journal ends at 0")
			break
		}
		r.Close()
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// makeAndDelete makes a segment of one byte and deletes it, again and again.
func makeAndDelete(ctx context.Context, path string) error {
	for ctx.Err() == nil {
		err := os.WriteFile(path+".new", []byte("x"), 0o600)
		if err == nil {
			err = os.Rename(path+".new", path)
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
