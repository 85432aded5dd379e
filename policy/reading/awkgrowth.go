package reading

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// mostGrowth is how many times as long a program may make one record of its input.
	mostGrowth = 1000
	// mostNamed is how often one expression may name the same value.
	mostNamed = 10
	// mostAdded is how many bytes a script may keep of each record beside the record itself, and mostOnce
	// how many it may make in BEGIN and END.
	mostAdded, mostOnce = 1000, 200_000
	// ofMember is what a member of an array costs, in bytes.
	ofMember = 20
)

// awkUse is a place of a script that makes or keeps a value.
type awkUse struct {
	kind    awkUseKind
	target  string    // the variable or the array that is set, or $ for a field
	words   []awkWord // the words of the value
	isOnce  bool      // it is in BEGIN or END
	loops   []awkLoop
	fresh   map[string]bool // the variables that hold only parts of the present record
	literal int             // the bytes of the texts in the value
	joins   bool            // the value consists of parts
	ofMade  bool            // one of these parts is a variable that the script has made
}

type awkUseKind int

const (
	setsName   awkUseKind = iota + 1 // a variable or a field gets the value
	setsMember                       // a member of an array gets the value
	isIndex                          // the value names a member of an array
	substitutes
	splitsText
)

// awkLoop is a loop around a place of a script.
type awkLoop struct {
	name  string // its variable
	steps int    // how often a loop up to a number runs; otherwise 1
	bound string // the variable that is the bound; "" if there is none
	keys  bool   // it goes through the keys of an array
}

// awkGrowth finds out whether a script makes texts that grow without a bound. A text that the script
// keeps from record to record may grow by parts of each record, but not by itself or by another kept text.
type awkGrowth struct {
	uses []awkUse
	// long has the variables that can hold a part of an earlier record, and joined those of them that the
	// script has made of several parts.
	long, joined map[string]bool
	factor       int // how many times as long a record can become
	added, once  int // how many bytes the script adds to what it keeps
}

func (g *awkGrowth) check() error {
	g.long, g.joined, g.factor = map[string]bool{}, map[string]bool{}, 1
	made := map[string]bool{} // the variables that the script sets to more than a text of its own
	for _, u := range g.uses {
		made[u.target] = made[u.target] || u.target != "$" && !isCalculated(u.words) && len(awkValues(u.words)) > 0
	}
	for i, u := range g.uses {
		g.uses[i].ofMade = u.joins && slices.ContainsFunc(awkValues(u.words), func(v awkValue) bool { return made[v.name] })
	}
	for more := true; more; {
		before := len(g.long) + len(g.joined)
		for _, u := range g.uses {
			g.mark(u)
		}
		more = len(g.long)+len(g.joined) > before
	}
	for _, u := range g.uses {
		if !g.isBounded(u) {
			return fmt.Errorf("its script can make a text or an array that fills the memory: %s", u)
		}
		if g.factor > mostGrowth || g.added > mostAdded || g.once > mostOnce {
			return fmt.Errorf("its script can make much more of a line than the line itself: %s", u)
		}
	}
	return nil
}

func (u awkUse) String() string {
	var out []string
	for _, w := range u.words {
		out = append(out, w.text)
	}
	text := strings.Join(out, " ")
	if u.target != "" {
		text = u.target + " = " + text
	}
	return strconv.Quote(shortened(text))
}

// mark records what the target of a use can hold.
func (g *awkGrowth) mark(u awkUse) {
	if u.kind == isIndex || isCalculated(u.words) {
		return
	}
	values := awkValues(u.words)
	isLong := u.ofMade || slices.ContainsFunc(values, func(v awkValue) bool {
		return g.long[v.name] || v.name == "$" && u.target != "$"
	})
	isJoined := u.joins && isLong || u.kind == substitutes || slices.ContainsFunc(values, func(v awkValue) bool {
		return g.joined[v.name]
	})
	if u.target == "$" { // a field is a part of the record, unless it gets a part of an earlier one
		isLong = slices.ContainsFunc(values, func(v awkValue) bool { return v.name != "$" && g.long[v.name] && !u.fresh[v.name] })
		isJoined = isLong
	}
	g.long[u.target] = g.long[u.target] || isLong || u.kind == substitutes && u.target != "$"
	g.joined[u.target] = g.joined[u.target] || isJoined
	maps.DeleteFunc(g.long, func(_ string, is bool) bool { return !is })
	maps.DeleteFunc(g.joined, func(_ string, is bool) bool { return !is })
}

