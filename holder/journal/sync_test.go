package journal

import (
	"testing"
	"time"
)

// TestOutputIsBroughtToTheDisk checks when output is on the disk: a full segment at once, and an
// open segment within some seconds.
func TestOutputIsBroughtToTheDisk(t *testing.T) {
	t.Parallel()
	j, err := Create(t.TempDir())
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
	awaitSync(t, func() bool { return done() == 100 })
	if took := time.Since(begun); took < syncEvery/2 || took > 2*syncEvery {
		t.Errorf("an open segment was on the disk after %s, want %s", took, syncEvery)
	}
	begun = time.Now()
	if _, err := j.Append(make([]byte, SegmentSize), time.Now()); err != nil {
		t.Fatal(err)
	}
	awaitSync(t, func() bool { return done() >= SegmentSize })
	if took := time.Since(begun); took > syncEvery/2 {
		t.Errorf("a full segment was on the disk after %s, want at once", took)
	}
	if err := j.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// patience bounds every wait of these tests. A wait ends as soon as its condition is true.
const patience = time.Minute

// betweenLooks is the time between two checks of a condition. Without the pause, parallel tests
// would take the processor from the processes that they wait for.
const betweenLooks = 2 * time.Millisecond

func awaitSync(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(betweenLooks) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about in time")
		}
	}
}
