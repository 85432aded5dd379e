package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

type segment struct {
	path       string
	start, end int64
}

func segmentPath(dir string, start int64) string {
	return filepath.Join(dir, fmt.Sprintf("%016x.bytes", start))
}

// listSegments returns the segments of the journal in dir, the oldest first. It leaves out a segment
// that Trim deletes meanwhile.
func listSegments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list journal: %w", err)
	}
	var out []segment
	for _, e := range entries {
		var s segment
		name, ok := strings.CutSuffix(e.Name(), ".bytes")
		if !ok {
			continue
		}
		if _, err := fmt.Sscanf(name, "%x", &s.start); err != nil {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list journal: %w", err)
		}
		s.path, s.end = filepath.Join(dir, e.Name()), s.start+info.Size()
		out = append(out, s)
	}
	sort.Slice(out, func(a, b int) bool { return out[a].start < out[b].start })
	return out, nil
}

// Span returns the offset of the oldest byte in the journal in dir, and the offset
// after the newest byte. If there is no journal in dir, Span returns 0 and 0. It
// returns an error if dir cannot be read.
func Span(dir string) (start, end int64, err error) {
	segments, err := listSegments(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(segments) == 0 {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	return segments[0].start, segments[len(segments)-1].end, nil
}

// Reader reads the bytes of a journal, even while a holder appends to it. At the end of the
// journal, Read returns io.EOF. When the journal has grown, Read returns the new bytes.
type Reader struct {
	dir    string
	offset int64
	file   *os.File
	start  int64 // the journal's offset at the beginning of the open file
}

// NewReader returns a Reader for the journal in dir. It reads from the given offset on. The first
// call of Read opens the first file.
func NewReader(dir string, offset int64) *Reader { return &Reader{dir: dir, offset: offset} }

// Offset returns the offset of the byte that Read returns next.
func (r *Reader) Offset() int64 { return r.offset }

// Read implements io.Reader. If the byte at the Reader's offset has been deleted, Read returns an
// error. The error names the offset of the oldest byte that the journal still contains.
func (r *Reader) Read(p []byte) (int, error) {
	if r.file != nil {
		n, err := r.file.ReadAt(p, r.offset-r.start)
		if n > 0 {
			r.offset += int64(n)
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read journal: %w", err)
		}
	}
	if r.file != nil && r.offset-r.start < SegmentSize {
		return 0, io.EOF // this segment is not full, so there is no next segment
	}
	moved, err := r.open()
	if err != nil {
		return 0, err
	}
	if !moved {
		return 0, io.EOF
	}
	return r.Read(p)
}

// open opens the segment that contains the byte at r.offset. It returns false if the journal ends
// before this byte.
func (r *Reader) open() (bool, error) {
	segments, err := listSegments(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	i := sort.Search(len(segments), func(i int) bool { return segments[i].end > r.offset })
	if i == len(segments) {
		return false, nil
	}
	if segments[i].start > r.offset {
		return false, fmt.Errorf("journal begins at offset %d, asked for %d", segments[i].start, r.offset)
	}
	if r.file != nil && r.start == segments[i].start {
		return true, nil // the open segment has grown since the last read
	}
	r.Close()
	r.file, err = os.Open(segments[i].path)
	if errors.Is(err, fs.ErrNotExist) {
		r.file = nil
		return r.open() // Trim has deleted the segment since listSegments
	}
	if err != nil {
		return false, fmt.Errorf("read journal: %w", err)
	}
	r.start = segments[i].start
	return true, nil
}

// Close closes the file that is open, if any.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// Marks returns all marks of the journal in dir, in order. It skips marks with a wrong
// checksum. It returns an error if the index cannot be read.
func Marks(dir string) ([]Mark, error) {
	raw, err := os.ReadFile(indexPath(dir))
	if err != nil {
		return nil, fmt.Errorf("read journal index: %w", err)
	}
	return decodeMarks(raw), nil
}

func indexPath(dir string) string { return filepath.Join(dir, "index") }

func decodeMarks(raw []byte) []Mark {
	var out []Mark
	for ; len(raw) >= markSize; raw = raw[markSize:] {
		if crc32.Checksum(raw[:24], castagnoli) != binary.BigEndian.Uint32(raw[24:]) {
			continue
		}
		m := Mark{
			Time:   time.UnixMilli(int64(binary.BigEndian.Uint64(raw))),
			Offset: int64(binary.BigEndian.Uint64(raw[8:])),
			Kind:   MarkKind(raw[16]),
			Cols:   int(binary.BigEndian.Uint16(raw[20:])),
			Rows:   int(binary.BigEndian.Uint16(raw[22:])),
		}
		if m.Kind == MarkGap {
			m.Cols, m.Rows, m.Lost = 0, 0, int(binary.BigEndian.Uint32(raw[20:]))
		}
		out = append(out, m)
	}
	return out
}
