package past

import (
	"os"
	"slices"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/holder/journal"
)

// shotOf returns a snapshot of a screen that shows a text.
func shotOf(text string, offset int64) *reading.Snapshot {
	r := reading.New(&rules.Spec{Composer: rules.Composer{Bottom: "cursor"}}, 40, 8, time.Now(), func(coleo.Change) {})
	r.Feed([]byte(text), time.Now())
	s := r.Snapshot(time.Now())
	s.Offset = offset
	return s
}

// keeping returns a Writer, and a pointer to the offsets of the snapshots that it has saved.
func keeping(t *testing.T) (*Writer, *[]int64) {
	t.Helper()
	covered := &[]int64{}
	w := NewWriter(coleo.Handle{Dir: t.TempDir(), Nonce: "n1"},
		func(offset int64) { *covered = append(*covered, offset) })
	return w, covered
}

func TestASnapshotIsTakenWhereASegmentEnds(t *testing.T) {
	t.Parallel()
	w, covered := keeping(t)
	const end = 2 * journal.SegmentSize
	for _, offset := range []int64{end - 1, end, end, end + 1, journal.SegmentSize} {
		w.Capture(offset, func() *reading.Snapshot { return shotOf("hello", offset) })
		w.Wait()
	}
	if !slices.Equal(*covered, []int64{end}) || w.Newest() != end {
		t.Errorf("snapshots were written at %v, the newest at %d; want one at %d", *covered, w.Newest(), int64(end))
	}
	shot := w.folder.Newest(0, end)
	if shot == nil || shot.Offset != end || shot.Nonce != "n1" || shot.Core().View().Lines[0] != "hello" {
		t.Errorf("the newest snapshot is %+v", shot)
	}
	w.Stop()
	if w.Capture(3*journal.SegmentSize, func() *reading.Snapshot { return shotOf("late", 0) }); w.Newest() != end {
		t.Error("a Writer that was stopped takes a snapshot")
	}
}

func TestALastSnapshotNeedsEnoughOutput(t *testing.T) {
	t.Parallel()
	w, covered := keeping(t)
	w.StartFrom(100)
	take := func() *reading.Snapshot { return shotOf("bye", 100+lastBytes) }
	if write := w.Last(100+lastBytes-1, take); write != nil {
		t.Error("a little output is worth a snapshot")
	}
	write := w.Last(100+lastBytes, take)
	if write == nil {
		t.Fatal("much output is not worth a snapshot")
	}
	if write(); !slices.Equal(*covered, []int64{100 + lastBytes}) {
		t.Errorf("snapshots were written at %v", *covered)
	}
}

func TestOnlySnapshotsOfThisGenerationAreUsed(t *testing.T) {
	t.Parallel()
	h := coleo.Handle{Dir: t.TempDir(), Nonce: "n1"}
	f := FolderOf(h)
	put := func(offset int64, nonce string) []byte {
		t.Helper()
		s := shotOf("x", offset)
		s.Nonce = nonce
		data, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.write(offset, data); err != nil {
			t.Fatal(err)
		}
		return data
	}
	data := put(10, "n1")
	put(20, "another")
	if err := f.write(30, data); err != nil { // data belongs to another offset
		t.Fatal(err)
	}
	if err := f.write(40, data[:len(data)/2]); err != nil {
		t.Fatal(err)
	}
	if got := f.Newest(0, 50); got == nil || got.Offset != 10 {
		t.Errorf("the newest usable snapshot is %+v, want the one at 10", got)
	}
	if got := f.oldestFrom(11); got != nil {
		t.Errorf("from 11 on there is the snapshot %+v, want none", got)
	}
	if got := (Folder{dir: f.dir}).Newest(0, 20); got == nil || got.Offset != 20 {
		t.Errorf("of any generation the newest snapshot is %+v, want the one at 20", got)
	}
}

func TestSnapshotsThatAreOfNoUseAreDeleted(t *testing.T) {
	t.Parallel()
	f := FolderOf(coleo.Handle{Dir: t.TempDir()})
	const segment = journal.SegmentSize
	fill := func(offsets ...int64) {
		t.Helper()
		for _, offset := range offsets {
			if err := f.write(offset, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	wants := func(what string, offsets ...int64) {
		t.Helper()
		if got := f.offsets(); !slices.Equal(got, offsets) {
			t.Errorf("%s: there are snapshots at %v, want %v", what, got, offsets)
		}
	}
	fill(segment, segment+5, 2*segment, 2*segment+7)
	f.thin(2 * segment)
	wants("those inside a segment", segment, 2*segment, 2*segment+7)
	f.prune(2*segment + 1)
	wants("those before the journal, but for the newest", 2*segment, 2*segment+7)
	if err := os.WriteFile(f.path(9)+unfinished, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Tidy(2 * segment)
	wants("those behind the journal's end", 2*segment)
	if _, err := os.Stat(f.path(9) + unfinished); err == nil {
		t.Error("a file that was left unfinished is still there")
	}
}

func TestAReplayStopsWhereTheSessionMustAct(t *testing.T) {
	t.Parallel()
	r := Replay{Until: 100, Answered: 40, resizes: []journal.Mark{{Offset: 60, Cols: 70, Rows: 20}}}
	var stops []int64
	for at := int64(0); at < 150; {
		at += int64(r.Next(at, 50))
		stops = append(stops, at)
		shot := shotOf("", 0)
		if r.Resize(at, shot.Core().Resize); at == 60 {
			if cols, rows := shot.Core().Size(); cols != 70 || rows != 20 {
				t.Errorf("at 60 the screen is %d x %d, want 70 x 20", cols, rows)
			}
		}
	}
	if want := []int64{40, 60, 100, 150}; !slices.Equal(stops, want) {
		t.Errorf("it stops at %v, want %v", stops, want)
	}
	if !r.Behind(99) || r.Behind(100) {
		t.Error("the end of the output from before is told wrongly")
	}
	if got := r.Next(journal.SegmentSize-3, 50); got != 3 {
		t.Errorf("before the end of a segment it feeds %d bytes, want 3", got)
	}
}
