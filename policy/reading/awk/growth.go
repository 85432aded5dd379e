package awk

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"coleo.dev/policy/reading/lengthening"
	"coleo.dev/printable"
)

// This file bounds the memory that an awk script can need.

const (
	// mostNamed is the largest number of times that one expression may name the same value. With `x x x`, the
	// result is three times as long as x.
	mostNamed = 10
	// mostAdded is the largest number of bytes that a script may keep for each record, in addition to the
	// record's own text. mostOnce is the largest number of bytes that it may make in BEGIN and END.
	mostAdded, mostOnce = 1000, 200_000
	// ofMember is the estimated memory of one member of an array, in bytes.
	ofMember = 20
)

// use is a statement or an expression that makes or keeps a value.
type use struct {
	kind    useKind
	target  string       // the variable or array that is set; $ for a field
	words   []scriptWord // the words of the expression whose value is made or kept
	isOnce  bool         // the use is in BEGIN or END
	loops   []loop
	fresh   map[string]bool // the variables that hold only parts of the current record
	literal int             // the total size of the string literals in the value, in bytes
	joins   bool            // the value is concatenated from several parts
	ofMade  bool            // the value is concatenated, and one of its parts is a variable that the script assigns
}

type useKind int

const (
	setsName   useKind = iota + 1 // assigns the value to a variable or a field
	setsMember                    // assigns the value to a member of an array
	isIndex                       // uses the value as the index of an array
	substitutes
	splitsText
)

// loop is a loop that encloses a use.
type loop struct {
	name  string // the loop's variable
	steps int    // the number of steps of a loop with a constant bound; otherwise 1
	bound string // the variable that is the loop's bound; "" if the bound is no variable
	keys  bool   // the loop goes through the keys of an array
}

// growth checks that a script makes no text that grows without a bound. A text that the script keeps from
// record to record may grow by parts of each record, as in `s = s $1`. It must not grow by a copy of itself or
// of another kept text, as in `s = s s`.
type growth struct {
	uses []use
	// `long` contains the variables that can hold a part of an earlier record. `joined` contains the
	// variables that can hold a text that the script has concatenated or changed.
	long, joined map[string]bool
	factor       int // the largest factor by which a record can become longer
	added, once  int // the bytes that the script adds: `added` for each record, `once` in BEGIN and END
}

func (g *growth) check() error {
	g.long, g.joined, g.factor = map[string]bool{}, map[string]bool{}, 1
	made := map[string]bool{} // the variables to which the script assigns a text other than a literal
	for _, u := range g.uses {
		made[u.target] = made[u.target] || u.target != "$" && !isCalculated(u.words) && len(valuesOf(u.words)) > 0
	}
	for i, u := range g.uses {
		g.uses[i].ofMade = u.joins && slices.ContainsFunc(valuesOf(u.words), func(v value) bool { return made[v.name] })
	}
	for more := true; more; {
		before := len(g.long) + len(g.joined)
		for _, u := range g.uses {
			g.noteUse(u)
		}
		more = len(g.long)+len(g.joined) > before
	}
	for _, u := range g.uses {
		if !g.isBounded(u) {
			return fmt.Errorf("its script can make a string or an array that fills the memory: %s", u)
		}
		if g.factor > lengthening.Most || g.added > mostAdded || g.once > mostOnce {
			return fmt.Errorf("its script can make a line very much longer: %s", u)
		}
	}
	return nil
}

func (u use) String() string {
	var out []string
	for _, w := range u.words {
		out = append(out, w.text)
	}
	text := strings.Join(out, " ")
	if u.target != "" {
		text = u.target + " = " + text
	}
	return strconv.Quote(printable.Shortened(text))
}

// noteUse updates g.long and g.joined with what the target of a use can hold.
func (g *growth) noteUse(u use) {
	if u.kind == isIndex || isCalculated(u.words) {
		return
	}
	values := valuesOf(u.words)
	isLong := u.ofMade || slices.ContainsFunc(values, func(v value) bool {
		return g.long[v.name] || v.name == "$" && u.target != "$"
	})
	isJoined := u.joins && isLong || u.kind == substitutes || slices.ContainsFunc(values, func(v value) bool {
		return g.joined[v.name]
	})
	// A field holds a part of the current record, unless the script assigns a part of an earlier record to it.
	if u.target == "$" {
		isLong = slices.ContainsFunc(values, func(v value) bool {
			return v.name != "$" && g.long[v.name] && !u.fresh[v.name]
		})
		isJoined = isLong
	}
	g.long[u.target] = g.long[u.target] || isLong || u.kind == substitutes && u.target != "$"
	g.joined[u.target] = g.joined[u.target] || isJoined
	maps.DeleteFunc(g.long, func(_ string, is bool) bool { return !is })
	maps.DeleteFunc(g.joined, func(_ string, is bool) bool { return !is })
}

