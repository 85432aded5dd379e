// Package journal stores every byte of an arm's output on disk. It also stores the times at which
// output arrived, and the sizes of the terminal. The package writes a journal, reads it, and makes
// a recording from it. It does not interpret the output.
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

// SegmentSize is the size of a full journal file, in bytes. Each file begins at a multiple of this
// size. Trim deletes whole files, so they must be small compared with the journal's limit.
const SegmentSize = 4 << 20

// markEvery is the shortest time between two MarkOutput marks. It keeps the index small.
const markEvery = 50 * time.Millisecond

// MarkKind is the kind of event that a mark in the index records.
type MarkKind uint8

// These are the values of MarkKind. They never change, because they are stored on disk.
const (
	MarkOutput MarkKind = 1 // output arrived at this time
	MarkResize MarkKind = 2 // the terminal has the size Cols x Rows from here on
	MarkInput  MarkKind = 3 // keys were typed; the journal does not contain the keys
	MarkExit   MarkKind = 4 // the program ended
	MarkGap    MarkKind = 5 // the disk was full when the arm ended, so Lost bytes are missing here
)

// Mark records what happened at a time and at an offset of the output.
type Mark struct {
	Time       time.Time // millisecond precision
	Offset     int64
	Kind       MarkKind
	Cols, Rows int // for MarkResize
	Lost       int // for MarkGap: how many bytes are missing; on disk, Lost is in the place of Cols and Rows
}

// markSize is the size of a mark on disk, in bytes. A mark has these parts, in this order. Numbers
// are big-endian.
//
//   - 8 bytes: the time in Unix milliseconds
//   - 8 bytes: the offset
//   - 1 byte: the kind
//   - 3 zero bytes
//   - 2 bytes: the columns
//   - 2 bytes: the rows
//   - 4 bytes: the CRC-32C of the bytes before
const markSize = 28

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer writes an arm's output and marks to disk. It writes the output to segments, which are
// files of raw bytes, and the marks to the index. The name of a segment is the offset of its first
// byte. All bytes in the segments belong to the journal, even if the index has no mark for them.
// When a Writer opens the index, it removes an incomplete mark at the end. Several goroutines can
// call the methods at the same time.
type Writer struct {
	dir string

	mu       sync.Mutex
	segment  *os.File // open for appending
	index    *os.File
	first    int64 // offset of the oldest byte in the journal
	start    int64 // offset of the first byte in the open segment
	end      int64
	lastMark time.Time
	watchers []chan struct{} // each receives a value when the journal grows
	syncing  syncing
}

// Create opens the journal in dir for appending, and creates it if there is none. The error names
// the file that cannot be opened or repaired.
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
	// Open the file without O_APPEND and seek to its end, because the kernel does not splice into a
	// file that is open with O_APPEND.
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

// Append writes p to the journal. It returns how many bytes of p it has written. After
// an error, the caller can try again with the rest of p.
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

// Extend calls the function `write`, which appends bytes to the open segment. It passes the segment
// and the number of bytes that still fit. `write` returns how many bytes it has appended. Extend
// adds that number to the length of the journal, and returns the number.
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

// Mark adds m at the end of the journal. It ignores errors, because the journal is usable without
// marks.
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

// Watch returns a channel that receives a value when the journal grows. If the channel already
// holds a value, it receives no second one. The caller must pass the channel to Unwatch when it no
// longer needs it. Watch reuses one channel for all values, because a new channel for each value
// would create much garbage in a busy holder.
func (j *Writer) Watch() chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := make(chan struct{}, 1)
	j.watchers = append(j.watchers, c)
	return c
}

// Unwatch ends the watch whose channel is c.
func (j *Writer) Unwatch(c chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watchers = slices.DeleteFunc(j.watchers, func(w chan struct{}) bool { return w == c })
}

func (j *Writer) notifyWatchers() {
	for _, c := range j.watchers {
		select {
		case c <- struct{}{}:
		default: // the channel already holds a value
		}
	}
}

// Close closes the files, and returns when all output is on the disk. The error joins the errors of
// all files.
func (j *Writer) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.syncing.timer != nil {
		j.syncing.timer.Stop()
	}
	return errors.Join(j.segment.Close(), j.index.Close(), syncSegments(j.dir, j.syncing.done, j.end))
}
