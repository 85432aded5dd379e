package holder

import (
	"testing"
	"time"
)

// TestOutputIsBroughtToTheDisk: a full segment is written at once, other output within
// some seconds, and the rest at the end.
func TestOutputIsBroughtToTheDisk(t *testing.T) {
	t.Parallel()
	j, err := CreateJournal(JournalDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	done := func() int64 {
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.syncing.done
	}
	if _, err := j.Append(make([]byte, 100), time.Now()); err != nil {
		t.Fatal(err)
	}
	if done() != 0 {
		t.Error("the first bytes were waited for")
	}
	begun := time.Now()
	wait(t, func() bool { return done() == 100 })
	if took := time.Since(begun); took < syncEvery/2 || took > 2*syncEvery {
		t.Errorf("an open segment was on the disk after %s, want %s", took, syncEvery)
	}
	begun = time.Now()
	if _, err := j.Append(make([]byte, SegmentSize), time.Now()); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return done() >= SegmentSize })
	if took := time.Since(begun); took > syncEvery/2 {
		t.Errorf("a full segment was on the disk after %s, want at once", took)
	}
	if err := j.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
