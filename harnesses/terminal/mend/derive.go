package mend

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// feature is a condition that a new rule or dialog can have.
type feature struct {
	where, pattern string
	negated        bool
	re             *regexp.Regexp
	own            bool // a rule or dialog of the description already has this condition
	hits, misses   int  // on how many wrongly read pictures, and on how many other pictures, the condition holds
}

func (f feature) holds(p *rules.Picture) bool {
	rows, shown := p.Part(f.where)
	return shown && f.re.MatchString(strings.Join(rows, "\n")) != f.negated || !shown && f.negated
}

func (f feature) String() string {
	not := ""
	if f.negated {
		not = ", not = true"
	}
	return fmt.Sprintf("{ where = %q, pattern = %s%s }", f.where, quote(f.pattern), not)
}

// These are the limits of the search for a new rule.
const (
	mostFeatures = 10  // number of conditions that are tried as a rule
	mostPairs    = 4   // number of second conditions that are tried with each condition
	mostOthers   = 160 // number of pictures of other states on which a new rule is checked
	mostTables   = 8   // number of existing dialogs from which copies are made for a new dialog
)

// featureParts are the parts of the screen in which a new condition can search, smaller parts
// first.
var featureParts = []string{"title", "below composer", "above composer 2", "above composer 4", "above composer 12",
	"bottom 1", "bottom 3", "bottom 6", "bottom 12"}

// anyText is a pattern that matches any text. As a condition for the composer, it holds whenever the
// screen shows a composer, even if the composer contains text. A rule of idle needs such a condition.
// Coleo types a prompt only while a rule of idle holds, so the rule must still hold while the prompt is
// in the composer. A hint below the composer is less useful as a condition, because it often disappears
// with the first character.
const anyText = `(?s).*`

// newItems returns changes that add a new rule or dialog for the group, a set of wrongly read pictures.
// The conditions of the rule or dialog hold on pictures of the group, and on few pictures of other
// states.
func (e *editor) newItems(all []caseReading) []change {
	e.out = nil
	if e.group.isStart() {
		return nil
	}
	others := e.picturesOfOtherStates(all)
	list := e.rankedFeatures(others)
	if e.group.want.state == coleo.Idle {
		composer := feature{where: "composer", pattern: anyText, re: regexp.MustCompile(anyText), own: true}
		e.derive([]feature{composer})
		for _, f := range e.guardsAmong(list, all) {
			e.derive([]feature{composer, f})
		}
	}
	if e.group.want.state == coleo.WaitingApproval {
		e.deriveByTitle(list)
	}
	for _, f := range list[:min(len(list), mostFeatures)] {
		e.derive([]feature{f})
		for _, g := range e.partnersOf(f, list, others) {
			e.derive([]feature{f, g})
		}
	}
	return e.out
}

// deriveByTitle proposes new dialogs for wrongly read pictures. Their condition is that the screen
// shows one of the dialog titles in the labels of these pictures. Some of them also have a condition of
// an existing dialog, for example for the row that names the keys.
func (e *editor) deriveByTitle(list []feature) {
	for _, where := range []string{"bottom 12", "screen"} {
		pattern := e.titleCondition()
		re, err := regexp.Compile(pattern)
		if err != nil || matchesAll(pattern) || e.titleText() == "" {
			return
		}
		title := feature{where: where, pattern: pattern, re: re}
		// The title costs no more than an existing condition, because most dialogs have a condition for their title.
		title.own = true
		e.derive([]feature{title})
		n := 0
		for _, f := range list {
			if f.own && !f.negated && f.hits*2 > len(e.pictures) && n < mostPairs {
				e.derive([]feature{title, f})
				n++
			}
		}
	}
}

// picturesOfOtherStates returns pictures on which the proposed new rule must not hold. Their label
// wants another state than the new rule has. Either no rule recognizes such a picture, or the rule that
// correctly recognizes it comes after the new rule.
func (e *editor) picturesOfOtherStates(all []caseReading) []*rules.Picture {
	var shots []shot
	for i := range all {
		for _, p := range evenlySpaced(all[i].shots, 12) {
			if !p.isShort() && p.want.state != e.group.want.state && (p.state == p.want.state && e.comesLater(p.rule) ||
				p.state == "") {
				shots = append(shots, p)
			}
		}
	}
	var out []*rules.Picture
	for _, p := range evenlySpaced(shots, mostOthers) {
		out = append(out, rules.NewPicture(p.screen, &e.spec.Composer))
	}
	return out
}

