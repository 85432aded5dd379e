package reading

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/policy/commandline"
)

// This file reads the filters of jq.

var (
	// jqNames lists the words and functions of jq that only calculate and always end.
	jqNames = strings.Fields(`length keys keys_unsorted values type map map_values select has in to_entries from_entries
		with_entries sort sort_by group_by unique unique_by min max min_by max_by add any all flatten reverse first
		last nth contains inside startswith endswith ltrimstr rtrimstr split join ascii_downcase ascii_upcase tostring
		tonumber tojson fromjson not empty null true false and or if then elif else end del paths index rindex indices
		floor ceil round sqrt test as reduce try arrays objects iterables booleans numbers strings nulls scalars limit
		range sub leaf_paths IN utf8bytelength`)
	jqFormats = strings.Fields(`@text @json @csv @tsv @html @uri @sh @base64 @base64d`)
	// jqWords matches the first word of a filter if the word is not a string. Group 1 is a field, and group 2
	// is a name.
	jqWords = regexp.MustCompile(`^(?:[ \t\n]+|\.([A-Za-z_][A-Za-z0-9_]*)|([A-Za-z_][A-Za-z0-9_]*)|\$[a-z][a-z0-9_]*|` +
		`@[a-z0-9]+|[0-9]{1,6}(\.[0-9]{1,6})?|\.\.|\?//|//|==|!=|<=|>=|[.?|,:;<>()\[\]{}+%*/-])`)
	jqPlainText = regexp.MustCompile(`^([^"\\\x00-\x1f]|\\["\\/nrt])+`)
	jqAfterWord = regexp.MustCompile(`^[A-Za-z0-9_]`)
	// slowPattern matches a string that can be slow to match as a regular expression.
	slowPattern = regexp.MustCompile(`\(|[*+{?].*[*+{?].*[*+{?]`)
)

// jqReader reads a filter of jq, word by word.
type jqReader struct {
	rest string
	last string   // the previous word that is not blank
	open []string // the closing signs of the brackets, texts and `if` words that are still open
	// words contains all words so far, without blanks. A string begins with ", and a filter within a string
	// begins with \(.
	words []string
	// slow is true if a string of the filter matches slowPattern. searches is true if the filter uses regular
	// expressions.
	slow, searches bool
}

// readJQ returns an error if a filter of jq can do more than calculate from its input.
func readJQ(filter string) error {
	r := jqReader{rest: filter}
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

func (r *jqReader) word() error {
	if r.rest[0] == '"' {
		r.rest = r.rest[1:]
		r.open = append(r.open, `"`)
		return r.text()
	}
	m := jqWords.FindStringSubmatch(r.rest)
	if m == nil {
		return fmt.Errorf("its filter contains %q, which Coleo does not understand", shortened(r.rest))
	}
	word, isBlank, isKey := m[0], strings.TrimSpace(m[0]) == "", m[2] != "" && r.isKey()
	r.rest = r.rest[len(word):]
	isNumber := word[0] >= '0' && word[0] <= '9'
	switch {
	case isBlank:
		return nil
	case isNumber && jqAfterWord.MatchString(r.rest), word[0] == '$' && jqAfterWord.MatchString(r.rest),
		m[2] != "" && strings.HasPrefix(r.rest, "."), word[0] == '@' && !slices.Contains(jqFormats, word),
		m[2] != "" && !isKey && !slices.Contains(jqNames, word):
		return fmt.Errorf("%q in its filter is not known to only calculate", shortened(word))
	}
	if word == "test" || word == "split" || word == "sub" {
		r.searches = true
	}
	r.last = word
	if isKey {
		r.words = append(r.words, jqKey)
		return nil
	}
	r.words = append(r.words, word)
	return r.nest(word)
}

// isKey reports whether the next word names a member of an object that the filter makes.
func (r *jqReader) isKey() bool {
	n := len(r.open)
	return n > 0 && r.open[n-1] == "}" && (r.last == "{" || r.last == ",")
}

// nest updates r.open if the word opens or closes something. A closing parenthesis can end a filter within
// a string. A comma between `if` and `end` does not separate members of the object around them.
func (r *jqReader) nest(word string) error {
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
func (r *jqReader) text() error {
	plain := jqPlainText.FindString(r.rest)
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
	return fmt.Errorf("a string in its filter contains %q, which Coleo does not understand", shortened(r.rest))
}

func jq(w Workspace, dir string, words []commandline.Word) error {
	words, err := withoutValues(words)
	if err != nil {
		return err
	}
	a, err := options{flags: "rRcSMCjesna", long: longOptions([]string{"raw-output", "raw-input", "compact-output",
		"sort-keys", "slurp", "null-input", "exit-status", "join-output", "monochrome-output", "tab"}, nil)}.divide(words)
	if err != nil {
		return err
	}
	if len(a.operands) == 0 || a.operands[0].Matched {
		return fmt.Errorf("its filter is not known")
	}
	if err := readJQ(a.operands[0].Text); err != nil {
		return err
	}
	if err := w.refuseHomeFiles(".jq"); err != nil {
		return err
	}
	return w.checkFiles(dir, append(a.operands[1:], a.behind...))
}

// withoutValues returns the words without --arg NAME VALUE and --argjson NAME VALUE.
func withoutValues(words []commandline.Word) ([]commandline.Word, error) {
	var out []commandline.Word
	for i := 0; i < len(words); i++ {
		if words[i].Text == "--" {
			return append(out, words[i:]...), nil
		}
		if words[i].Text != "--arg" && words[i].Text != "--argjson" {
			out = append(out, words[i])
			continue
		}
		if i+2 >= len(words) || slices.ContainsFunc(words[i:i+3], func(w commandline.Word) bool {
			return w.Unknown || w.Matched || w.Variable
		}) {
			return nil, fmt.Errorf("the value of %s is not known", words[i].Text)
		}
		i += 2
	}
	return out, nil
}
