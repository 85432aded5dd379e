package terminal

import (
	"slices"
	"strings"
)

// memo spares a reader what it knows already. A condition looks at the rows of
// its region and at nothing else, so its answer stands for as long as the region
// shows the same rows as at the look before. One that asks for a colour, which
// rows do not show, is asked at each look. It is not safe for concurrent use.
type memo map[region]*sight

// sight is what a region showed when a condition was last asked of it.
type sight struct {
	of      *frame // the picture that rows and there are from
	rows    []string
	there   bool
	text    string // rows joined, once somebody asks
	answers map[*Cond]answer
}

// answer is what a condition says of a region.
type answer struct {
	ok        bool
	detail    string
	from, end int // rows of the region in which its pattern was found
}

// see returns a region of a picture. What was said of it before is forgotten if
// it shows something else now.
func (m memo) see(f *frame, r region) *sight {
	s := m[r]
	if s == nil {
		s = &sight{answers: map[*Cond]answer{}}
		m[r] = s
	}
	if s.of == f {
		return s
	}
	rows, there := f.region(r)
	if s.of == nil || there != s.there || !slices.Equal(rows, s.rows) {
		s.there, s.text = there, strings.Join(rows, "\n")
		clear(s.answers)
	}
	s.of, s.rows = f, rows
	return s
}

// ask answers a condition as frame.ask does.
func (m memo) ask(f *frame, c *Cond) (answer, []string) {
	s := m.see(f, c.where)
	if !s.there {
		return answer{ok: c.Not}, nil
	}
	a, known := s.answers[c]
	if !known {
		a = f.answer(c, s.rows, s.text)
		if c.Colour == "" {
			s.answers[c] = a
		}
	}
	return a, s.rows
}