// comesLater reports whether the existing rule with the given name comes after the proposed new rule.
// The new rule must then not hold on pictures that the existing rule recognizes. A new dialog comes
// before all rules.
func (e *editor) comesLater(rule string) bool {
	if e.group.want.state == coleo.WaitingApproval {
		return true
	}
	at := slices.IndexFunc(e.spec.Rules, func(r rules.Rule) bool { return r.Name == e.group.rule })
	its := slices.IndexFunc(e.spec.Rules, func(r rules.Rule) bool { return r.Name == rule })
	return at >= 0 && its >= at
}

// rankedFeatures returns the conditions that hold on at least one wrongly read picture of the group,
// best conditions first.
func (e *editor) rankedFeatures(others []*rules.Picture) []feature {
	var out []feature
	for _, f := range append(e.ownFeatures(), e.newFeatures()...) {
		for _, p := range e.pictures {
			if f.holds(p) {
				f.hits++
			}
		}
		for _, p := range others {
			if f.holds(p) {
				f.misses++
			}
		}
		if f.hits > 0 && (!matchesAll(f.pattern) || f.where == "composer" && !f.negated) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b feature) int {
		if d := b.rank(len(e.pictures)) - a.rank(len(e.pictures)); d != 0 {
			return d
		}
		return len(a.pattern) - len(b.pattern)
	})
	return out
}

// rank returns a higher number for a better condition.
func (f feature) rank(pictures int) int {
	r := 100*f.hits/pictures - 12*f.misses
	if f.own {
		r += 15
	}
	if f.negated {
		r -= 300
	}
	return r
}

// partnersOf returns conditions that can make a rule with the condition f more exact. A rule with f and
// such a condition holds on at least 90 % of the wrongly read pictures on which f holds. It holds on
// less than half of the other pictures on which f holds.
func (e *editor) partnersOf(f feature, list []feature, others []*rules.Picture) []feature {
	if f.misses == 0 || f.negated {
		return nil
	}
	var out []feature
	for _, g := range list {
		hits, misses := 0, 0
		for _, p := range e.pictures {
			if f.holds(p) && g.holds(p) {
				hits++
			}
		}
		for _, p := range others {
			if f.holds(p) && g.holds(p) {
				misses++
			}
		}
		if hits*10 >= f.hits*9 && misses*2 < f.misses && g.pattern != f.pattern && (!g.negated || g.where != "screen") {
			out = append(out, g)
		}
		if len(out) == mostPairs {
			break
		}
	}
	return out
}

// ownFeatures returns the conditions that the description already contains.
func (e *editor) ownFeatures() []feature {
	var out []feature
	add := func(list []rules.Cond) {
		for _, c := range list {
			re, err := regexp.Compile(c.Pattern)
			f := feature{where: c.Where, pattern: c.Pattern, negated: c.Not, re: re, own: true}
			known := slices.ContainsFunc(out, func(o feature) bool {
				return o.where == f.where && o.pattern == f.pattern && o.negated == f.negated
			})
			if err == nil && c.Colour == "" && !known && (!c.Not || c.Where != "screen") {
				out = append(out, f)
			}
		}
	}
	for _, r := range e.spec.Rules {
		add(r.When)
	}
	for _, d := range e.spec.Dialogs {
		add(d.When)
	}
	add(e.spec.InterruptWhen)
	if e.group.want.state == coleo.Idle {
		add([]rules.Cond{{Where: "composer", Pattern: anyText}})
		if e.spec.Composer.Empty != "" {
			add([]rules.Cond{{Where: "composer", Pattern: e.spec.Composer.Empty}})
		}
	}
	return out
}

// newFeatures returns new conditions from the rows of the wrongly read pictures. It skips rows that
// repeat what a user has typed.
func (e *editor) newFeatures() []feature {
	var out []feature
	for _, where := range featureParts {
		if !e.mayLookAt(where) {
			continue
		}
		count := map[string]int{}
		for _, p := range e.pictures {
			rows, _ := p.Part(where)
			seen := map[string]bool{}
			for _, row := range rows {
				if e.typed.repeats(row) {
					continue
				}
				for _, pattern := range rowPatterns(row, where) {
					seen[pattern] = len(pattern) >= e.shortestPattern(where)
				}
			}
			maps.DeleteFunc(seen, func(_ string, long bool) bool { return !long })
			for pattern := range seen {
				count[pattern]++
			}
		}
		list := sortedBy(count, func(s string) int { return -count[s]*1000 - min(len(s), 40) })
		for _, pattern := range list[:min(len(list), 40)] {
			if re, err := regexp.Compile(pattern); err == nil {
				out = append(out, feature{where: where, pattern: pattern, re: re})
			}
		}
	}
	return out
}

