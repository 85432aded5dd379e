package jq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coleo.dev/policy/reading/lengthening"
)

// memberName stands for the name of a member in an object that the filter makes. The names themselves do
// not matter.
const memberName = "key"

// ofStep is the estimated memory of a number in jq, divided by the size of the number as text.
const ofStep = 10

// lengthens contains, for some words of jq, the largest factor by which the word's result can be longer than
// the input.
var lengthens = map[string]int{"tojson": 4, "tostring": 4, "@json": 4, "@text": 4, "@sh": 4, "@html": 6, "@uri": 3,
	"@csv": 2, "@tsv": 2, "@base64": 2, "split": 2, "to_entries": 2, "with_entries": 2, "..": 100, "paths": 100,
	"leaf_paths": 100, "fromjson": 2}

// ofInput lists the words of jq that use the input although the filter does not name it. Their results contain
// parts of the input.
var ofInput = strings.Fields(`values select to_entries from_entries sort sort_by group_by unique unique_by min max
	min_by max_by add flatten reverse first last nth tostring tojson fromjson ascii_downcase ascii_upcase ltrimstr
	rtrimstr split join del paths leaf_paths keys arrays objects iterables strings scalars sub @text @json
	@csv @tsv @html @uri @sh @base64 @base64d`)

// plainArguments lists the words of jq whose first argument must be a string or a number in the filter itself.
var plainArguments = strings.Fields("flatten join split range limit nth sub")

// `mixes` lists the signs that combine two streams and make one value from each pair. `makes` lists the words
// that make a string or an array from many values.
var (
	mixes = strings.Fields(`+ - / % == != < > <= >= and or // : ;`)
	makes = strings.Fields(`add flatten join tojson tostring + @text @json @csv @tsv @html @uri @sh @base64 \(`)
	// goesOn lists the words that make many values from one, or go through many values.
	goesOn = strings.Fields(`.. map map_values with_entries paths leaf_paths range scalars`)
	// inStep lists the words that the step of a reduce may contain, in addition to signs.
	inStep = strings.Fields(`length not if then elif else end and or null true false empty has select tonumber`)
)

// growth estimates the factor by which the result of a filter can be longer than its input.
type growth struct {
	words  []string
	factor int
	bound  bool // the filter has set a variable with `as`
	many   bool // a variable that the filter has set with `as` takes many values
	repeat bool // the filter goes through many values while a variable is set
}

// checkGrowth refuses a filter that can make a very large value from a small input.
func (r *reader) checkGrowth() error {
	g := growth{words: slices.Clone(r.words), factor: 1}
	refused := fmt.Errorf("its filter can make a value that fills the memory")
	begin, texts := 0, 0
	for _, word := range g.words {
		if word[0] == '"' {
			texts += len(word)
		}
	}
	if texts > lengthening.Most {
		return refused
	}
	for i := 0; i <= len(g.words); i++ {
		if i < len(g.words) && g.words[i] == "reduce" {
			if !g.isShortReduce(i) {
				return refused
			}
		}
		if i == len(g.words) || g.words[i] == "|" {
			if !g.addSegment(g.words[begin:i]) {
				return refused
			}
			begin = i + 1
		}
	}
	g.addLists()
	if g.factor > lengthening.Most {
		return refused
	}
	return nil
}

// isPath reports whether a word can end a path, so that a .name or [ after it continues this path.
func isPath(word string) bool {
	return len(word) > 1 && word[0] == '.' || word == "." || word == "]" || word == "?" || word == ")" || word == "}" ||
		strings.HasPrefix(word, "$") || strings.HasPrefix(word, `"`) || slices.Contains(ofInput, word)
}

// segment describes the words between two pipes of a filter.
type segment struct {
	words      []string
	named      map[string]int // how often the segment names each path of the input and each variable
	whole      int            // how often the segment names the whole input, or uses a word of ofInput
	paths      int            // how often the segment names the input or a variable, or a part of one
	iterations int            // how often the segment goes through the members of one value
	goesOn     int            // how many words of the segment go through many values
	mixes      bool           // the segment combines two streams, and makes one value from each pair
	makes      bool           // the segment makes a string or an array from many values
	inSource   bool           // the current word is in the source of a reduce
}

