package rules

import (
	"slices"
	"strings"
)

// Memo keeps the answers to conditions. A condition depends only on the rows of its
// region, so its answer holds while those rows stay the same. A condition on a colour,
// which rows do not hold, is evaluated at each look. A memo is not safe for concurrent
// use.
type Memo map[region]*regionMemo

// regionMemo is what a region showed when a condition on it was last evaluated.
type regionMemo struct {
	picture  *Picture // the picture that rows and there come from
	rows     []string
	present  bool
	text     string // rows joined by \n
	outcomes map[*Cond]outcome
}

// outcome is the result of a condition on a region.
type outcome struct {
	ok        bool
	detail    string
	from, end int // rows of the region in which the pattern was found
}

// recall returns the sight of a region. It forgets the earlier answers if the region has
// changed.
func (m Memo) recall(f *Picture, r region) *regionMemo {
	s := m[r]
	if s == nil {
		s = &regionMemo{outcomes: map[*Cond]outcome{}}
		m[r] = s
	}
	if s.picture == f {
		return s
	}
	rows, there := f.region(r)
	if s.picture == nil || there != s.present || !slices.Equal(rows, s.rows) {
		s.present, s.text = there, strings.Join(rows, "\n")
		clear(s.outcomes)
	}
	s.picture, s.rows = f, rows
	return s
}

// outcomeOf returns the answer to a condition, and the rows of its region.
func (m Memo) outcomeOf(f *Picture, c *Cond) (outcome, []string) {
	s := m.recall(f, c.where)
	if !s.present {
		return outcome{ok: c.Not}, nil
	}
	a, known := s.outcomes[c]
	if !known {
		a = f.evaluate(c, s.rows, s.text)
		if c.Colour == "" {
			s.outcomes[c] = a
		}
	}
	return a, s.rows
}
