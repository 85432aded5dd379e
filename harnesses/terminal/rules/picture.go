package rules

import (
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/pty"
)

// Picture is one picture, prepared for the rules.
type Picture struct {
	Screen   coleo.Screen
	rows     []string  // with no-break spaces replaced by plain ones
	spec     *Composer // by which the composer is found
	Composer *ComposerView
	cell     func(x, y int) pty.Cell // nil where the picture has text alone
	memo     Memo                    // answers from earlier pictures; nil: every condition is evaluated
}

// Use gives a picture the cells of its screen, and the results of earlier pictures. The
// picture then reads cells for as long as it is in use.
func (p *Picture) Use(cell func(x, y int) pty.Cell, m Memo) { p.cell, p.memo = cell, m }

// NewPicture returns the picture of a screen, with the composer that c describes.
func NewPicture(s coleo.Screen, c *Composer) *Picture {
	f := &Picture{Screen: s, spec: c, rows: make([]string, len(s.Lines))}
	for i, line := range s.Lines {
		f.rows[i] = strings.TrimRight(strings.ReplaceAll(line, "\u00a0", " "), " ")
	}
	c.cutSidebar(f.rows)
	f.Composer = c.find(f)
	return f
}

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
