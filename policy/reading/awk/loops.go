package awk

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// shortLoop matches a number of at most three digits, because a loop with so few steps takes little time.
var shortLoop = regexp.MustCompile(`^[0-9]{1,3}$`)

// loop reads a `for` loop. It accepts a loop over the keys of an array, and a loop that counts up or down.
func (r *reader) loop() error {
	if !r.take("(") {
		return r.wordError()
	}
	name := r.look(0)
	if name.kind != kindName || !IsSettable(name.text) || r.isBound(name.text) {
		return r.wordError()
	}
	r.at++
	r.set[name.text] = true
	if r.inAny++; r.inAny > mostLoops {
		return r.wordError()
	}
	defer func() { r.inAny-- }()
	if r.take("in") {
		if array := r.look(0); array.kind != kindName || !IsSettable(array.text) || !r.isAt(1, ")") {
			return r.wordError()
		}
		r.at += 2
		r.addUse(setsName, name.text, []scriptWord{{kindSign, "$"}, {kindNumber, "0"}})
		r.around = append(r.around, loop{name: name.text, steps: 1, keys: true})
		defer func() { r.around = r.around[:len(r.around)-1] }()
		r.skipLines()
		return r.statement()
	}
	bound, ok := r.loopBound(name.text)
	if !ok {
		return r.wordError()
	}
	around := loop{name: name.text, steps: 1}
	if n, err := strconv.Atoi(bound); err == nil {
		around.steps = n
	} else if bound != "NF" && bound != "NR" {
		around.bound = bound
	}
	r.loops, r.inFor, r.around = append(r.loops, name.text, bound), r.inFor+1, append(r.around, around)
	defer func() {
		r.loops, r.inFor, r.around = r.loops[:len(r.loops)-2], r.inFor-1, r.around[:len(r.around)-1]
	}()
	r.skipLines()
	return r.statement()
}

// isBound reports whether `name` is the variable or the bound of an enclosing loop. If a statement in the loop
// set one of these, the loop might never end.
func (r *reader) isBound(name string) bool { return slices.Contains(r.loops, name) }

// loopBound reads the rest of the head of a counting loop, such as `= 1; i <= NF; i++)`. It returns the loop's
// bound, and false if the loop does not count up or down by one.
func (r *reader) loopBound(name string) (string, bool) {
	if !r.take("=") {
		return "", false
	}
	from := r.look(0)
	r.at++
	if !r.take(";") || !r.take(name) {
		return "", false
	}
	up := r.is("<") || r.is("<=")
	down := r.is(">") || r.is(">=")
	r.at++
	bound := r.look(0)
	r.at++
	if !r.take(";") || !up && !down {
		return "", false
	}
	step := "++"
	limit, other := bound, from
	if down {
		step, limit, other = "--", from, bound
	}
	stepped := r.take(step) && r.take(name) || r.take(name) && r.take(step)
	isPlain := other.kind == kindNumber && shortLoop.MatchString(other.text)
	return limit.text, stepped && r.take(")") && isPlain && r.isLimit(limit)
}

// isLimit reports whether a word may be the larger end of a counting loop, such as the NF of `i <= NF`.
func (r *reader) isLimit(limit scriptWord) bool {
	switch {
	case limit.kind == kindNumber:
		return shortLoop.MatchString(limit.text)
	case limit.kind != kindName:
		return false
	case limit.text == "NR":
		return r.isOnce && r.inAny == 1
	case limit.text != "NF":
		r.bounds = append(r.bounds, bound{limit.text, r.isOnce && r.inAny == 1})
		return IsSettable(limit.text)
	}
	return true
}

// assigns lists the operators that set a variable.
var assigns = []string{"=", "+=", "-=", "*=", "%=", "++", "--"}

