package mend

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// change is one proposed change of a harness.toml.
type change struct {
	text string // the whole file with the change
	what string // the change in words, for people
	cost int    // the size of the change; see the costs below
}

// These constants are the costs of a change. Propose prefers changes with lower costs. The number of
// changed characters is added to the cost. A kind of change costs less if it is often right.
const (
	costAnchor = 1  // for each row by which a part of the screen grows or shrinks
	costRegion = 8  // a condition looks at another part of the screen
	costWord   = 4  // a pattern matches another text instead of its old one
	costBoth   = 6  // a pattern matches another text in addition to its old one
	costParts  = 6  // two parts of a pattern change places
	costLoose  = 12 // an anchor of a pattern is removed
	costNarrow = 20 // a dialog no longer matches, although only its title is wrong
	costMove   = 5  // for each rule past which a rule is moved
	costRule   = 60 // a new rule

	costWiped   = 40 // with the change, a screen without its composer reads as idle
	costUnnamed = 30 // a new dialog whose first condition is new and does not look at the title
)

// These constants limit a search. Each limit is several times what a typical change needs.
const (
	mostAway  = 24 // largest number of rows of another part of the screen that a condition may look at
	mostRows  = 15 // largest number of rows by which a part of the screen grows or shrinks
	mostFound = 8  // number of texts on one picture that are tried in a gap of a pattern
	mostTexts = 4  // number of texts that one change puts into a gap of a pattern
)

// editor collects changes to one description that may mend a group, which is a set of wrongly read
// pictures.
type editor struct {
	doc      *document
	spec     *rules.Spec
	group    group
	pictures []*rules.Picture // the pictures of the group
	typed    typedTexts       // the texts that a user has typed in the new recordings
	out      []change
}

func (e *editor) add(text, what string, cost int) {
	if text != e.doc.text {
		e.out = append(e.out, change{text, what, cost})
	}
}

// set proposes to replace the value of field f.
func (e *editor) set(f field, value, what string, cost int) {
	if f.key != "where" && (value == "" || matchesAll(value) && !matchesAll(f.value)) {
		return
	}
	it := e.doc.items[f.item]
	named := it.kind
	if it.name != "" {
		named += " " + strconv.Quote(it.name)
	}
	e.add(e.doc.withValue(f, value), fmt.Sprintf("%s: %s", named, what), cost+changedRunes(f.value, value))
}

// changedRunes removes the common beginning and the common end of two texts. It returns how many
// characters are left of the text with more characters.
func changedRunes(a, b string) int {
	x, y := []rune(a), []rune(b)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return max(len(x), len(y))
}

// changeConds proposes changes of the conditions in `list`, which belong to one rule or dialog. The
// parameter `it` is the index of this item in e.doc.items. If `shouldHold` is true, the item should
// hold on all pictures of the group, and the changes make it hold on more of them. Otherwise the item
// should hold on none of them, and the changes make it fail.
func (e *editor) changeConds(it int, list []rules.Cond, shouldHold bool) {
	failing := 0
	for i := range list {
		if e.countHolding(list[i:i+1]) < len(e.pictures) {
			failing++
		}
	}
	for i := range list {
		where, okWhere := e.doc.field(it, "when", "where", i)
		pattern, okPattern := e.doc.field(it, "when", "pattern", i)
		if !okWhere || !okPattern || shouldHold && (e.countHolding(list[i:i+1]) == len(e.pictures) || failing > 2) {
			continue
		}
		e.changeRegions(where, list[i], shouldHold)
		if shouldHold && !list[i].Not {
			e.changePatterns(pattern, func(p *rules.Picture) []string { return e.partText(p, list[i].Where) },
				e.holdsOn(list[i]))
		}
	}
}

// countHolding returns the number of pictures on which all conditions in list hold.
func (e *editor) countHolding(list []rules.Cond) int {
	n := 0
	for _, p := range e.pictures {
		if p.Shows(list) {
			n++
		}
	}
	return n
}

// holdsOn returns a function that reports whether a pattern matches on a picture, in the part of
// the screen that condition c uses.
func (e *editor) holdsOn(c rules.Cond) func(*rules.Picture, *regexp.Regexp) bool {
	return func(p *rules.Picture, re *regexp.Regexp) bool {
		rows, shown := p.Part(c.Where)
		return shown && re.MatchString(strings.Join(rows, "\n"))
	}
}

func (e *editor) partText(p *rules.Picture, where string) []string {
	rows, shown := p.Part(where)
	if !shown {
		return nil
	}
	return []string{strings.Join(e.typed.blankIn(rows), "\n")}
}

