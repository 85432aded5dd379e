package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// syncEvery is how long output may be only in the kernel's memory, where a loss of
// power destroys it. Databases allow some seconds for data without a commit. A kill -9
// destroys none of this output.
const syncEvery = 5 * time.Second

// syncing tells how much of a journal is on the disk. The journal's lock guards its
// fields. Files are written to the disk without the lock, so the draining goroutine
// does not have to wait.
type syncing struct {
	timer   *time.Timer
	due     bool  // the timer is running
	running bool  // a sync is running; only one runs at a time
	done    int64 // everything before this offset is on the disk
}

// syncWithin writes the journal to the disk when the duration d has passed. An earlier
// time that was set before stays. The caller must hold mu.
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

// sync writes the output that is now in the journal to the disk. After an error, sync
// tries again when more output has come.
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

// syncSegments writes the segments with output between the offsets from and end to the
// disk. It also writes the index. It skips segments that are deleted at the same time.
func syncSegments(dir string, from, end int64) error {
	var failed error
	for start := from - from%SegmentSize; start < end; start += SegmentSize {
		failed = errors.Join(failed, syncFile(segmentPath(dir, start)))
	}
	return errors.Join(failed, syncFile(indexPath(dir)))
}

// syncFile opens its own descriptor of the file. So another goroutine may close the
// file at the same time.
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
