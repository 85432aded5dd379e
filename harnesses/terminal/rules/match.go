package rules

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Cond is one thing that must show on the screen, or with `not` must not show. Rules,
// dialogs and other keys list such conditions.
type Cond struct {
	// The part of the screen to look at: `screen`, `bottom N`, `cursor`, `cursor line`,
	// `wrapped line`, `title`, `modes`, `composer`, `below composer` or
	// `above composer N`. N is a number of rows that are not blank, 1 to 99. The guide says
	// what each part holds. The key is required.
	Where string `toml:"where"`
	// What that part must show, such as `esc to interrupt`. The rows are joined with `\n`.
	// With `(?m)` at its beginning, `^` and `$` match at each row. The key is required.
	Pattern patternText `toml:"pattern"`
	// The colour of the text: `red`, `green` or `blue`. It must be a quarter stronger than
	// the other two. Coleo looks at the group `mark` of the pattern, or else at the first
	// character found. Only `screen`, `bottom N`, `cursor`, `below composer` and
	// `above composer N` have colours.
	Colour string `toml:"colour"`
	// Whether the condition holds when the pattern is not found. It then also holds if the
	// part is not on the screen, such as a composer.
	Not bool `toml:"not"`

	where   region
	pattern *regexp.Regexp
	needs   []string // words of which each text that pattern matches holds one
}

// match reports whether a condition holds. It also returns the detail that the pattern
// names and the rows in which it was found.
func (p *Picture) match(c *Cond) (ok bool, detail string, rows []string) {
	a := outcome{ok: c.Not} // the outcome where the region is not on the picture
	if p.memo != nil {
		a, rows = p.memo.outcomeOf(p, c)
	} else if all, present := p.region(c.where); present {
		a, rows = p.evaluate(c, all, strings.Join(all, "\n")), all
	}
	if !a.ok {
		return false, "", nil
	}
	return true, a.detail, rows[a.from:a.end]
}

// evaluate evaluates a condition on the rows of its region. text is those rows joined.
func (p *Picture) evaluate(c *Cond, rows []string, text string) outcome {
	var m []int
	if c.mayMatch(text) {
		m = c.pattern.FindStringSubmatchIndex(text)
	}
	found := m != nil && (c.Colour == "" || p.hasColour(c, rows, p.rowNumbers(c.where)))
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

func (p *Picture) matchAll(conds []Cond) (ok bool, detail string, rows []string) {
	for i := range conds {
		hit, d, r := p.match(&conds[i])
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
	return c.needs == nil || slices.ContainsFunc(c.needs,
		func(word string) bool { return strings.Contains(text, word) })
}

// Shows reports whether all of some conditions hold on the picture. It is true for none.
func (p *Picture) Shows(conds []Cond) bool {
	ok, _, _ := p.matchAll(conds)
	return ok
}

// A search for a word takes a hundredth of the time of a search for a pattern. Most
// patterns are of screens that are not there. So a pattern is matched only against a text
// that holds one of the words that it needs.

// maxNeeds bounds the words of one pattern. More alternatives do not save time.
const maxNeeds = 8

// needsOf returns words of which every text that the pattern matches holds at least one.
// It returns nil when there are no such words.
func needsOf(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return needed(re.Simplify())
}

func needed(re *syntax.Regexp) []string {
	switch is := re.Op; {
	case is == syntax.OpLiteral && re.Flags&syntax.FoldCase == 0:
		return []string{string(re.Rune)}
	case is == syntax.OpCapture, is == syntax.OpPlus, is == syntax.OpRepeat && re.Min > 0:
		return needed(re.Sub[0])
	case is == syntax.OpAlternate:
		return ofEach(re.Sub)
	case is == syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if words := needed(sub); shortest(words) > shortest(best) {
				best = words
			}
		}
		return best
	}
	return nil
}

// ofEach returns the words that several alternatives need together.
func ofEach(alternatives []*syntax.Regexp) []string {
	var all []string
	for _, sub := range alternatives {
		words := needed(sub)
		if words == nil {
			return nil
		}
		all = append(all, words...)
	}
	if len(all) > maxNeeds {
		return nil
	}
	return all
}

// shortest returns the length of the shortest word in bytes, 0 without any.
func shortest(words []string) int {
	if len(words) == 0 {
		return 0
	}
	return len(slices.MinFunc(words, func(a, b string) int { return len(a) - len(b) }))
}
