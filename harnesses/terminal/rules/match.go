package rules

import (
	"regexp"
	"slices"
	"strings"
)

// Cond is one condition on a picture: its pattern must match, or with Not must not match.
type Cond struct {
	Where   string `toml:"where"` // see region
	Pattern string `toml:"pattern"`
	// Colour is red, green or blue. It is the part that stands out in the text's colour,
	// at the group mark or else the first character of the match.
	Colour string `toml:"colour"`
	Not    bool   `toml:"not"`

	where   region
	pattern *regexp.Regexp
	needs   []string // words of which each text that pattern matches holds one
}

// match reports whether a condition holds. It also returns the detail that the pattern
// names and the rows in which it was found.
func (f *Picture) match(c *Cond) (ok bool, detail string, rows []string) {
	a := outcome{ok: c.Not} // the answer where the region is not there
	if f.memo != nil {
		a, rows = f.memo.outcomeOf(f, c)
	} else if all, there := f.region(c.where); there {
		a, rows = f.evaluate(c, all, strings.Join(all, "\n")), all
	}
	if !a.ok {
		return false, "", nil
	}
	return true, a.detail, rows[a.from:a.end]
}

// evaluate evaluates a condition on the rows of its region. text is those rows joined.
func (f *Picture) evaluate(c *Cond, rows []string, text string) outcome {
	var m []int
	if c.mayMatch(text) {
		m = c.pattern.FindStringSubmatchIndex(text)
	}
	found := m != nil && (c.Colour == "" || f.hasColour(c, rows, f.rowNumbers(c.where)))
	switch {
	case found == c.Not:
		return outcome{}
	case c.Not:
		return outcome{ok: true}
	}
	a := outcome{ok: true, from: strings.Count(text[:m[0]], "\n")}
	a.end = a.from + strings.Count(text[m[0]:m[1]], "\n") + 1
	if i := c.pattern.SubexpIndex("detail"); i >= 0 && m[2*i] >= 0 {
		a.detail = text[m[2*i]:m[2*i+1]]
	}
	return a
}

func (f *Picture) matchAll(conds []Cond) (ok bool, detail string, rows []string) {
	for i := range conds {
		hit, d, r := f.match(&conds[i])
		if !hit {
			return false, "", nil
		}
		if d != "" {
			detail = d
		}
		rows = append(rows, r...)
	}
	return true, detail, rows
}

// mayMatch reports whether a text holds one of the words that a condition's pattern
// needs.
func (c *Cond) mayMatch(text string) bool {
	return c.needs == nil || slices.ContainsFunc(c.needs, func(word string) bool { return strings.Contains(text, word) })
}

// Shows reports whether all of some conditions hold on the picture. It is true for none.
func (f *Picture) Shows(conds []Cond) bool {
	ok, _, _ := f.matchAll(conds)
	return ok
}
