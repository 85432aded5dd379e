package past

import (
	"errors"
	"io"

	"coleo.dev/holder/journal"
)

// readChunk is the number of bytes of a journal that are read in one call.
const readChunk = 64 << 10

// Replay contains the facts that a session needs about output from before the session was opened:
// the size of the terminal at each offset, and the queries that were answered.
type Replay struct {
	// offset of the end of the output when the session was opened, where the session first reads the screen
	Until    int64
	Answered int64 // the holder has replied to all queries up to this offset

	resizes []journal.Mark // the resizes that Resize must still apply, in order
}

// Size is the size of a terminal in cells. It is zero if the size is unknown.
type Size struct{ Cols, Rows int }

// From makes r begin at `offset` in the journal in the folder `dir`. It returns the size of the
// terminal at that offset, and whether a resize is exactly there. It ignores the resizes before the
// offset `resizedFrom`. A caller that begins with a snapshot passes the snapshot's offset as
// `resizedFrom`, because the snapshot already has the size that earlier resizes set.
func (r *Replay) From(dir string, offset, resizedFrom int64) (size Size, exact bool) {
	r.resizes = nil
	for _, m := range resizesFrom(dir, resizedFrom) {
		switch {
		case m.Offset <= offset:
			size, exact = Size{m.Cols, m.Rows}, m.Offset == offset
		case m.Offset <= r.Until:
			r.resizes = append(r.resizes, m)
		}
	}
	return size, exact
}

// resizesFrom returns the resizes at or after the given offset of the journal in dir. If there are
// none, the caller must use the present size.
func resizesFrom(dir string, offset int64) []journal.Mark {
	index, err := journal.OpenIndex(dir)
	if err != nil {
		return nil
	}
	defer index.Close()
	var out []journal.Mark
	for m := range index.From(index.Find(func(m journal.Mark) bool { return m.Offset >= offset })) {
		if m.Kind == journal.MarkResize {
			out = append(out, m)
		}
	}
	return out
}

// Behind reports whether offset is before r.Until, the end of the output when the session was
// opened.
func (r *Replay) Behind(offset int64) bool { return offset < r.Until }

// Next returns how many of the n bytes at the given offset the session can write to its screen without
// a break. After these bytes, it must do something else first, such as apply a resize or take a
// snapshot.
func (r *Replay) Next(offset int64, n int) int {
	for _, stop := range []int64{r.Answered, r.Until} {
		if stop > offset {
			n = min(n, int(stop-offset))
		}
	}
	if len(r.resizes) > 0 && r.resizes[0].Offset > offset {
		n = min(n, int(r.resizes[0].Offset-offset))
	}
	// Stop at the end of a segment, because a snapshot may be due there.
	return min(n, int(journal.SegmentSize-offset%journal.SegmentSize))
}

// Resize calls the function `resize` for each resize up to the given offset, unless it has done so before.
func (r *Replay) Resize(offset int64, resize func(cols, rows int)) {
	for len(r.resizes) > 0 && r.resizes[0].Offset <= offset {
		resize(r.resizes[0].Cols, r.resizes[0].Rows)
		r.resizes = r.resizes[1:]
	}
}

// Read reads the journal in dir from the given offset, and calls the function `feed` with each piece of
// output. It stops at r.Until, or at the end of the files.
func (r *Replay) Read(dir string, offset int64, feed func(data []byte)) error {
	journal := journal.NewReader(dir, offset)
	defer journal.Close()
	buf := make([]byte, readChunk)
	for journal.Offset() < r.Until {
		n, err := journal.Read(buf[:min(int64(len(buf)), r.Until-journal.Offset())])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		feed(buf[:n])
	}
	return nil
}
