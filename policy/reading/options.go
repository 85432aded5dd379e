package reading

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coleo.dev/policy/commandline"
	"coleo.dev/printable"
)

// value is the kind of value that an option has.
type value int

const (
	none     value = iota + 1 // the option has no value
	text                      // the value is no path
	count                     // the value is a number
	file                      // the value is a path that the program reads
	optional                  // the value is optional, comes after =, and is no path
	lastText                  // the value is no path; if the option is the last word, it has no value
)

// options lists the harmless options of a program: those that change only what the program prints.
type options struct {
	flags  string // letters of options without a value
	texts  string // letters of options whose value is no path
	counts string // letters of options whose value is a number
	files  string // letters of options whose value is a path to read
	// joined contains letters of options with an optional number. The number stands in the same word, as in -n5,
	// so the next word is not the number.
	joined string
	digits bool // an option such as -5 is allowed
	// single is true if the program reads options in an unusual way. Each option is then a word of its own with
	// one letter, as in `-a -L 2`, because the program would read -aL differently.
	single bool
	// anywhere is true if options may follow operands on every system.
	anywhere bool
	long     map[string]value
}

// arguments contains the words of a command, sorted into options and operands.
type arguments struct {
	operands []commandline.Word
	files    []commandline.Word // values of options that are paths
	// behind contains all words after the first operand. On some systems, options among these words
	// count as operands.
	behind []commandline.Word
	given  map[string]bool // the options that the command has, without dashes
	values map[string][]string
	last   string // the last option so far
}

// divideWords sorts the words after a program's name into options and operands. It refuses
// options that are not in the table.
func (o options) divideWords(words []commandline.Word) (arguments, error) {
	a := arguments{given: map[string]bool{}, values: map[string][]string{}}
	for i := 0; i < len(words); i++ {
		word := words[i]
		if len(a.operands) > 0 && a.behind == nil {
			a.behind = words[i:]
		}
		switch {
		case word.Unknown:
			return a, fmt.Errorf("an argument is not known before the command runs")
		case word.Text == "--":
			a.operands = append(a.operands, words[i+1:]...)
			return a, allKnown(words[i+1:])
		case len(word.Text) < 2 || word.Text[0] != '-':
			a.operands = append(a.operands, word)
			continue
		case word.Matched:
			return a, fmt.Errorf("the file %s has the form of an option", word.Text)
		}
		takes, err := o.parseOption(&a, word.Text)
		if err != nil {
			return a, err
		}
		if takes == 0 {
			continue
		}
		if i++; i == len(words) && takes == lastText {
			continue
		}
		if i == len(words) || words[i].Unknown || words[i].Matched {
			return a, fmt.Errorf("the value of %s is not known", word.Text)
		}
		if takes == count && !numberOf.MatchString(words[i].Text) {
			return a, fmt.Errorf("the value of %s is no number", word.Text)
		}
		a.addValue(takes, words[i])
	}
	return a, nil
}

// addValue records the given word as a value of the last option.
func (a *arguments) addValue(kind value, word commandline.Word) {
	a.values[a.last] = append(a.values[a.last], word.Text)
	if kind == file {
		a.files = append(a.files, word)
	}
}

// numberOf matches a number of lines or bytes. A unit may follow the number.
var numberOf = regexp.MustCompile(`^[+-]?[0-9]+[a-zA-Z]{0,2}$`)

func allKnown(words []commandline.Word) error {
	for _, w := range words {
		if w.Unknown {
			return fmt.Errorf("an argument is not known before the command runs")
		}
	}
	return nil
}

// parseOption records the options in one word. If the next word is the value of an option, parseOption
// returns the kind of the value. Otherwise it returns 0.
func (o options) parseOption(a *arguments, word string) (value, error) {
	if name, isLong := strings.CutPrefix(word, "--"); isLong {
		return o.longOption(a, name)
	}
	if o.digits && strings.Trim(word[1:], "0123456789") == "" {
		return 0, nil
	}
	if o.single && len(word) > 2 {
		return 0, fmt.Errorf("programs differ in what %s means", printable.Shortened(word))
	}
	for i := 1; i < len(word); i++ {
		letter, rest := word[i:i+1], word[i+1:]
		a.given[letter], a.last = true, letter
		kind := text
		switch {
		case strings.Contains(o.flags, letter):
			continue
		case strings.Contains(o.joined, letter) && strings.Trim(rest, "0123456789") == "":
			return 0, nil
		case strings.Contains(o.files, letter):
			kind = file
		case strings.Contains(o.counts, letter):
			kind = count
		case !strings.Contains(o.texts, letter):
			return 0, fmt.Errorf("the option -%s is not known to only read", letter)
		}
		if rest == "" {
			return kind, nil
		}
		if kind == file && rest[0] == '=' {
			return 0, fmt.Errorf("programs differ in what -%s= means", letter)
		}
		if kind == count && !numberOf.MatchString(rest) {
			return 0, fmt.Errorf("the value of -%s is no number", letter)
		}
		a.addValue(kind, commandline.Word{Text: rest})
		return 0, nil
	}
	return 0, nil
}

