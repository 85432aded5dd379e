package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// syncEvery is how long output may be in the kernel's memory alone, where the
// end of power takes it: some seconds, as databases do for what is not an
// intent. A kill -9 takes nothing of it.
const syncEvery = 5 * time.Second

// syncing is how far a journal is on the disk. Its fields are under the
// journal's lock, the writing is not: whoever drains does not wait for it.
type syncing struct {
	timer   *time.Timer
	due     bool  // the timer runs
	running bool  // one at a time
	done    int64 // all before it is on the disk
}

// soon has what is written brought to the disk in that time, or earlier if that
// is to be. The caller holds mu.
func (j *Journal) soon(d time.Duration) {
	s := &j.syncing
	switch {
	case s.timer == nil:
		s.timer = time.AfterFunc(d, j.sync)
	case !s.due || d == 0:
		s.timer.Reset(d)
	}
	s.due = true
}

// sync brings what is written by now to the disk. What cannot be is tried again
// when there is more.
func (j *Journal) sync() {
	j.mu.Lock()
	s := &j.syncing
	if s.running { // slower than the output: then so is the next one
		s.timer.Reset(syncEvery)
		j.mu.Unlock()
		return
	}
	s.due, s.running = false, true
	from, end := s.done, j.end
	j.mu.Unlock()
	err := syncSegments(j.dir, from, end)
	j.mu.Lock()
	defer j.mu.Unlock()
	if s.running = false; err == nil {
		s.done = end
	}
}

// syncSegments brings the segments with output between two offsets to the disk,
// and the index. What is deleted meanwhile is of no account.
func syncSegments(dir string, from, end int64) error {
	var failed error
	for start := from - from%SegmentSize; start < end; start += SegmentSize {
		failed = errors.Join(failed, syncFile(segmentPath(dir, start)))
	}
	return errors.Join(failed, syncFile(indexPath(dir)))
}

// syncFile opens a file for itself, so that it can be closed elsewhere.
func syncFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("bring the journal to the disk: %w", err)
	}
	defer f.Close()
	if err := syncData(f); err != nil {
		return fmt.Errorf("bring %s to the disk: %w", path, err)
	}
	return nil
}
