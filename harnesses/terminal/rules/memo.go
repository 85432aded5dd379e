package rules

import (
	"slices"
	"strings"
)

// Memo keeps the outcomes of conditions from picture to picture. A condition depends only
// on the rows of its region, so its outcome stays while those rows do. A condition on a
// colour, which rows do not hold, is evaluated on each picture. A Memo is not safe for
// concurrent use.
type Memo map[region]*regionMemo

// regionMemo is what a region showed when a condition on it was last evaluated.
type regionMemo struct {
	picture  *Picture // the picture that rows and present come from
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

// recall returns what is remembered of a region. It forgets the earlier outcomes if the
// region has changed.
func (m Memo) recall(p *Picture, r region) *regionMemo {
	s := m[r]
	if s == nil {
		s = &regionMemo{outcomes: map[*Cond]outcome{}}
		m[r] = s
	}
	if s.picture == p {
		return s
	}
	rows, present := p.region(r)
	if s.picture == nil || present != s.present || !slices.Equal(rows, s.rows) {
		s.present, s.text = present, strings.Join(rows, "\n")
		clear(s.outcomes)
	}
	s.picture, s.rows = p, rows
	return s
}

// outcomeOf returns the outcome of a condition, and the rows of its region.
func (m Memo) outcomeOf(p *Picture, c *Cond) (outcome, []string) {
	s := m.recall(p, c.where)
	if !s.present {
		return outcome{ok: c.Not}, nil
	}
	out, done := s.outcomes[c]
	if !done {
		out = p.evaluate(c, s.rows, s.text)
		if c.Colour == "" {
			s.outcomes[c] = out
		}
	}
	return out, s.rows
}
