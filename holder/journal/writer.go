// Package journal keeps every byte of an arm's output on the disk, with the times at
// which it came and the sizes that the terminal had. It writes a journal, reads it, and
// turns it into a recording. It does not interpret the output.
package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// SegmentSize is the size of a journal file in bytes. Files begin at its multiples.
const SegmentSize = 4 << 20

// markEvery is the shortest time between two time marks of a busy terminal in the index.
const markEvery = 50 * time.Millisecond

// MarkKind is the meaning of a mark in the index.
type MarkKind uint8

// The kinds of mark. They are on disk and never change.
const (
	MarkOutput MarkKind = 1 // output arrived at this time
	MarkResize MarkKind = 2 // the terminal got Cols x Rows
	MarkInput  MarkKind = 3 // keys were typed; the text is not kept
	MarkExit   MarkKind = 4 // the program ended
	MarkGap    MarkKind = 5 // Lost bytes are missing here: the disk was full when the arm was ended
)

// Mark ties a moment to an offset of the output.
type Mark struct {
	Time       time.Time // millisecond precision
	Offset     int64
	Kind       MarkKind
	Cols, Rows int // with MarkResize
	Lost       int // with MarkGap: number of bytes, in the place of Cols and Rows on disk
}

// markSize is the size of a mark on disk, in bytes. A mark has 8 bytes of Unix
// milliseconds, 8 of offset, 1 of kind, and 3 zero. Then come 2 of columns, 2 of rows,
// and 4 of crc32c over all before.
const markSize = 28

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer is an arm's output on disk: segments of raw bytes, named by their first offset,
// and an index of marks. The lengths of the files are the truth. A torn record at the end
// of the index is cut off when the journal is opened to write. Its methods may be called
// from several goroutines.
type Writer struct {
	dir string

	mu       sync.Mutex
	segment  *os.File // open to append; nil when opened to read
	index    *os.File
	first    int64 // oldest offset held
	start    int64 // first offset of the open segment
	end      int64
	lastMark time.Time
	watchers []chan struct{} // notified of each growth
	syncing  syncing
}

// Create opens the journal in dir to append, and makes it if it is missing. The
// error says which file of the journal cannot be opened or repaired.
func Create(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make journal folder: %w", err)
	}
	j := &Writer{dir: dir}
	segments, err := listSegments(dir)
	if err != nil {
		return nil, err
	}
	if len(segments) > 0 {
		last := segments[len(segments)-1]
		j.first, j.start, j.end = segments[0].start, last.start, last.end
		j.syncing.done = last.start
	}
	if j.segment, err = openSegment(dir, j.start); err != nil {
		return nil, err
	}
	if j.index, err = openIndex(indexPath(dir)); err != nil {
		j.segment.Close()
		return nil, err
	}
	return j, nil
}

func openSegment(dir string, start int64) (*os.File, error) {
	// Not O_APPEND: the kernel does not splice into a file that is opened with it.
	f, err := os.OpenFile(segmentPath(dir, start), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, fmt.Errorf("open journal segment: %w", err)
	}
	return f, nil
}

func openIndex(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal index: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Truncate(info.Size() / markSize * markSize)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("repair journal index: %w", err)
	}
	return f, nil
}

// Append writes output to the journal and returns how many bytes of p are on disk. After
// an error the rest may be tried again.
func (j *Writer) Append(p []byte, now time.Time) (int, error) {
	done := 0
	for done < len(p) {
		n, err := j.Extend(now, func(f *os.File, most int) (int, error) {
			return f.Write(p[done:min(len(p), done+most)])
		})
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// Extend calls write with the open segment and the room in it, and counts the bytes that
// write returns.
func (j *Writer) Extend(now time.Time, write func(f *os.File, most int) (int, error)) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.end-j.start >= SegmentSize {
		if err := j.roll(); err != nil {
			return 0, err
		}
	}
	n, err := write(j.segment, int(SegmentSize-(j.end-j.start)))
	n = max(n, 0)
	if n > 0 {
		j.end += int64(n)
		j.notifyWatchers()
		j.syncWithin(syncEvery)
	}
	if err != nil {
		return n, fmt.Errorf("append to journal: %w", err)
	}
	if n > 0 && now.Sub(j.lastMark) >= markEvery {
		j.lastMark = now
		j.mark(Mark{Time: now, Offset: j.end - int64(n), Kind: MarkOutput})
	}
	return n, nil
}

func (j *Writer) roll() error {
	next, err := openSegment(j.dir, j.end)
	if err != nil {
		return err
	}
	j.segment.Close()
	j.segment, j.start = next, j.end
	j.syncWithin(0)
	return nil
}

// Mark adds a mark at the present end. It drops a mark that cannot be written: the bytes
// are the truth, and marks only a convenience.
func (j *Writer) Mark(m Mark) {
	j.mu.Lock()
	defer j.mu.Unlock()
	m.Offset = j.end
	j.mark(m)
}

func (j *Writer) mark(m Mark) {
	_, _ = j.index.Write(m.encode())
}

func (m Mark) encode() []byte {
	b := make([]byte, markSize)
	binary.BigEndian.PutUint64(b, uint64(m.Time.UnixMilli()))
	binary.BigEndian.PutUint64(b[8:], uint64(m.Offset))
	b[16] = byte(m.Kind)
	binary.BigEndian.PutUint16(b[20:], uint16(m.Cols))
	binary.BigEndian.PutUint16(b[22:], uint16(m.Rows))
	if m.Kind == MarkGap {
		binary.BigEndian.PutUint32(b[20:], uint32(m.Lost))
	}
	binary.BigEndian.PutUint32(b[24:], crc32.Checksum(b[:24], castagnoli))
	return b
}

// End returns the offset after the newest byte.
func (j *Writer) End() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end
}

// Span returns the offsets of the oldest byte held and after the newest.
func (j *Writer) Span() (first, end int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.first, j.end
}

// Watch returns a channel that receives a value when the journal has grown since the last
// value, until Unwatch is called with it. One channel serves all values, because a new
// one for each would be garbage in a busy holder.
func (j *Writer) Watch() chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := make(chan struct{}, 1)
	j.watchers = append(j.watchers, c)
	return c
}

// Unwatch ends a Watch.
func (j *Writer) Unwatch(c chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watchers = slices.DeleteFunc(j.watchers, func(w chan struct{}) bool { return w == c })
}

func (j *Writer) notifyWatchers() {
	for _, c := range j.watchers {
		select {
		case c <- struct{}{}:
		default: // the watcher has not yet read the value before
		}
	}
}

// Close closes the files, and returns when all output is on the disk. It returns the
// errors of all files, joined.
func (j *Writer) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.syncing.timer != nil {
		j.syncing.timer.Stop()
	}
	return errors.Join(j.segment.Close(), j.index.Close(), syncSegments(j.dir, j.syncing.done, j.end))
}
