package awk

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/printable"
)

// This file reads the statements of an awk script.

const (
	// mostLoops is the deepest nesting of loops that a script may have. Deeper loops could take too long.
	mostLoops = 2
	// mostDeep is the deepest nesting of statements that a script may have.
	mostDeep = 50
)

// reader reads the statements of an awk script. It refuses statements that do more than calculate and
// print, and loops that might not end.
type reader struct {
	words []scriptWord
	at    int
	deep  int
	// loops contains the variable and the bound of each counting loop that encloses the current statement.
	loops  []string
	inFor  int    // the number of counting loops that enclose the current statement
	inAny  int    // the number of all loops that enclose the current statement
	around []loop // all loops that enclose the current statement, outermost first
	isOnce bool   // the current statement is in BEGIN or END
	// fresh contains the variables that hold only parts of the current record.
	fresh  map[string]bool
	growth growth
	// `given` contains the variables that the command sets with -v. `fixed` lists variables that the script
	// must not set. `patterns` lists variables that the script uses as patterns, and must not set either.
	given           map[string]bool
	fixed, patterns []string
	large           []string // the variables in `given` whose value can be a large number
	bounds          []bound
	// `counted` contains the variables that are set to the result of split. `stepped` contains those that ++
	// increments outside of loops. `set` contains the variables that are set in any other way.
	counted, stepped, set map[string]bool
	isCount               bool // the current operator is a ++ that no loop encloses
}

// bound is a variable that is the bound of a counting loop.
type bound struct {
	name   string
	isOnce bool // the loop is in BEGIN or END, and no other loop encloses it
}

// readScript reads the whole script for Check, statement by statement. Each entry of `given` is a
// NAME=VALUE that the command sets with -v.
func readScript(script string, given []string) error {
	words, err := splitScript(script)
	if err != nil {
		return err
	}
	r := reader{words: words, counted: map[string]bool{}, stepped: map[string]bool{},
		set: map[string]bool{}}
	r.given = map[string]bool{}
	for _, g := range given {
		name, value, _ := strings.Cut(g, "=")
		r.given[name] = true
		if !shortLoop.MatchString(value) && strings.ContainsAny(value, "0123456789") {
			r.large = append(r.large, name)
		}
	}
	if err := r.script(); err != nil {
		return err
	}
	for _, bound := range r.bounds {
		if r.set[bound.name] || r.given[bound.name] || !r.counted[bound.name] && !bound.isOnce ||
			r.stepped[bound.name] && !bound.isOnce {
			return fmt.Errorf("its script has a loop up to %s, which can be large", bound.name)
		}
	}
	for _, name := range r.fixed {
		if r.set[name] || r.counted[name] || r.stepped[name] || slices.Contains(r.large, name) {
			return fmt.Errorf("its script may use %s as the number of a field, and this number may be very large", name)
		}
	}
	for _, name := range r.patterns {
		isSet := func(u use) bool { return u.target == name && (!isSettingOfAwk(name) || len(u.words) != 1) }
		if slices.ContainsFunc(r.growth.uses, isSet) || r.stepped[name] {
			return fmt.Errorf("its script computes the pattern %s", name)
		}
	}
	return r.growth.check()
}

func (r *reader) look(ahead int) scriptWord {
	if i := r.at + ahead; i >= 0 && i < len(r.words) {
		return r.words[i]
	}
	return scriptWord{}
}

// is reports whether the current word is a sign or a name with the given text.
func (r *reader) is(text string) bool { return r.isAt(0, text) }

func (r *reader) isAt(ahead int, text string) bool {
	word := r.look(ahead)
	return word.text == text && (word.kind == kindSign || word.kind == kindName)
}

func (r *reader) take(text string) bool {
	if r.is(text) {
		r.at++
		return true
	}
	return false
}

func (r *reader) wordError() error {
	if r.at >= len(r.words) {
		return fmt.Errorf("its script is incomplete")
	}
	return fmt.Errorf("%q in its script is not known to only print", printable.Shortened(r.look(0).text))
}

// skipEnds skips newlines and semicolons.
func (r *reader) skipEnds() {
	for r.look(0).kind == kindLine || r.is(";") {
		r.at++
	}
}

func (r *reader) skipLines() {
	for r.look(0).kind == kindLine {
		r.at++
	}
}

// script reads the script's pairs of a pattern and a block.
func (r *reader) script() error {
	for r.skipEnds(); r.at < len(r.words); r.skipEnds() {
		r.isOnce, r.fresh = false, nil
		switch {
		case r.is("{"):
		case r.take("BEGIN"), r.take("END"):
			if !r.is("{") {
				return r.wordError()
			}
			r.isOnce = true
		default:
			if err := r.expression(false); err != nil {
				return err
			}
		}
		if r.is("{") {
			r.fresh = map[string]bool{}
			if err := r.block(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) block() error {
	r.at++
	for r.skipEnds(); !r.take("}"); r.skipEnds() {
		if err := r.statement(); err != nil {
			return err
		}
		if !r.is("}") && !r.is(";") && r.look(0).kind != kindLine && !r.isAt(-1, "}") {
			return r.wordError()
		}
	}
	return nil
}

func (r *reader) statement() error {
	if r.deep++; r.deep > mostDeep {
		return fmt.Errorf("its script is nested too deeply")
	}
	defer func() { r.deep-- }()
	switch {
	case r.is("{"):
		return r.block()
	case r.is(";"):
		return nil
	case r.take("else"):
		r.skipLines()
		return r.statement()
	case r.take("if"):
		return r.condition()
	case r.take("for"):
		return r.loop()
	case r.take("next"), r.take("break"), r.take("continue"):
		return nil
	case r.take("exit"):
		if r.is("}") || r.is(";") || r.look(0).kind == kindLine {
			return nil
		}
		return r.expression(false)
	case r.take("delete"):
		if name := r.look(0); name.kind != kindName || !IsSettable(name.text) {
			return r.wordError()
		}
		return r.expression(false)
	case r.take("print"):
		if r.is("}") || r.is(";") || r.look(0).kind == kindLine {
			return nil
		}
		return r.expression(true)
	case r.take("printf"):
		if err := r.format(); err != nil {
			return err
		}
		return r.expression(true)
	}
	return r.expression(false)
}

func (r *reader) condition() error {
	if err := r.inParens(); err != nil {
		return err
	}
	r.skipLines()
	return r.statement()
}

// inParens reads an expression in parentheses.
func (r *reader) inParens() error {
	if !r.take("(") {
		return r.wordError()
	}
	if err := r.expression(false); err != nil {
		return err
	}
	if !r.take(")") {
		return r.wordError()
	}
	return nil
}

// formats matches a format of printf in which each directive prints exactly one value.
var formats = regexp.MustCompile(`^"([^"\\%]|\\[\\"nrt]|%%|%[-+ 0]*[0-9]{0,3}(\.[0-9]{1,3})?[sdioxXucfgeEG])*"$`)

// format checks the format that follows printf or the opening parenthesis of sprintf.
func (r *reader) format() error {
	i := 0
	if r.is("(") {
		i = 1
	}
	text, after := r.look(i), r.look(i+1)
	isEnd := after.kind == 0 || after.kind == kindLine ||
		after.kind == kindSign && slices.Contains([]string{",", ")", ";", "}"}, after.text)
	if text.kind != kindText || !formats.MatchString(text.text) || !isEnd {
		return fmt.Errorf("its script has a format that is not known to only print")
	}
	return nil
}
