package rules

import (
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