// expression reads an expression by calling parts. It refuses an expression that names the same value more
// than mostNamed times.
func (r *reader) expression(prints bool) error {
	begin := r.at
	if err := r.parts(prints); err != nil {
		return err
	}
	if namesOften(r.words[begin:r.at]) {
		return fmt.Errorf("its script names a value more than %d times in one expression", mostNamed)
	}
	return nil
}

// parts reads the words of an expression. The expression ends at the end of the statement, at a block, or at a
// closing parenthesis that it has not opened itself. If `prints` is true, parts refuses >, because > after print
// writes a file.
func (r *reader) parts(prints bool) error {
	var open []string
	for begin := r.at; ; r.at++ {
		word := r.look(0)
		switch {
		case word.kind == 0, word.kind == kindLine && !r.isContinued():
			if len(open) > 0 || r.at == begin || word.kind == kindLine && !r.isWhole() {
				return r.wordError()
			}
			return nil
		case word.kind == kindName:
			if err := r.name(begin); err != nil {
				return err
			}
		case word.kind != kindSign:
		case word.text == "{", word.text == "}", word.text == ";", len(open) == 0 && word.text == ")":
			if len(open) > 0 || r.at == begin {
				return r.wordError()
			}
			return nil
		case word.text == "[" && r.look(-1).kind != kindName:
			return r.wordError()
		case word.text == "(", word.text == "[":
			if word.text == "[" {
				r.addUse(isIndex, "", r.words[r.at+1:closingIndex(r.words, r.at)])
			}
			open = append(open, map[string]string{"(": ")", "[": "]"}[word.text])
		case word.text == ")", word.text == "]":
			if len(open) == 0 || open[len(open)-1] != word.text {
				return r.wordError()
			}
			open = open[:len(open)-1]
		case word.text == ">" && (prints || r.at == begin), word.text == "$" && !r.isField(),
			slices.Contains(assigns, word.text) && !r.mayAssign():
			return r.wordError()
		case word.text == "=":
			r.recordSet(begin)
		case word.text == "~", word.text == "!~":
			if value := r.valueFrom(r.at + 1); !r.isPattern(value) {
				return r.wordError()
			}
		}
	}
}

// isContinued reports whether the expression continues on the next line.
func (r *reader) isContinued() bool {
	for i := -1; ; i-- {
		if r.look(i).kind != kindLine {
			return r.isAt(i, ",") || r.isAt(i, "&&") || r.isAt(i, "||")
		}
	}
}

// isWhole reports whether an expression may end with the last word. After any other word, some awk programs
// continue on the next line: gawk after ? and :, and BusyBox after every binary operator.
func (r *reader) isWhole() bool {
	last := r.look(-1)
	switch last.kind {
	case kindNumber, kindText, kindPattern:
		return true
	case kindName:
		return last.text != "in"
	case kindSign:
		return slices.Contains([]string{")", "]", "++", "--"}, last.text)
	case kindLine:
	}
	return false
}

// name checks a variable or a function call in an expression, and records what a call sets.
func (r *reader) name(begin int) error {
	name, called := r.look(0).text, r.isAt(1, "(")
	switch {
	case name == "in" && !called:
		return nil
	case name == "length" && !called:
		return nil
	case slices.Contains(functions, name) && called:
		if (name == "sub" || name == "gsub") && r.inFor > 0 {
			return r.wordError() // in a loop, sub and gsub could set the loop's variable, or add fields
		}
		if name == "sub" || name == "gsub" {
			r.setsThird()
		}
		if name == "sub" || name == "gsub" || name == "split" || name == "match" {
			if !r.noteCall(name, begin) {
				return r.wordError()
			}
		}
		if name == "sprintf" {
			r.at++
			err := r.format()
			r.at--
			return err
		}
		return nil
	case !isVariable(name) || called:
		return r.wordError()
	}
	return nil
}

