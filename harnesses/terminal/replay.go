package terminal

import (
	"coleo.dev/holder"
	"coleo.dev/pty"
)

// replay is what a session must know of output that was there before it: how
// large the terminal was at each point, and which queries have been answered.
type replay struct {
	until    int64 // newest byte when the session was opened: before it, no look is taken
	answered int64
	resizes  []holder.Mark // that are to come, in order
}

// resizesFrom returns the resizes of the journal in dir at an offset and behind
// it. Without any, the present size must do.
func resizesFrom(dir string, offset int64) []holder.Mark {
	index, err := holder.OpenIndex(dir)
	if err != nil {
		return nil
	}
	defer index.Close()
	var out []holder.Mark
	for m := range index.From(index.Find(func(m holder.Mark) bool { return m.Offset >= offset })) {
		if m.Kind == holder.MarkResize {
			out = append(out, m)
		}
	}
	return out
}

// sizes returns how large the terminal was at an offset, zeros when no mark
// says so, and the resizes behind it. here tells whether the size is from that
// very offset.
func sizes(marks []holder.Mark, from, until int64) (cols, rows int, here bool, rest []holder.Mark) {
	for _, m := range marks {
		switch {
		case m.Offset <= from:
			cols, rows, here = m.Cols, m.Rows, m.Offset == from
		case m.Offset <= until:
			rest = append(rest, m)
		}
	}
	return cols, rows, here, rest
}

// behind tells whether an offset is before the newest byte at the start.
func (r *replay) behind(offset int64) bool { return offset < r.until }

// next returns how many of n bytes from an offset on may be fed before
// something is to be done.
func (r *replay) next(offset int64, n int) int {
	for _, stop := range []int64{r.answered, r.until} {
		if stop > offset {
			n = min(n, int(stop-offset))
		}
	}
	if len(r.resizes) > 0 && r.resizes[0].Offset > offset {
		n = min(n, int(r.resizes[0].Offset-offset))
	}
	return min(n, int(holder.SegmentSize-offset%holder.SegmentSize)) // a snapshot may be due
}

// resize gives the screen the sizes that it had at that offset.
func (r *replay) resize(offset int64, s pty.Screen) {
	for len(r.resizes) > 0 && r.resizes[0].Offset <= offset {
		s.Resize(r.resizes[0].Cols, r.resizes[0].Rows)
		r.resizes = r.resizes[1:]
	}
}
