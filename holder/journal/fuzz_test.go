package journal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// FuzzJournal puts random bytes into the index and the segments. The package must read these bytes or refuse
// them. It must be possible to write more output afterwards and to read it.
func FuzzJournal(f *testing.F) {
	mark := Mark{Time: time.UnixMilli(5), Offset: 3, Kind: MarkResize, Cols: 80, Rows: 24}
	f.Add(mark.encode(), []byte("output"), int64(0))
	f.Add(append(mark.encode(), "torn"...), []byte{}, int64(4096))
	f.Fuzz(func(t *testing.T, index, output []byte, start int64) {
		dir := t.TempDir()
		start &= 1<<62 - 1
		for path, raw := range map[string][]byte{indexPath(dir): index, segmentPath(dir, start): output} {
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := decodeMarks(index)
		j, err := Create(dir)
		if err != nil {
			t.Fatal(err)
		}
		j.Mark(Mark{Time: time.UnixMilli(7), Kind: MarkExit})
		if _, err := j.Append([]byte("more"), time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		marks, err := Marks(dir)
		end := start + int64(len(output))
		if err != nil || len(marks) < len(before)+1 || marks[len(before)].Kind != MarkExit ||
			marks[len(before)].Offset != end {
			t.Fatalf("marks = %+v (%v), want the %d before and the end at %d", marks, err, len(before), end)
		}
		got, err := io.ReadAll(NewReader(dir, start))
		if err != nil || !bytes.Equal(got, append(bytes.Clone(output), "more"...)) {
			t.Fatalf("read %q, %v", got, err)
		}
		if start > 0 {
			if _, err := NewReader(dir, start-1).Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
				t.Fatalf("read before the beginning = %v", err)
			}
		}
	})
}
