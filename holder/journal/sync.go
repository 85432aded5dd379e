package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// syncEvery is the longest time for which output exists only in the kernel's memory. Such output
// survives a kill -9, but not a loss of power. A loss of a few seconds of output is acceptable:
// databases also accept it for data that nobody has committed.
const syncEvery = 5 * time.Second

// syncing records how much of a journal is on the disk. The journal's lock protects the fields.
// sync does not hold the lock while it writes to the disk, so the draining goroutine never waits
// for the disk.
type syncing struct {
	timer   *time.Timer
	due     bool  // the timer is running
	running bool  // a sync is running; at most one runs at a time
	done    int64 // all output before this offset is on the disk
}

// syncWithin makes sure that a sync of the journal starts within the duration d. The caller must
// hold mu.
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

// sync makes the kernel write all output of the journal to the disk. After an error, it tries
// again when more output has arrived.
func (j *Writer) sync() {
	j.mu.Lock()
	s := &j.syncing
	if s.running { // another sync is still running, because the disk is slow: try again later
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

// syncSegments makes the kernel write the index to the disk, and all segments with output between
// the two given offsets. It skips segments that have been deleted.
func syncSegments(dir string, from, end int64) error {
	var failed error
	for start := from - from%SegmentSize; start < end; start += SegmentSize {
		failed = errors.Join(failed, syncFile(segmentPath(dir, start)))
	}
	return errors.Join(failed, syncFile(indexPath(dir)))
}

// syncFile makes the kernel write the file at path to the disk. It opens its own descriptor,
// because another goroutine can close the file at the same time.
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
