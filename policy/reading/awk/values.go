package awk

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// value is a variable, an array member or a field that an expression names.
type value struct {
	name string // the variable or the array; $ for a field
	of   string // the single word that is the array's index or the field's number; "" if there are several words
}

// toNumber lists the functions of awk whose result is a number.
var toNumber = []string{"length", "index", "int", "split", "match", "sqrt", "exp", "log", "sin", "cos", "atan2",
	"gsub", "sub"}

// ownNumbers lists the variables of awk that are numbers.
var ownNumbers = []string{"NF", "NR", "FNR", "RSTART", "RLENGTH"}

// closingIndex returns the index of the sign that closes the bracket at words[open]. If nothing closes the
// bracket, it returns len(words).
func closingIndex(words []scriptWord, open int) int {
	depth := 0
	for i := open; i < len(words); i++ {
		switch words[i].text {
		case "(", "[":
			if words[i].kind == kindSign {
				depth++
			}
		case ")", "]":
			if words[i].kind == kindSign {
				depth--
			}
		}
		if depth == 0 {
			return i
		}
	}
	return len(words)
}

// valuesOf returns the values that an expression names. It omits values that are used only as numbers.
func valuesOf(words []scriptWord) []value {
	var out []value
	for i := 0; i < len(words); i++ {
		isCalled := i+1 < len(words) && words[i+1].kind == kindSign && words[i+1].text == "("
		isMember := i+1 < len(words) && words[i+1].kind == kindSign && words[i+1].text == "["
		switch word := words[i]; {
		case word.kind == kindSign && word.text == "$" && i+1 < len(words):
			v := value{name: "$", of: words[i+1].text}
			if i++; words[i].text == "(" {
				v.of = ""
				i = closingIndex(words, i)
			}
			out = append(out, v)
		case word.kind != kindName, slices.Contains(ownNumbers, word.text):
		case slices.Contains(toNumber, word.text):
			if isCalled {
				i = closingIndex(words, i+1)
			}
		case word.text == "FILENAME":
			out = append(out, value{name: "$"})
		case isMember:
			end := closingIndex(words, i+1)
			v := value{name: word.text}
			if end == i+3 {
				v.of = words[i+2].text
			}
			out = append(out, v)
			i = end
		case isVariable(word.text):
			out = append(out, value{name: word.text})
		}
	}
	return out
}

// joinsParts reports whether two values stand beside each other in the words. awk concatenates such values into
// one text.
func joinsParts(words []scriptWord) bool {
	ends := false // the previous word ends a value
	for i, word := range words {
		isFunction := word.kind == kindName && slices.Contains(functions, word.text)
		switch {
		case word.kind == kindName && word.text == "sprintf":
			return true
		case word.kind == kindName && word.text == "in":
			ends = false
		case word.kind == kindNumber, word.kind == kindText, word.kind == kindPattern, word.kind == kindName:
			if ends {
				return true
			}
			ends = !isFunction || i+1 < len(words) && words[i+1].text != "("
		case word.text == "++", word.text == "--", word.kind == kindLine:
		case word.text == "$", word.text == "(", word.text == "!":
			if ends {
				return true
			}
			ends = false
		case word.text == ")", word.text == "]":
			ends = true
		case word.text == ",":
			ends = false
		default:
			ends = false
		}
	}
	return false
}

// calculates lists the operators whose result is a number.
var calculates = []string{"+", "-", "*", "/", "%", "^", "==", "!=", "<", ">", "<=", ">=", "~", "!~", "&&", "||", "!",
	"in", "+=", "-=", "*=", "%="}

// isCalculated reports whether the value of the words is a number.
func isCalculated(words []scriptWord) bool {
	if joinsParts(words) {
		return false
	}
	found, depth := len(valuesOf(words)) == 0 && len(words) == 1 && words[0].kind != kindText, 0
	for i, word := range words {
		switch {
		case word.kind == kindSign && (word.text == "(" || word.text == "["):
			depth++
		case word.kind == kindSign && (word.text == ")" || word.text == "]"):
			depth--
		case depth > 0:
		case word.text == "?" && word.kind == kindSign, word.text == "=" && word.kind == kindSign, word.text == ",":
			return false
		case i == 0 && word.kind == kindName && slices.Contains(toNumber, word.text):
			found = found || len(words) == 1 || words[1].text != "(" || closingIndex(words, 1) == len(words)-1
		case (word.kind == kindSign || word.text == "in") && slices.Contains(calculates, word.text):
			found = true
		}
	}
	return found
}

// valueFrom returns the words of the value that begins at r.words[from].
func (r *reader) valueFrom(from int) []scriptWord {
	depth, end := 0, from
	for ; end < len(r.words); end++ {
		word := r.words[end]
		ofSign := word.kind == kindSign
		switch {
		case ofSign && (word.text == "(" || word.text == "["):
			depth++
		case ofSign && (word.text == ")" || word.text == "]"):
			depth--
		}
		isEnd := ofSign && (word.text == ";" || word.text == "{" || word.text == "}" || word.text == "," && depth == 0)
		if isEnd || depth < 0 || word.kind == kindLine && end > 0 &&
			!slices.Contains([]string{",", "&&", "||"}, r.words[end-1].text) {
			break
		}
	}
	return r.words[from:min(end, len(r.words))]
}

// widths matches the numbers in a format, which are the widths of its fields.
var widths = regexp.MustCompile(`[0-9]{1,3}`)