var countedPart = regexp.MustCompile(`^(bottom|above composer) (\d+)$`)

// changeRegions proposes changes after which condition c looks at another part of the screen. If `must`
// is true, the changed condition must hold on pictures of the group. Otherwise it must not hold on
// them.
func (e *editor) changeRegions(f field, c rules.Cond, must bool) {
	re, err := regexp.Compile(c.Pattern)
	if err != nil {
		return
	}
	all := matchesAll(c.Pattern) // true if the condition only checks that the screen shows this part
	try := func(where string, cost int) bool {
		n := 0
		if all && where != "composer" {
			return false
		}
		for _, p := range e.pictures {
			rows, shown := p.Part(where)
			if shown && re.MatchString(strings.Join(rows, "\n")) != c.Not == must || !shown && c.Not == must {
				n++
			}
		}
		if n > 0 {
			if !must && e.group.want.state == e.group.got.state {
				cost += costNarrow
			}
			e.set(f, where, fmt.Sprintf("look at %q in place of %q", where, f.value), cost)
		}
		return n == len(e.pictures)
	}
	m := countedPart.FindStringSubmatch(f.value)
	if m != nil {
		n, _ := strconv.Atoi(m[2])
		for by := 1; by <= mostRows; by++ {
			bigger := try(fmt.Sprintf("%s %d", m[1], min(99, n+by)), costAnchor*by)
			smaller := n > by && try(fmt.Sprintf("%s %d", m[1], n-by), costAnchor*by)
			if bigger || smaller {
				break
			}
		}
	}
	if !must || c.Not {
		return
	}
	for _, kind := range []string{"below composer", "composer", "title"} {
		if kind != f.value {
			try(kind, costRegion)
		}
	}
	for _, kind := range []string{"above composer", "bottom"} {
		for n := 1; n <= mostAway && (m == nil || m[1] != kind); n++ {
			if try(fmt.Sprintf("%s %d", kind, n), costRegion+costAnchor*n) {
				break
			}
		}
	}
	if f.value != "screen" {
		try("screen", costRegion+mostAway)
	}
}

// changePatterns proposes changes of the pattern in field f. Coleo matches this pattern with certain
// texts of a picture, which textsOf returns. findsIt reports whether a changed pattern finds the right
// text on a picture.
func (e *editor) changePatterns(f field, textsOf func(*rules.Picture) []string,
	findsIt func(*rules.Picture, *regexp.Regexp) bool) {
	useful := func(pattern string) bool {
		re, err := regexp.Compile(pattern)
		return err == nil && slices.ContainsFunc(e.pictures, func(p *rules.Picture) bool { return findsIt(p, re) })
	}
	for _, g := range replaceablePieces(f.value) {
		e.fillGap(f, g, textsOf, useful)
	}
	for _, next := range swappedParts(f.value) {
		if useful(next) {
			e.set(f, next, fmt.Sprintf("the pattern %s becomes %s", f.value, next), costParts)
		}
	}
	for _, next := range looserPatterns(f.value) {
		if useful(next) {
			e.set(f, next, fmt.Sprintf("the pattern %s becomes %s", f.value, next), costLoose)
		}
	}
}

// letterOrDigit matches one letter or digit. No change replaces a symbol in a pattern, such as ❯, by
// such a character.
var letterOrDigit = regexp.MustCompile(`^[A-Za-z0-9]$`)

// fillGap proposes changes that put another text into gap g of the pattern in field f. A gap is a piece
// of the pattern that may be wrong.
func (e *editor) fillGap(f field, g gap, texts func(*rules.Picture) []string, useful func(string) bool) {
	found := map[string]int{} // for each text, the number of pictures that show it
	for _, p := range e.pictures {
		seen := map[string]bool{}
		for _, text := range texts(p) {
			for _, s := range g.findIn(f.value, text, mostFound) {
				seen[s] = g.kind != gapGlyph && g.kind != gapClass || !letterOrDigit.MatchString(s)
			}
			maps.DeleteFunc(seen, func(_ string, fits bool) bool { return !fits })
		}
		for s := range seen {
			found[s]++
		}
	}
	list := sortedBy(found, func(s string) int { return -found[s]*100 + min(99, distance(g.text, s)) })
	fits := [][]string{}
	for _, s := range list[:min(len(list), mostFound)] {
		fits = append(fits, []string{s})
	}
	if len(list) > 1 {
		fits = append(fits, list[:min(len(list), mostTexts)])
	}
	if (g.kind == gapClass || g.kind == gapGlyph) && len(list) > mostTexts {
		fits = append(fits, list)
	}
	for _, fit := range fits {
		for i, next := range g.fillWith(f.value, fit) {
			if useful(next) {
				e.set(f, next, fmt.Sprintf("the pattern %s becomes %s", f.value, next), costWord+i*(costBoth-costWord)+
					distance(g.text, strings.Join(fit, ""))/2)
			}
		}
	}
}