// isBounded reports whether a use keeps no more than a part of the record.
func (g *awkGrowth) isBounded(u awkUse) bool {
	values := awkValues(u.words)
	switch {
	case u.kind == splitsText:
		return true
	case u.kind == substitutes:
		return g.isBoundedSubstitution(u)
	case isCalculated(u.words):
		return u.kind != isIndex || g.mayRepeat(u)
	case isSettingOfAwk(u.target):
		return !u.joins && !slices.ContainsFunc(values, func(v awkValue) bool { return !isSettingOfAwk(v.name) })
	case !u.joins && u.kind == setsName && u.target != "$":
		return true
	case !u.joins && u.kind == isIndex:
		return u.isOnce || !slices.ContainsFunc(values, func(v awkValue) bool {
			return g.joined[v.name] && !g.isFresh(u, v.name)
		})
	}
	return g.mayRepeat(u) && g.partsAreBounded(u, values)
}

// partsAreBounded looks at the values of which another value consists.
func (g *awkGrowth) partsAreBounded(u awkUse, values []awkValue) bool {
	kept, ofRecord := 0, 0
	for _, v := range values {
		switch {
		case g.isStepOfLoop(u, v):
		case v.name == "$" && !g.long["$"]:
			if len(u.loops) > 0 {
				return false // each step of the loop would take the whole record
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
	g.factor = min(g.factor*max(1, ofRecord), mostGrowth+1)
	return kept <= 1 || !u.joins
}

// mayRepeat reports whether a use may be in its loops, and adds up what it keeps.
func (g *awkGrowth) mayRepeat(u awkUse) bool {
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

// isBoundedSubstitution looks at a call of sub or gsub. Its words are the name, the pattern and what is put in.
func (g *awkGrowth) isBoundedSubstitution(u awkUse) bool {
	n := len(u.words)
	if n < 3 || u.words[n-1].kind != awkText {
		return false
	}
	pattern, by, all := "", u.words[n-1].text, u.words[0].text == "gsub"
	if n == 3 {
		pattern = u.words[1].text[1:max(1, len(u.words[1].text)-1)]
	}
	times := growthBy(pattern, by[1:len(by)-1], all)
	if times == 1 {
		return all || by == `""` || g.mayRepeat(u)
	}
	g.factor = min(g.factor*times, mostGrowth+1)
	return len(u.loops) == 0 && (u.isOnce || u.target == "$" && !g.long["$"] || g.isFresh(u, u.target))
}

// needsText matches a pattern that matches no empty text: it has a plain character that must be there.
var needsText = regexp.MustCompile(`^\^?[^][\\^$.*+?(){}|&](?:\+|[^][\\^$.*+?(){}|]|\\[./"-]|` + bracketed + `|[ ]\*|\$$)*$`)

// growthBy returns how many times as long a text can become if its matches of a pattern are replaced.
func growthBy(pattern, by string, all bool) int {
	refs := strings.Count(by, "&") + strings.Count(by, `\`)
	switch {
	case !all:
		return max(1, refs)
	case by == "":
		return 1
	case needsText.MatchString(pattern):
		return len(by)
	}
	return len(by) + 1
}

func (u awkUse) runsOnce() bool { return u.isOnce && len(u.loops) == 0 }

// isFresh reports whether a variable holds only parts of the present record. A loop can keep parts of its
// earlier steps.
func (g *awkGrowth) isFresh(u awkUse, name string) bool {
	return u.fresh[name] && len(u.loops) == 0 && !g.long["$"]
}

// isStepOfLoop reports whether a value is another part of the text in each step of the loop, such as $i.
func (g *awkGrowth) isStepOfLoop(u awkUse, v awkValue) bool {
	if len(u.loops) != 1 || g.long["$"] {
		return false
	}
	l := u.loops[0]
	if l.keys {
		return v.name == l.name || v.of == l.name && !g.joined[v.name]
	}
	return v.of == l.name && (v.name == "$" || u.fresh[v.name] || u.isOnce && !g.joined[v.name])
}

func isSettingOfAwk(name string) bool { return slices.Contains(awkSettable, name) }
