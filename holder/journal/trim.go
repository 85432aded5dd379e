package journal

import (
	"fmt"
	"os"
)

// Trim deletes the oldest segments of the journal. It deletes a segment only under all of these
// conditions:
//
//   - The journal contains at least minBytes bytes after the end of the segment.
//   - The segment does not extend past the offset snapshotAt. A snapshot of the screen replaces all
//     output before this offset.
//   - The segment is not open.
//
// If snapshotAt is close to the end of the journal, at most minBytes bytes and one segment remain.
// Trim also deletes the marks before the new beginning of the journal, except the last resize.
func (j *Writer) Trim(minBytes, snapshotAt int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.end-j.first < minBytes+SegmentSize || snapshotAt < j.first+SegmentSize {
		return nil
	}
	segments, err := listSegments(j.dir)
	if err != nil {
		return err
	}
	before := j.first
	for _, s := range segments {
		j.first = s.start
		if s.start == j.start || s.end > snapshotAt || j.end-s.end < minBytes {
			break
		}
		if err := os.Remove(s.path); err != nil {
			return fmt.Errorf("delete an old journal segment: %w", err)
		}
	}
	if j.first == before {
		return nil
	}
	return j.trimIndex()
}

// trimIndex removes from the index all marks before the beginning of the journal, except the last
// resize. A reader needs that resize, because it is the terminal's size at the beginning of the
// journal.
func (j *Writer) trimIndex() error {
	raw, err := os.ReadFile(indexPath(j.dir))
	if err != nil {
		return fmt.Errorf("trim journal index: %w", err)
	}
	var size *Mark
	var rest []byte
	for _, m := range decodeMarks(raw) {
		switch {
		case m.Offset >= j.first:
			rest = append(rest, m.encode()...)
		case m.Kind == MarkResize:
			size = &m
		}
	}
	if size != nil {
		rest = append(size.encode(), rest...)
	}
	tmp := indexPath(j.dir) + ".new"
	err = os.WriteFile(tmp, rest, 0o600)
	if err == nil {
		err = os.Rename(tmp, indexPath(j.dir))
	}
	if err != nil {
		return fmt.Errorf("trim journal index: %w", err)
	}
	index, err := openIndex(indexPath(j.dir))
	if err != nil {
		return err
	}
	err = j.index.Close()
	j.index = index
	return err
}
