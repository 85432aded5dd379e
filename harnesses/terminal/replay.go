package terminal

import (
	"coleo.dev/holder"
	"coleo.dev/pty"
)

// replay is what a session must know of output that was there before it: how
// large the terminal was at each point, and which queries have been answered.
type replay struct {
	from       int64 // oldest byte held
	until      int64 // newest byte when the session was opened: before it, no look is taken
	answered   int64
	cols, rows int
	resizes    []holder.Mark // behind from, in order
}

func newReplay(dir string, at holder.Status) replay {
	r := replay{from: at.Start, until: at.End, answered: at.Answered, cols: at.Cols, rows: at.Rows}
	marks, err := holder.Marks(holder.JournalDir(dir))
	if err != nil {
		return r
	}
	for _, m := range marks {
		switch {
		case m.Kind != holder.MarkResize:
		case m.Offset <= r.from:
			r.cols, r.rows = m.Cols, m.Rows
		case m.Offset <= r.until:
			r.resizes = append(r.resizes, m)
		}
	}
	return r
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
	return n
}

// resize gives the screen the sizes that it had at that offset.
func (r *replay) resize(offset int64, s pty.Screen) {
	for len(r.resizes) > 0 && r.resizes[0].Offset <= offset {
		s.Resize(r.resizes[0].Cols, r.resizes[0].Rows)
		r.resizes = r.resizes[1:]
	}
}
