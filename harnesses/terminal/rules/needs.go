package rules

import (
	"regexp/syntax"
	"slices"
)

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