// choices returns the two values of `CONDITION ? VALUE : VALUE`. If the words have no such form, both are nil.
func choices(words []scriptWord) (yes, no []scriptWord) {
	for len(words) > 2 && words[0].kind == kindSign && words[0].text == "(" && closingIndex(words, 0) == len(words)-1 {
		words = words[1 : len(words)-1]
	}
	depth, asked, open := 0, 0, 0
	for i, word := range words {
		switch {
		case word.kind != kindSign:
		case word.text == "(" || word.text == "[":
			depth++
		case word.text == ")" || word.text == "]":
			depth--
		case depth > 0:
		case word.text == "=":
			return nil, nil
		case word.text == "?":
			if open++; open == 1 && asked == 0 {
				asked = i
			}
		case word.text == ":" && open > 0:
			if open--; open == 0 {
				return words[asked+1 : i], words[i+1:]
			}
		}
	}
	return nil, nil
}

// addUse adds a use of the given kind to r.growth. If the words have the form CONDITION ? VALUE : VALUE, it
// adds one use for each of the two values instead.
func (r *reader) addUse(kind useKind, target string, words []scriptWord) {
	if yes, no := choices(words); yes != nil && kind != isIndex {
		r.addUse(kind, target, yes)
		r.addUse(kind, target, no)
		return
	}
	u := use{kind: kind, target: target, words: words, isOnce: r.isOnce, loops: slices.Clone(r.around),
		fresh: maps.Clone(r.fresh), joins: joinsParts(words)}
	for i, word := range words {
		if word.kind == kindText {
			u.literal += len(word.text) - 2
		}
		if word.kind == kindText && i > 1 && words[i-2].text == "sprintf" {
			for _, width := range widths.FindAllString(word.text, -1) {
				n, _ := strconv.Atoi(width)
				u.literal += n
			}
		}
		u.joins = u.joins || kind == isIndex && word.kind == kindSign && word.text == ","
	}
	r.growth.uses = append(r.growth.uses, u)
}

// recordSet records what an operator sets: a variable, a field or a member of an array.
func (r *reader) recordSet(begin int) {
	words := r.valueFrom(r.at + 1)
	switch {
	case r.isAt(-2, "$"):
		r.addUse(setsName, "$", words)
	case r.look(-1).kind == kindName:
		name := r.look(-1).text
		r.addUse(setsName, name, words)
		from := words
		if len(words) > 2 && words[0].text == "split" && closingIndex(words, 1) == len(words)-1 {
			from = r.valueFrom(r.at + 3)
		}
		r.noteFresh(name, from, r.deep == 1 && begin == r.at-1)
	case r.isAt(-1, "]"):
		open := r.at - 1
		for depth := 0; open > 0; open-- {
			switch r.words[open].text {
			case "]":
				depth++
			case "[":
				depth--
			}
			if depth == 0 {
				break
			}
		}
		name := r.words[max(0, open-1)].text
		r.addUse(setsMember, name, words)
		delete(r.fresh, name)
	}
}

// noteFresh updates r.fresh after the script has set a variable to the words in `from`. If these words can hold
// text from an earlier record, noteFresh removes the variable from r.fresh. Otherwise it adds the variable, but
// only if `always` is true, which means that the statement always runs.
func (r *reader) noteFresh(name string, from []scriptWord, always bool) {
	for _, v := range valuesOf(from) {
		if v.name != "$" && !r.fresh[v.name] && !isSettingOfAwk(v.name) {
			always = false
			delete(r.fresh, name)
		}
	}
	if always && r.fresh != nil {
		r.fresh[name] = true
	}
}

// isPattern reports whether words begin with a pattern whose text the command itself contains. Such a pattern is a
// regular expression, a string literal, or a variable that only the option -v sets. Any other pattern could need
// very much memory.
func (r *reader) isPattern(words []scriptWord) bool {
	if len(words) == 0 || len(words) > 1 && joinsParts(words[:2]) || words[0].kind == kindSign ||
		words[0].kind == kindNumber {
		return false
	}
	if words[0].kind != kindName {
		return true
	}
	r.patterns = append(r.patterns, words[0].text)
	return isVariable(words[0].text) && (len(words) == 1 || words[1].text != "[")
}

// noteCall handles a call of sub, gsub, match or split, and records what the call sets. It returns false if the
// pattern of the call comes from outside of the command.
func (r *reader) noteCall(name string, begin int) bool {
	var args [][]scriptWord
	for at := r.at + 2; ; at++ {
		arg := r.valueFrom(at)
		args = append(args, arg)
		if at += len(arg); at >= len(r.words) || r.words[at].text != "," {
			break
		}
	}
	pattern := map[string]int{"split": 2, "match": 1}[name]
	if pattern < len(args) && (len(args[pattern]) != 1 || !r.isPattern(args[pattern])) {
		return false
	}
	switch name {
	case "match":
	case "split":
		r.noteSplit(args, begin)
	default:
		words := []scriptWord{r.look(0)}
		if len(args) > 1 && len(args[1]) == 1 {
			words = slices.Concat(words, args[0], args[1])
		}
		target := "$"
		if len(args) > 2 && len(args[2]) > 0 {
			target = args[2][0].text
		}
		r.addUse(substitutes, target, words)
	}
	return true
}

// noteSplit handles a call of split. It records that the call fills an array with parts of a text.
func (r *reader) noteSplit(args [][]scriptWord, begin int) {
	if len(args) < 2 || len(args[1]) != 1 {
		return
	}
	array := args[1][0].text
	r.addUse(splitsText, array, args[0])
	if len(r.around) > 0 {
		delete(r.fresh, array)
	}
	isFirst := begin == r.at || begin == r.at-2 && r.isAt(-1, "=")
	r.noteFresh(array, args[0], r.deep == 1 && isFirst)
}

// namesOften reports whether the words name the same value more than mostNamed times. The result of such an
// expression can be far longer than the value.
func namesOften(words []scriptWord) bool {
	often := map[value]int{}
	for _, v := range valuesOf(words) {
		if often[v]++; often[v] > mostNamed {
			return true
		}
	}
	return false
}
