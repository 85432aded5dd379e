package terminal

import (
	"slices"
	"strings"
)

// memo keeps the answers to conditions. A condition depends only on the rows of its
// region, so its answer holds while those rows stay the same. A condition on a colour,
// which rows do not hold, is evaluated at each look. A memo is not safe for concurrent
// use.
type memo map[region]*sight

// sight is what a region showed when a condition on it was last evaluated.
type sight struct {
	of      *frame // the picture that rows and there come from
	rows    []string
	there   bool
	text    string // rows joined by \n
	answers map[*Cond]answer
}

// answer is the result of a condition on a region.
type answer struct {
	ok        bool
	detail    string
	from, end int // rows of the region in which the pattern was found
}

// see returns the sight of a region. It forgets the earlier answers if the region has
// changed.
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

// ask returns the answer to a condition, and the rows of its region.
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