// isBounded reports whether the text that a use keeps is at most a fixed number of times as long as the record.
func (g *growth) isBounded(u use) bool {
	values := valuesOf(u.words)
	switch {
	case u.kind == splitsText:
		return true
	case u.kind == substitutes:
		return g.isBoundedSubstitution(u)
	case isCalculated(u.words):
		return u.kind != isIndex || g.mayRepeat(u)
	case isSettingOfAwk(u.target):
		return !u.joins && !slices.ContainsFunc(values, func(v value) bool { return !isSettingOfAwk(v.name) })
	case !u.joins && u.kind == setsName && u.target != "$":
		return true
	case !u.joins && u.kind == isIndex:
		return u.isOnce || !slices.ContainsFunc(values, func(v value) bool {
			return g.joined[v.name] && !g.isFresh(u, v.name)
		})
	}
	return g.mayRepeat(u) && g.partsAreBounded(u, values)
}

// partsAreBounded reports whether a value that is concatenated from the given values stays bounded. It
// multiplies g.factor by the number of copies of the record in the value.
func (g *growth) partsAreBounded(u use, values []value) bool {
	kept, ofRecord := 0, 0
	for _, v := range values {
		switch {
		case g.isStepOfLoop(u, v):
		case v.name == "$" && !g.long["$"]:
			if len(u.loops) > 0 {
				return false // each step of the loop could append the whole record
			}
			if u.target == "$" {
				ofRecord++
			}
		case g.isFresh(u, v.name):
			if g.joined[v.name] {
				ofRecord++
			}
		case v.name == u.target, g.long[v.name]:
			kept++
			if u.kind != setsName && v.name != u.target && !u.runsOnce() {
				return false
			}
		}
	}
	if u.target == "$" {
		if len(u.loops) > 0 && len(values) > 0 {
			return false
		}
		ofRecord++
	}
	g.factor = min(g.factor*max(1, ofRecord), lengthening.Most+1)
	return kept <= 1 || !u.joins
}

// mayRepeat reports whether the result of a use stays bounded in the loops that enclose it. If so, it
// adds the number of bytes that these loops keep to g.once or g.added.
func (g *growth) mayRepeat(u use) bool {
	if len(u.loops) > 1 {
		return false
	}
	cost := u.literal
	if u.kind == isIndex {
		cost += ofMember
	}
	for _, l := range u.loops {
		cost *= l.steps
		if l.keys && !u.isOnce || l.bound != "" && !u.isOnce && (!u.fresh[l.bound] || g.long["$"]) {
			return false
		}
	}
	if u.isOnce {
		g.once += cost
	} else {
		g.added += cost
	}
	return true
}

// isBoundedSubstitution reports whether a call of sub or gsub makes a bounded text. The words of the use are
// the function's name, the pattern and the replacement.
func (g *growth) isBoundedSubstitution(u use) bool {
	n := len(u.words)
	if n < 3 || u.words[n-1].kind != kindText {
		return false
	}
	pattern, by, all := "", u.words[n-1].text, u.words[0].text == "gsub"
	if n == 3 {
		pattern = u.words[1].text[1:max(1, len(u.words[1].text)-1)]
	}
	times := lengthening.By(pattern, by[1:len(by)-1], all)
	if times == 1 {
		return all || by == `""` || g.mayRepeat(u)
	}
	g.factor = min(g.factor*times, lengthening.Most+1)
	return len(u.loops) == 0 && (u.isOnce || u.target == "$" && !g.long["$"] || g.isFresh(u, u.target))
}

func (u use) runsOnce() bool { return u.isOnce && len(u.loops) == 0 }

// isFresh reports whether a variable holds only parts of the current record. It returns false within a loop,
// because a variable there can hold text from earlier steps.
func (g *growth) isFresh(u use, name string) bool {
	return u.fresh[name] && len(u.loops) == 0 && !g.long["$"]
}

// isStepOfLoop reports whether a value stands for a different part of the text in each step of the loop. An
// example is $i.
func (g *growth) isStepOfLoop(u use, v value) bool {
	if len(u.loops) != 1 || g.long["$"] {
		return false
	}
	l := u.loops[0]
	if l.keys {
		return v.name == l.name || v.of == l.name && !g.joined[v.name]
	}
	return v.of == l.name && (v.name == "$" || u.fresh[v.name] || u.isOnce && !g.joined[v.name])
}

func isSettingOfAwk(name string) bool { return slices.Contains(settable, name) }
