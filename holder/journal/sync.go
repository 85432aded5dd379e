package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// syncEvery is how long output may be in the kernel's memory alone, where a loss of power
// destroys it. Some seconds are what databases allow for data without a commit. A kill -9
// destroys none of it.
const syncEvery = 5 * time.Second

// syncing is how much of a journal is on the disk. Its fields are guarded by the
// journal's lock. The writing happens without the lock, so the draining goroutine does
// not wait for it.
type syncing struct {
	timer   *time.Timer
	due     bool  // the timer runs
	running bool  // one at a time
	done    int64 // all before this offset is on the disk
}

// syncWithin writes the journal to the disk within d, or at an earlier time that was set
// before. The caller holds mu.
func (j *Writer) syncWithin(d time.Duration) {
	s := &j.syncing
	switch {
	case s.timer == nil:
		s.timer = time.AfterFunc(d, j.sync)
	case !s.due || d == 0:
		s.timer.Reset(d)
	}
	s.due = true
}

// sync writes the present output to the disk. After an error it tries again when there is
// more output.
func (j *Writer) sync() {
	j.mu.Lock()
	s := &j.syncing
	if s.running { // the disk is slower than the output, so the next sync waits
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

// syncSegments writes the segments with output between two offsets to the disk, and the
// index. Segments that are deleted meanwhile are skipped.
func syncSegments(dir string, from, end int64) error {
	var failed error
	for start := from - from%SegmentSize; start < end; start += SegmentSize {
		failed = errors.Join(failed, syncFile(segmentPath(dir, start)))
	}
	return errors.Join(failed, syncFile(indexPath(dir)))
}

// syncFile opens the file by itself, so that it may be closed elsewhere meanwhile.
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