// at returns the word with index i, or "" if there is none.
func (s *segment) at(i int) string {
	if i < 0 || i >= len(s.words) {
		return ""
	}
	return s.words[i]
}

func (s *segment) isIteration(i int) bool {
	return s.at(i) == "[" && s.at(i+1) == "]" && isPath(s.at(i-1))
}

// namesInput reports whether the word with index i stands for the input or for a part of it.
func (s *segment) namesInput(i int) bool {
	return s.words[i][0] == '.' && !isPath(s.at(i-1)) || slices.Contains(ofInput, s.words[i])
}

// usesVariable reports whether the word with index i reads a variable. After `as`, the segment sets the
// variable instead. The same is true after a semicolon, which isShortReduce writes in place of `as`.
func (s *segment) usesVariable(i int) bool {
	before := s.at(i - 1)
	return s.words[i][0] == '$' && before != "as" && before != ";"
}

// takesWhole reports whether the word with index i names the input. The input in .[$VARIABLE] does not count,
// because this expression names only one member.
func (s *segment) takesWhole(i int) bool {
	isMember := s.words[i] == "." && s.at(i+1) == "[" && strings.HasPrefix(s.at(i+2), "$")
	return s.namesInput(i) && !isMember
}

// countWord updates the counts for the word with index i.
func (s *segment) countWord(i int) {
	word := s.words[i]
	if s.namesInput(i) || s.usesVariable(i) {
		s.paths++
	}
	s.inSource = (s.inSource || s.at(i-1) == "reduce") && word != ";"
	if !s.inSource && (s.isIteration(i) || word == ".." || word == "paths" || word == "leaf_paths") {
		s.iterations++
	}
	switch {
	case s.isIteration(i) || slices.Contains(goesOn, word):
		s.goesOn++
	case word == "." || word == "..":
		s.whole++
	case word[0] == '.' && !isPath(s.at(i-1)), s.usesVariable(i):
		s.named[word]++
	case slices.Contains(ofInput, word):
		s.whole++
	}
	s.mixes = s.mixes || slices.Contains(mixes, word) || word == `\(`
	s.makes = s.makes || slices.Contains(makes, word)
}

// mostOften returns how often the segment uses the part of the input that it uses most.
func (s *segment) mostOften() int {
	most := s.whole
	for _, n := range s.named {
		most = max(most, s.whole+n)
	}
	return most
}

// isBounded reports whether the segment makes at most one value from each value that it goes through.
func (s *segment) isBounded() bool {
	return (s.goesOn <= 1 || !s.mixes) && (s.iterations == 0 || s.paths <= s.iterations || !s.makes)
}

// addSegment multiplies g.factor by the factor by which the words between two pipes can lengthen a value. If
// these words use the input n times, their result can be n times as long. addSegment returns false if the
// words can make a value without a bound.
func (g *growth) addSegment(words []string) bool {
	s := segment{words: words, named: map[string]int{}}
	for i, word := range words {
		if g.many && s.takesWhole(i) {
			return false // the result would contain the whole input once for each value of the variable
		}
		s.countWord(i)
		g.multiplyBy(lengthens[word])
		if word == "*" { // jq repeats a string that is multiplied by a number
			n, err := strconv.Atoi(s.at(i + 1))
			if err != nil {
				return false
			}
			g.multiplyBy(n)
		}
		if slices.Contains(plainArguments, word) && s.at(i+1) == "(" && !g.hasPlainArgument(word, words[i+2:]) {
			return false
		}
	}
	g.multiplyBy(s.mostOften())
	return g.noteVariables(&s) && s.isBounded()
}

// multiplyBy multiplies g.factor by n. A value of n below 1 counts as 1.
func (g *growth) multiplyBy(n int) {
	n = min(max(1, n), lengthening.Most+1) // a larger product could overflow
	g.factor = min(g.factor*n, lengthening.Most+1)
}