func (o options) longOption(a *arguments, name string) (value, error) {
	name, val, has := strings.Cut(name, "=")
	kind := o.long[name]
	a.given[name], a.last = true, name
	switch {
	case kind == 0 || kind == none && has:
		return 0, fmt.Errorf("the option --%s is not known to only read", name)
	case kind == none, kind == optional && !has:
		return 0, nil
	case !has:
		return kind, nil
	}
	a.addValue(kind, commandline.Word{Text: val})
	return 0, nil
}

var (
	// wideField matches a field of a format with a width of five digits or more, such as %99999s, and
	// %w(99999) in git. One such field can fill the memory of the machine. A blank is one of printf's flags.
	wideField = regexp.MustCompile(`%([A-Za-z]+\([^)%]*|[^%A-Za-z\t\n]*)[0-9]{5,}`)
	// wideOption matches a word that consists only of a number with five digits or more, or an option with
	// such a number.
	wideOption = regexp.MustCompile(`^(-[A-Za-z]+|--[a-z-]+=)?[0-9,+/\s]*[0-9]{5,}[0-9,+/\s]*$`)
	// widened lists the programs that have an option for the width of their output.
	widened = []string{"diff", "expand", "nl", "unexpand"}
	// repeats matches a repetition such as {2,5} in a pattern. Group 1 is not empty if the repeated part is a
	// group, or contains a repetition itself. Groups 2 and 3 are the numbers.
	repeats = regexp.MustCompile(`(?:^|[^@])([)}*+?]?)(?:\\?\{)([0-9]*)(?:,([0-9]*))?\\?\}`)
	// matching lists the programs that accept patterns with repetitions.
	matching = []string{"grep", "rg", "sed", "awk", "find", "nl", "git", "jq", "tac"}
)

// mostRepeated is the largest number of parts that a pattern may have after its repetitions are written out,
// such as a{3} as aaa. Programs keep a table of the parts, and a table of 30,000 parts takes gigabytes.
const mostRepeated = 2000

// repeatsTooOften reports whether the repetitions of a pattern make more than mostRepeated parts.
func repeatsTooOften(pattern string) bool {
	parts, times := 0, 1
	for at := 0; at < len(pattern); {
		m := repeats.FindStringSubmatchIndex(pattern[at:])
		if m == nil {
			break
		}
		n := 0
		for _, i := range []int{4, 6} {
			if m[i] < 0 || m[i] == m[i+1] {
				continue
			}
			number, err := strconv.Atoi(pattern[at+m[i] : at+m[i+1]])
			if n = max(n, min(number, mostRepeated+1)); err != nil {
				return true
			}
		}
		if m[2] < m[3] {
			times = min(times*max(1, n), mostRepeated+1)
		} else {
			parts = min(parts+n, mostRepeated+1)
		}
		at += m[1] - 1 // the last character of this match can be the first of the next match
	}
	return max(1, parts)*times > mostRepeated
}

// checkWidths refuses words with which a program would print far more than it reads, or would need very much
// memory.
func checkWidths(name string, words []commandline.Word) error {
	for _, w := range words {
		if slices.Contains(matching, name) && strings.Contains(w.Text, "{") && repeatsTooOften(w.Text) {
			return fmt.Errorf("%s repeats parts of a pattern very often", printable.Shortened(w.Text))
		}
		isWide := name != "echo" && strings.Contains(w.Text, "%") && wideField.MatchString(w.Text)
		if isWide || slices.Contains(widened, name) && wideOption.MatchString(w.Text) {
			return fmt.Errorf("%s has a width of five digits or more", printable.Shortened(w.Text))
		}
	}
	return nil
}
