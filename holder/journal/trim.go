package journal

import (
	"fmt"
	"os"
)

// Trim deletes the oldest segments as long as at least keep bytes remain. So the
// journal never has more than keep bytes and one segment. It deletes only segments that
// end before the offset covered. A snapshot of the screen replaces the output before
// this offset. The open segment stays. Trim also deletes marks before the new
// beginning, except the last size.
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

// trimIndex writes a new index that lacks the marks before the journal's beginning.
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
