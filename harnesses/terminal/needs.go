package terminal

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// A search for a word takes a hundredth of what a search for a pattern takes, and
// most patterns are of screens that are not there. So each is asked only of a
// text that has one of the words without which it cannot match.

// maxNeeds bounds the words of one pattern: many alternatives are not worth it.
const maxNeeds = 8

// needsOf returns words of which every text that a pattern matches holds one;
// nil when nothing can be said.
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

// ofEach returns what one of several alternatives needs.
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

// shortest is the length of the shortest word in bytes, 0 without any.
func shortest(words []string) int {
	if len(words) == 0 {
		return 0
	}
	return len(slices.MinFunc(words, func(a, b string) int { return len(a) - len(b) }))
}

// mayMatch tells whether a text holds what a condition's pattern needs.
func (c *Cond) mayMatch(text string) bool {
	return c.needs == nil || slices.ContainsFunc(c.needs, func(word string) bool { return strings.Contains(text, word) })
}
