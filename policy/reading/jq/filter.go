// Package jq judges whether a filter of jq only calculates from its input. A filter must also end soon, and must
// not make a value that fills the memory of the machine. The package refuses every word that it does not know.
package jq

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/printable"
)

var (
	// known lists the words and functions of jq that only calculate and always end.
	known = strings.Fields(`length keys keys_unsorted values type map map_values select has in to_entries from_entries
		with_entries sort sort_by group_by unique unique_by min max min_by max_by add any all flatten reverse first
		last nth contains inside startswith endswith ltrimstr rtrimstr split join ascii_downcase ascii_upcase tostring
		tonumber tojson fromjson not empty null true false and or if then elif else end del paths index rindex indices
		floor ceil round sqrt test as reduce try arrays objects iterables booleans numbers strings nulls scalars limit
		range sub leaf_paths IN utf8bytelength`)
	formats = strings.Fields(`@text @json @csv @tsv @html @uri @sh @base64 @base64d`)
	// firstWord matches the first word of a filter if the word is not a string. Group 1 is a field, and group 2
	// is a name.
	firstWord = regexp.MustCompile(`^(?:[ \t\n]+|\.([A-Za-z_][A-Za-z0-9_]*)|([A-Za-z_][A-Za-z0-9_]*)|\$[a-z][a-z0-9_]*|` +
		`@[a-z0-9]+|[0-9]{1,6}(\.[0-9]{1,6})?|\.\.|\?//|//|==|!=|<=|>=|[.?|,:;<>()\[\]{}+%*/-])`)
	plainText = regexp.MustCompile(`^([^"\\\x00-\x1f]|\\["\\/nrt])+`)
	afterWord = regexp.MustCompile(`^[A-Za-z0-9_]`)
	// slowPattern matches a string that can be slow to match as a regular expression.
	slowPattern = regexp.MustCompile(`\(|[*+{?].*[*+{?].*[*+{?]`)
)

// reader reads a filter of jq, word by word.
type reader struct {
	rest string
	last string   // the previous word that is not blank
	open []string // the closing signs of the brackets, texts and `if` words that are still open
	// words contains all words so far, without blanks. A string begins with ", and a filter within a string
	// begins with \(.
	words []string
	// `slow` is true if a string of the filter matches slowPattern. `searches` is true if the filter uses regular
	// expressions.
	slow, searches bool
}

// Check returns an error if a filter of jq can do more than calculate from its input.
func Check(filter string) error {
	r := reader{rest: filter}
	for r.rest != "" {
		if err := r.word(); err != nil {
			return err
		}
	}
	if len(r.open) > 0 {
		return fmt.Errorf("its filter is incomplete")
	}
	if r.slow && r.searches {
		return fmt.Errorf("its filter has a pattern that can take very long")
	}
	return r.checkGrowth()
}

func (r *reader) word() error {
	if r.rest[0] == '"' {
		r.rest = r.rest[1:]
		r.open = append(r.open, `"`)
		return r.text()
	}
	m := firstWord.FindStringSubmatch(r.rest)
	if m == nil {
		return fmt.Errorf("its filter contains %q, which Coleo does not understand", printable.Shortened(r.rest))
	}
	word, isBlank, isKey := m[0], strings.TrimSpace(m[0]) == "", m[2] != "" && r.isKey()
	r.rest = r.rest[len(word):]
	isNumber := word[0] >= '0' && word[0] <= '9'
	switch {
	case isBlank:
		return nil
	case isNumber && afterWord.MatchString(r.rest), word[0] == '$' && afterWord.MatchString(r.rest),
		m[2] != "" && strings.HasPrefix(r.rest, "."), word[0] == '@' && !slices.Contains(formats, word),
		m[2] != "" && !isKey && !slices.Contains(known, word):
		return fmt.Errorf("%q in its filter is not known to only calculate", printable.Shortened(word))
	}
	if word == "test" || word == "split" || word == "sub" {
		r.searches = true
	}
	r.last = word
	if isKey {
		r.words = append(r.words, memberName)
		return nil
	}
	r.words = append(r.words, word)
	return r.nest(word)
}

// isKey reports whether the next word names a member of an object that the filter makes.
func (r *reader) isKey() bool {
	n := len(r.open)
	return n > 0 && r.open[n-1] == "}" && (r.last == "{" || r.last == ",")
}

// nest updates r.open if the word opens or closes something. A closing parenthesis can end a filter within
// a string. A comma between `if` and `end` does not separate members of the object around them.
func (r *reader) nest(word string) error {
	closes := map[string]string{"(": ")", "[": "]", "{": "}", "if": "end"}
	if closing := closes[word]; closing != "" {
		r.open = append(r.open, closing)
		return nil
	}
	if word != ")" && word != "]" && word != "}" && word != "end" {
		return nil
	}
	n := len(r.open)
	if n == 0 || r.open[n-1] != word {
		return fmt.Errorf("its filter closes a bracket that is not open")
	}
	r.open = r.open[:n-1]
	if n > 1 && r.open[n-2] == `"` {
		return r.text()
	}
	return nil
}

// text reads the rest of a string up to its end, or up to a filter within the string.
func (r *reader) text() error {
	plain := plainText.FindString(r.rest)
	r.rest = r.rest[len(plain):]
	r.slow = r.slow || slowPattern.MatchString(plain)
	r.words = append(r.words, `"`+plain)
	switch {
	case strings.HasPrefix(r.rest, `"`):
		r.rest, r.open, r.last = r.rest[1:], r.open[:len(r.open)-1], `"`
		return nil
	case strings.HasPrefix(r.rest, `\(`):
		r.rest, r.last = r.rest[2:], "("
		r.words = append(r.words, `\(`)
		r.open, r.slow = append(r.open, ")"), true
		return nil
	}
	return fmt.Errorf("a string in its filter contains %q, which Coleo does not understand", printable.Shortened(r.rest))
}
