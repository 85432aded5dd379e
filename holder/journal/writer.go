// Package journal keeps every byte of an arm's output on the disk. It also keeps the
// times at which output came, and the sizes that the terminal had. The package writes a
// journal, reads it, and makes a recording from it. It does not interpret the output.
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

// SegmentSize is the size of a journal file in bytes. Each file begins at a multiple of
// this size.
const SegmentSize = 4 << 20

// markEvery is the shortest time between two time marks in the index while a terminal
// is busy.
const markEvery = 50 * time.Millisecond

// MarkKind tells what a mark in the index means.
type MarkKind uint8

// The values of MarkKind. They are on disk, so they never change.
const (
	MarkOutput MarkKind = 1 // output arrived at this time
	MarkResize MarkKind = 2 // the terminal got the size Cols x Rows
	MarkInput  MarkKind = 3 // keys were typed; their text is not kept
	MarkExit   MarkKind = 4 // the program ended
	MarkGap    MarkKind = 5 // Lost bytes are missing here: the disk was full when the arm was ended
)

// Mark ties a moment to an offset of the output.
type Mark struct {
	Time       time.Time // millisecond precision
	Offset     int64
	Kind       MarkKind
	Cols, Rows int // for MarkResize
	Lost       int // for MarkGap: number of bytes; stored in the place of Cols and Rows
}

// markSize is the size of a mark on disk, in bytes. A mark consists of 8 bytes of Unix
// milliseconds, 8 bytes of offset, 1 byte of kind, and 3 zero bytes. After these come 2
// bytes of columns, 2 bytes of rows, and 4 bytes with the crc32c of the bytes before.
const markSize = 28

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer writes an arm's output to disk. The output is in segments of raw bytes, whose
// names are their first offsets. An index holds the marks. The lengths of the segment
// files define how much output there is. When a journal is opened for writing, an
// incomplete record at the end of the index is removed. Several goroutines may call its
// methods at the same time.
type Writer struct {
	dir string

	mu       sync.Mutex
	segment  *os.File // open for appending
	index    *os.File
	first    int64 // oldest offset in the journal
	start    int64 // first offset of the open segment
	end      int64
	lastMark time.Time
	watchers []chan struct{} // get a value when the journal grows
	syncing  syncing
}

// Create opens the journal in dir for appending. If the journal does not exist, Create
// makes it. The error names the file of the journal that cannot be opened or repaired.
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
	// O_APPEND is missing because the kernel does not splice into a file that is opened
	// with it.
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

// Append writes p to the journal. It returns the number of bytes of p that are in the
// journal. After an error the caller may try again with the rest.
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

// Extend calls write with the open segment and the number of bytes that fit into it. It
// adds the number of bytes that write returns to the journal's length.
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

// Mark adds a mark at the present end of the journal. If a mark cannot be written, Mark
// drops it: the bytes are essential, and marks are only a convenience.
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

// End returns the offset after the newest byte in the journal.
func (j *Writer) End() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end
}

// Span returns the offset of the oldest byte in the journal, and the offset after the
// newest byte.
func (j *Writer) Span() (first, end int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.first, j.end
}

// Watch returns a channel that receives a value when the journal has grown since the
// last value. Unwatch ends this. The same channel is used for all values, because a new
// channel for each value would be garbage in a busy holder.
func (j *Writer) Watch() chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := make(chan struct{}, 1)
	j.watchers = append(j.watchers, c)
	return c
}

// Unwatch ends what Watch began for the channel c.
func (j *Writer) Unwatch(c chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watchers = slices.DeleteFunc(j.watchers, func(w chan struct{}) bool { return w == c })
}

func (j *Writer) notifyWatchers() {
	for _, c := range j.watchers {
		select {
		case c <- struct{}{}:
		default: // the watcher has not read the last value yet
		}
	}
}

// Close closes the files. It returns when all output is on the disk. It returns the
// joined errors of all files.
func (j *Writer) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.syncing.timer != nil {
		j.syncing.timer.Stop()
	}
	return errors.Join(j.segment.Close(), j.index.Close(), syncSegments(j.dir, j.syncing.done, j.end))
}
