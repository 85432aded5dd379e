package rules

import (
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/pty"
)

// Picture is the screen of one moment, prepared for the rules.
type Picture struct {
	Screen   coleo.Screen
	rows     []string  // the screen's lines, with normal blanks in place of no-break blanks
	spec     *Composer // the description of the composer
	Composer *ComposerView
	cell     func(x, y int) pty.Cell // returns one cell of the screen; nil if the picture has only text
	memo     Memo                    // results of conditions on earlier pictures; if nil, every condition is evaluated
}

// Use sets a function that returns the cells of the picture's screen, and a Memo with the results
// of conditions on earlier pictures. The function must stay valid while the picture is in use.
func (p *Picture) Use(cell func(x, y int) pty.Cell, m Memo) { p.cell, p.memo = cell, m }

// NewPicture returns the picture of a screen. It searches for the composer that c describes.
func NewPicture(s coleo.Screen, c *Composer) *Picture {
	f := &Picture{Screen: s, spec: c, rows: make([]string, len(s.Lines))}
	for i, line := range s.Lines {
		f.rows[i] = strings.TrimRight(strings.ReplaceAll(line, "\u00a0", " "), " ")
	}
	c.cutSidebar(f.rows)
	f.Composer = c.find(f)
	return f
}

// Memo keeps the results of conditions for the next pictures. A result stays valid until the rows
// of the condition's region change. But a condition with a color is evaluated on each picture,
// because rows have no colors. A Memo is not safe for concurrent use.
type Memo map[region]*regionMemo

// regionMemo contains the results of the conditions on one region, and the content of the region for which
// they were computed.
type regionMemo struct {
	picture  *Picture // the picture from which the fields `rows` and `present` come
	rows     []string
	present  bool
	text     string // rows joined by \n
	outcomes map[*Cond]outcome
}

// outcome is the result of a condition on a region.
type outcome struct {
	ok        bool
	detail    string
	from, end int // rows[from:end] are the rows of the region that contain the match
}

// recall returns the results of the Memo for a region. If the region has changed, recall first
// discards the old results.
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

// outcomeOf returns the result of a condition, and the rows of its region.
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
