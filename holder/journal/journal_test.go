package journal

import (
	"bytes"
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
