package rules

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Cond is one condition on the screen. A text must be visible or, with `not`, must not be visible. Rules,
// dialogs and other keys have lists of conditions.
type Cond struct {
	// The part of the screen that is checked: `screen`, `bottom N`, `cursor`, `cursor line`,
	// `wrapped line`, `title`, `modes`, `composer`, `composer rows`, `below composer`, `above composer N`
	// or `above cursor N`. N is a number of rows that are not blank, 1 to 99. The guide describes each
	// part. The key is required.
	Where string `toml:"where"`
	// The regular expression that the part must match, such as `esc to interrupt`. Coleo joins the
	// rows of the part with `\n`. If the expression begins with `(?m)`, `^` and `$` match at each
	// row. The key is required.
	Pattern patternText `toml:"pattern"`
	// The color of the text: `red`, `green` or `blue`. The color component with that name must be a
	// quarter stronger than the other two. Coleo checks the color of the group `mark` of the pattern.
	// Without this group, it checks the first character of the match. Only `screen`, `bottom N`, `cursor`,
	// `composer rows`, `below composer`, `above composer N` and `above cursor N` have colors.
	Colour string `toml:"colour"`
	// This key is `true` if the condition holds when the pattern is not found. The condition also holds if
	// the screen does not show the part, such as a composer. Without this key, the condition holds when
	// the pattern is found. The key is not allowed with `screen`, or with more than 15 rows, because a
	// model can write the forbidden text there.
	Not bool `toml:"not"`

	where   region
	pattern *regexp.Regexp
	needs   []string // a text can match `pattern` only if it contains at least one of these words
}

// match reports whether a condition holds. It also returns the text of the pattern's group "detail", and
// the rows that contain the match.
func (p *Picture) match(c *Cond) (ok bool, detail string, rows []string) {
	a := outcome{ok: c.Not} // the outcome for a region that the picture does not show
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

// evaluate tests a condition on the rows of its region. The parameter `text` contains the same rows,
// joined by \n.
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
	// Limit the row numbers, because a pattern can match the empty text of a region without rows.
	a.from = min(a.from, len(rows))
	a.end = min(a.from+strings.Count(text[m[0]:m[1]], "\n")+1, len(rows))
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

// mayMatch reports whether the text contains one of the words that the pattern of c needs. Otherwise the
// pattern cannot match.
func (c *Cond) mayMatch(text string) bool {
	return c.needs == nil || slices.ContainsFunc(c.needs,
		func(word string) bool { return strings.Contains(text, word) })
}

// Shows reports whether all given conditions hold on the picture. It returns true if there are none.
func (p *Picture) Shows(conds []Cond) bool {
	ok, _, _ := p.matchAll(conds)
	return ok
}

// A pattern can match only if the text contains one of certain words: see needsOf. Most patterns do not
// match the present screen. So Coleo first searches for these words, and tries the pattern only if it
// finds one. A search for a word takes a hundredth of the time of a regular expression.

// maxNeeds is the largest number of words that needsOf returns for one pattern. A search for more words
// would take longer than it saves.
const maxNeeds = 8

// needsOf returns a list of words. Every text that the pattern matches contains at least one of them. It
// returns nil if it finds no such words.
func needsOf(pattern string) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return neededWords(re.Simplify())
}

func neededWords(re *syntax.Regexp) []string {
	switch is := re.Op; {
	case is == syntax.OpLiteral && re.Flags&syntax.FoldCase == 0:
		return []string{string(re.Rune)}
	case is == syntax.OpCapture, is == syntax.OpPlus, is == syntax.OpRepeat && re.Min > 0:
		return neededWords(re.Sub[0])
	case is == syntax.OpAlternate:
		return ofEach(re.Sub)
	case is == syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if words := neededWords(sub); shortestLength(words) > shortestLength(best) {
				best = words
			}
		}
		return best
	}
	return nil
}

// ofEach returns the words that the alternatives of a pattern need. It returns nil if one alternative
// needs no word, or if there are more than maxNeeds words.
func ofEach(alternatives []*syntax.Regexp) []string {
	var all []string
	for _, sub := range alternatives {
		words := neededWords(sub)
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

// shortestLength returns the length in bytes of the shortest word, or 0 if there is no word.
func shortestLength(words []string) int {
	if len(words) == 0 {
		return 0
	}
	return len(slices.MinFunc(words, func(a, b string) int { return len(a) - len(b) }))
}