// sortedBy returns the keys of a map, smallest rank first.
func sortedBy(of map[string]int, rank func(string) int) []string {
	var out []string
	for s := range of {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return out
}

// distance returns how many characters must be changed, added or removed to turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		last := row[0]
		row[0] = i + 1
		for j := range y {
			next := last
			if x[i] != y[j] {
				next = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], next
		}
	}
	return row[len(y)]
}

// changeOrder handles a rule or dialog that never decides, because an earlier one in the file also
// matches. laterIndex is the index of the item that never decides, and earlierName is the name of
// the earlier item. changeOrder adds two alternative changes to e:
//
//   - The later item moves to the place directly before the earlier item.
//   - The earlier item moves to the place directly after the later item.
func (e *editor) changeOrder(laterIndex int, earlierName string) {
	earlier := e.doc.find(e.doc.items[laterIndex].kind, earlierName)
	if earlier < 0 || earlier > laterIndex {
		return
	}
	a, b := e.doc.items[laterIndex], e.doc.items[earlier]
	e.add(e.doc.withMoved(laterIndex, earlier, false), fmt.Sprintf("%s %q comes before %q", a.kind, a.name, b.name),
		costMove*(laterIndex-earlier))
	e.add(e.doc.withMoved(earlier, laterIndex, true), fmt.Sprintf("%s %q comes after %q", b.kind, b.name, a.name),
		costMove*(laterIndex-earlier))
}

// rowKeys are the keys of a dialog whose patterns are matched with single rows.
var rowKeys = []string{"title", "option", "top", "end", "strip"}

// changeDialogParts proposes changes of the patterns that find the parts of a dialog, such as its
// title. The parameter `it` is the dialog's index in e.doc.items.
func (e *editor) changeDialogParts(it int) {
	for _, key := range rowKeys {
		if f, ok := e.doc.field(it, key, key, -1); ok {
			e.changeRowPatterns(f)
		}
	}
}

// changeComposer proposes changes of the composer's patterns.
func (e *editor) changeComposer() {
	it := slices.IndexFunc(e.doc.items, func(it item) bool { return it.kind == "composer" })
	if it < 0 {
		return
	}
	for _, key := range []string{"bottom", "top", "first", "row", "head", "strip", "empty"} {
		if f, ok := e.doc.field(it, key, key, -1); ok && f.value != "cursor" {
			e.changeRowPatterns(f)
		}
	}
}

// changeRowPatterns proposes changes of a pattern that is matched with single rows.
func (e *editor) changeRowPatterns(f field) {
	rows := func(p *rules.Picture) []string {
		all, _ := p.Part("screen")
		return all
	}
	e.changePatterns(f, rows, func(p *rules.Picture, re *regexp.Regexp) bool {
		return slices.ContainsFunc(rows(p), re.MatchString)
	})
}

// changes returns changes to existing rules, dialogs and the composer, after which the wrongly read
// pictures of the group may read as their labels say.
func (e *editor) changes() []change {
	for _, s := range e.group.shots {
		e.pictures = append(e.pictures, rules.NewPicture(s.screen, &e.spec.Composer))
	}
	for i := range e.spec.Rules {
		r := &e.spec.Rules[i]
		e.changeItem("rule", r.Name, r.When, r.State == string(e.group.want.state))
	}
	for i := range e.spec.Dialogs {
		d := &e.spec.Dialogs[i]
		e.changeItem("dialog", d.Name, d.When, e.group.want.state == coleo.WaitingApproval)
	}
	e.changeComposer()
	return e.out
}

// changeItem proposes changes of one rule or dialog. The parameter `meansLabel` is true if the rule or
// dialog has the state that the label wants.
func (e *editor) changeItem(kind, name string, when []rules.Cond, meansLabel bool) {
	it := e.doc.find(kind, name)
	if it < 0 {
		return // the item stands only in the base, which is another file
	}
	holds := e.countHolding(when)
	if meansLabel && holds < len(e.pictures) {
		e.changeConds(it, when, true)
	}
	if meansLabel && holds > 0 {
		e.changeOrder(it, e.group.rule)
		if kind == "dialog" {
			e.changeDialogParts(it)
		}
	}
	if name == e.group.rule {
		e.changeConds(it, when, false)
	}
}
