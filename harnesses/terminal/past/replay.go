package past

import (
	"errors"
	"io"

	"coleo.dev/holder/journal"
	"coleo.dev/pty"
)

// readChunk is how much of a journal is read at once, in bytes.
const readChunk = 64 << 10

// Replay is what a session must know of the output that came before it. That is the size
// of the terminal at each point, and which queries of the program have been answered.
type Replay struct {
	Until    int64 // end of the output when the session was opened: no look is taken before it
	Answered int64 // the holder has the answers to the queries up to this offset

	resizes []journal.Mark // the resizes to come, in order
}

// Size is the size of a terminal in cells. It is zero where it is not known.
type Size struct{ Cols, Rows int }

// From makes the Replay begin at an offset of the journal in dir. It returns the size of
// the terminal at that offset; exact reports whether the size changed right there.
// resizedFrom is the first offset whose resizes count: where a snapshot has the size, only
// the resizes since matter.
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

// resizesFrom returns the resizes in the journal in dir from an offset on. Without any,
// the caller uses the present size.
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

// Behind reports whether an offset is before the end of the output when the session was
// opened.
func (r *Replay) Behind(offset int64) bool { return offset < r.Until }

// Next returns how many of n bytes from an offset on may be fed before the session must
// act.
func (r *Replay) Next(offset int64, n int) int {
	for _, stop := range []int64{r.Answered, r.Until} {
		if stop > offset {
			n = min(n, int(stop-offset))
		}
	}
	if len(r.resizes) > 0 && r.resizes[0].Offset > offset {
		n = min(n, int(r.resizes[0].Offset-offset))
	}
	return min(n, int(journal.SegmentSize-offset%journal.SegmentSize)) // a snapshot may be due
}

// Resize gives the screen the sizes that it had up to an offset.
func (r *Replay) Resize(offset int64, s pty.Screen) {
	for len(r.resizes) > 0 && r.resizes[0].Offset <= offset {
		s.Resize(r.resizes[0].Cols, r.resizes[0].Rows)
		r.resizes = r.resizes[1:]
	}
}

// Read reads the journal in dir from an offset on, and calls feed with each piece of
// output, until the Replay ends or the files do.
func (r *Replay) Read(dir string, from int64, feed func(data []byte)) error {
	journal := journal.NewReader(dir, from)
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