// mayLookAt reports whether a condition of the proposed new rule may use a part of the screen. A
// condition of idle may not use the transcript, because the transcript can contain any text.
func (e *editor) mayLookAt(where string) bool {
	return e.group.want.state != coleo.Idle || !strings.HasPrefix(where, "above") && where != "bottom 6" &&
		where != "bottom 12"
}

// longPattern is the smallest length of a new condition for a dialog, in bytes. A shorter condition
// could find a dialog where there is none, and Coleo would then send no prompt.
const longPattern = 14

func (e *editor) shortestPattern(where string) int {
	if e.group.want.state == coleo.WaitingApproval && where != "title" {
		return longPattern
	}
	return 0
}

// spinners are the sets of characters that many programs show as an animation. If a row begins with
// a character of a set, the pattern for the row accepts the whole set.
var spinners = []*regexp.Regexp{regexp.MustCompile(`^[⠁-⣿]`), regexp.MustCompile(`^[◐-◓]`),
	regexp.MustCompile(`^[◴-◷]`), regexp.MustCompile(`^[✢-❋]`)}

// wordsAtMost is the largest number of words in a pattern for a row. A longer pattern would match
// less often.
const wordsAtMost = 4

// rowPatterns returns patterns that match a row, or some words of the row.
func rowPatterns(row, where string) []string {
	row = strings.TrimRight(row, " ")
	text := strings.TrimLeft(row, " ")
	if text == "" {
		return nil
	}
	var out []string
	flag := "(?m)"
	if where == "title" || where == "bottom 1" {
		flag = ""
	}
	indent := row[:len(row)-len(text)]
	animated := slices.IndexFunc(spinners, func(s *regexp.Regexp) bool { return s.MatchString(text) })
	if animated >= 0 {
		out = append(out, flag+`^`+indent+strings.TrimPrefix(spinners[animated].String(), "^")+` `)
	} else if first, rest, ok := strings.Cut(text, " "); ok && rest != "" && len(first) <= 4 {
		out = append(out, flag+`^`+indent+quoteText(first)+` `)
	}
	if len(text) <= 80 {
		out = append(out, flag+`^`+indent+quoteText(text)+`$`)
	}
	words := strings.Fields(text)
	for n := 1; n <= wordsAtMost; n++ {
		for i := 0; i+n <= len(words) && i < 24; i++ {
			phrase := strings.Join(words[i:i+n], " ")
			if len(phrase) >= 6 && strings.Contains(row, phrase) {
				out = append(out, quoteText(phrase))
			}
		}
	}
	return out
}

// derive proposes a new rule or new dialogs. The features in `list` become their conditions.
func (e *editor) derive(list []feature) {
	if list[0].negated {
		return
	}
	cost := costRule
	var conds []string
	for _, f := range list {
		conds = append(conds, "  "+f.String()+",\n")
		cost += len(f.pattern) / 4
		if f.own {
			cost -= 10
		}
	}
	when := "when = [\n" + strings.Join(conds, "") + "]\n"
	if e.group.want.state == coleo.WaitingApproval {
		if !list[0].own {
			cost += costUnnamed
		}
		e.deriveDialogs(when, cost)
		return
	}
	at := e.doc.find("rule", e.group.rule)
	if at < 0 && e.doc.find("dialog", e.group.rule) >= 0 {
		// An existing dialog has decided the state. A new rule could not help, because Coleo tries rules after all
		// dialogs.
		return
	}
	name := e.freeName("rule", string(e.group.want.state)+"-seen")
	table := fmt.Sprintf("[[rule]]\nname = %q\nstate = %q\n%s", name, e.group.want.state, when)
	e.add(e.doc.withInserted(at, table), fmt.Sprintf("a new rule %q: %s", name, strings.TrimSpace(when)), cost)
}