// noteVariables records in g which variables a segment sets. It returns false if the filter can be too
// expensive, because it goes through many values while a variable is set. This is the case if one of these is
// also true:
//   - the same segment sets another variable
//   - the variable that is set takes many values
//   - the segment puts the values into a string or an array
func (g *growth) noteVariables(s *segment) bool {
	wasBound := g.bound
	if slices.Contains(s.words, "as") {
		if g.bound && s.goesOn > 0 {
			return false
		}
		g.bound, g.many = true, g.many || s.goesOn > 0
	} else if g.bound && s.goesOn > 0 && g.many {
		return false
	}
	g.repeat = g.repeat || wasBound && s.goesOn > 0
	return !g.repeat || !s.makes
}

// hasPlainArgument reports whether the first argument of a function is a plain string or number in the filter.
// For `join` and `range`, it also multiplies g.factor, because these functions make the result longer.
func (g *growth) hasPlainArgument(name string, words []string) bool {
	if len(words) < 2 {
		return false
	}
	first, next := words[0], words[1]
	if next != ")" && next != ";" {
		return false
	}
	n, err := strconv.Atoi(first)
	isText := first[0] == '"'
	switch name {
	case "join":
		g.multiplyBy(len(first) - 1)
		return isText
	case "sub": // with a third argument, sub can replace all matches, which needs very much memory
		return isText && len(words) > 3 && words[2][0] == '"' && words[3] == ")"
	case "split":
		return isText
	case "range":
		if next == ";" && len(words) > 3 && words[3] == ")" {
			to, err := strconv.Atoi(words[2])
			n, next = max(n, to), ")"
			if err != nil {
				return false
			}
		}
		g.multiplyBy(n)
		g.multiplyBy(ofStep)
		return err == nil && next == ")"
	}
	return err == nil
}

// addLists multiplies g.factor by the number of values in each list with commas. Commas between the members of
// an object do not count.
func (g *growth) addLists() {
	open := []string{"("}
	commas := []int{0}
	ends := func(i int) {
		g.multiplyBy(commas[i] + 1)
		commas[i] = 0
	}
	for _, word := range g.words {
		last := len(open) - 1
		switch word {
		case "(", "[", "{", `\(`:
			open, commas = append(open, word), append(commas, 0)
		case ")", "]", "}":
			ends(last)
			if last > 0 {
				open, commas = open[:last], commas[:last]
			}
		case "|", ";":
			ends(last)
		case ",":
			if open[last] != "{" {
				commas[last]++
			}
		}
	}
	for i := range commas {
		ends(i)
	}
}

// isShortReduce reports whether a filter of the form `reduce SOURCE as $x (BEGIN; STEP)` is accepted. The step
// may name its input only once, and must not use variables that are set outside.
func (g *growth) isShortReduce(at int) bool {
	as := slices.Index(g.words[at:], "as")
	if as < 0 || at+as+3 >= len(g.words) || g.words[at+as+2] != "(" {
		return false
	}
	// The semicolon tells usesVariable that the variable is set here. noteVariables does not count the variable,
	// because it looks for `as`. That is right, because the variable exists only within the reduce.
	g.words[at+as] = ";"
	variable, begin := g.words[at+as+1], at+as+3
	depth, part, inputs := 1, 0, 0
	for i := begin; i < len(g.words); i++ {
		word := g.words[i]
		switch {
		case word == "(" || word == "[" || word == "{":
			depth++
		case word == ")" || word == "]" || word == "}":
			if depth--; depth == 0 {
				return part > 0
			}
		case word == ";":
			part, inputs = part+1, 0
		case part == 0:
		case word[0] == '.' && !isPath(g.words[i-1]):
			inputs++
		case word[0] == '$' && word != variable, word == "|", word == "*", word == `\(`, word[0] == '@',
			word[0] >= 'a' && word[0] <= 'z' && word != memberName && !slices.Contains(inStep, word):
			return false
		}
		if inputs > 1 {
			return false
		}
	}
	return false
}
