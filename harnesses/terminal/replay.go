package terminal

import (
	"coleo.dev/holder"
	"coleo.dev/pty"
)

// replay is what a session must know of the output before it. That is the size of the
// terminal at each point, and which queries have been answered.
type replay struct {
	until    int64 // end of the output when the session was opened: no look is taken before it
	answered int64
	resizes  []holder.Mark // the resizes to come, in order
}

// resizesFrom returns the resizes in the journal in dir from an offset on. Without any,
// the caller uses the present size.
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

// sizes returns the terminal's size at an offset, zeros when no mark has one, and the
// resizes after it. here reports whether the size is from that very offset.
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

// behind reports whether an offset is before the end of the output when the session was
// opened.
func (r *replay) behind(offset int64) bool { return offset < r.until }

// next returns how many of n bytes from an offset on may be fed before the session must
// act.
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

// resize gives the screen the sizes that it had up to an offset.
func (r *replay) resize(offset int64, s pty.Screen) {
	for len(r.resizes) > 0 && r.resizes[0].Offset <= offset {
		s.Resize(r.resizes[0].Cols, r.resizes[0].Rows)
		r.resizes = r.resizes[1:]
	}
}