// setsThird records the variables in the third argument of sub or gsub, because these functions set it.
func (r *reader) setsThird() {
	depth, commas := 0, 0
	for i := 1; r.at+i < len(r.words); i++ {
		switch word := r.look(i); {
		case r.isAt(i, "("), r.isAt(i, "["):
			depth++
		case r.isAt(i, ")"), r.isAt(i, "]"):
			if depth--; depth == 0 {
				return
			}
		case r.isAt(i, ",") && depth == 1:
			commas++
		case word.kind == kindName && commas > 1:
			r.set[word.text] = true
		}
	}
}

// isField reports whether the script may name the field after the sign $. The field must be one of these, or a
// sum of them in parentheses:
//   - a small number
//   - NF
//   - the variable of a counting loop
//   - a variable that the script never sets
//
// Large numbers are refused because some awk programs create all fields up to the number.
func (r *reader) isField() bool {
	if !r.isAt(1, "(") {
		return r.isSmall(r.look(1))
	}
	for i := 2; !r.isAt(i, ")"); i++ {
		if !r.isAt(i, "+") && !r.isAt(i, "-") && !r.isSmall(r.look(i)) {
			return false
		}
	}
	return true
}

// isSmall reports whether a word stands for a number that is small enough for a field. If the word is a variable,
// isSmall also records in r.fixed that the script must not set it.
func (r *reader) isSmall(word scriptWord) bool {
	switch {
	case word.kind == kindNumber:
		return shortLoop.MatchString(word.text)
	case word.kind != kindName || !isVariable(word.text):
		return false
	case word.text != "NF" && !r.isBound(word.text):
		r.fixed = append(r.fixed, word.text)
	}
	return true
}

// mayAssign reports whether the script may assign to the target of the current operator. The target can be a
// variable, a member of an array, or a field with a small number. It must not be the variable or the bound of an
// enclosing loop.
func (r *reader) mayAssign() bool {
	before, after := r.look(-1), r.look(1)
	isStep := r.is("++") || r.is("--")
	r.isCount = r.is("++") && r.inAny == 0
	ofNext := isStep && after.kind == kindName
	if ofNext && !r.setsVariable(after.text, false) {
		return false
	}
	switch {
	case r.isAt(-2, "$"):
		isShort := before.kind == kindNumber && shortLoop.MatchString(before.text)
		return r.inFor == 0 && !ofNext && (r.isAt(-1, "NF") || isShort)
	case before.kind == kindName:
		return r.setsVariable(before.text, r.is("=") && r.onlySplits())
	case r.isAt(-1, "]"):
		return !r.isFieldOfArray()
	}
	// In `$(NF+1)++ x`, the ++ changes the field before it, not the x, and would create a new field.
	return ofNext && !r.isAt(-1, ")")
}

// onlySplits reports whether the value of the assignment is a single call of split and nothing more.
func (r *reader) onlySplits() bool {
	depth := 0
	for i := 2; r.isAt(1, "split") && r.at+i < len(r.words); i++ {
		if r.isAt(i, "(") {
			depth++
		} else if r.isAt(i, ")") {
			depth--
		}
		if depth == 0 {
			return r.isAt(i+1, ";") || r.isAt(i+1, "}") || r.look(i+1).kind == kindLine
		}
	}
	return false
}

// setsVariable records that the script sets a variable, and reports whether the script may set it. `counts`
// is true if the value is a result of split.
func (r *reader) setsVariable(name string, counts bool) bool {
	switch {
	case counts:
		r.counted[name] = true
	case r.isCount:
		r.stepped[name] = true
	default:
		r.set[name] = true
	}
	return IsSettable(name) && !r.isBound(name)
}

// isFieldOfArray reports whether the array member before the current word is really the number of a field, as in
// $a[1] = 2.
func (r *reader) isFieldOfArray() bool {
	depth := 0
	for i := -1; r.at+i >= 0; i-- {
		if r.isAt(i, "]") {
			depth++
		} else if r.isAt(i, "[") {
			depth--
		}
		if depth == 0 {
			return r.look(i-1).kind != kindName || !IsSettable(r.look(i-1).text) || r.isAt(i-2, "$")
		}
	}
	return true
}
