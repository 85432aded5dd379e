package journal

import (
	"fmt"
	"os"
)

// Trim deletes the oldest segments of the journal. It deletes a segment only under all
// of these conditions:
//
//   - At least keep bytes remain after it.
//   - The segment ends at or before the offset covered. A snapshot of the screen
//     replaces the output before this offset.
//   - The segment is not open.
//
// If covered is close to the end of the journal, the journal has at most keep bytes and
// one segment after Trim. Trim also deletes the marks before the new beginning of the
// journal, except the last resize.
func (j *Writer) Trim(keep, covered int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.end-j.first < keep+SegmentSize || covered < j.first+SegmentSize {
		return nil
	}
	segments, err := listSegments(j.dir)
	if err != nil {
		return err
	}
	before := j.first
	for _, s := range segments {
		j.first = s.start
		if s.start == j.start || s.end > covered || j.end-s.end < keep {
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

// trimIndex replaces the index by one without the marks before the beginning of the
// journal. It keeps the last resize before the beginning, which gives the terminal's
// size at the beginning.
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
