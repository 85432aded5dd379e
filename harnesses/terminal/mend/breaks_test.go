package mend

import (
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
)

var (
	breaksSeed  = flag.Uint64("seed", 1, "what the breaks are made of")
	breaksCount = flag.Int("breaks", 2, "how many breaks are made and mended")
	breaksOf    = flag.String("harness", "", "only this harness is broken")
	breaksKind  = flag.String("kind", "", "only breaks of this kind")
	breaksItem  = flag.String("item", "", "only the rule or dialog with this name is broken")
	breaksTime  = flag.Duration("each", 3*time.Minute, "how long the search for one break may take")
)

// breakKinds are the kinds of breaks, the mistakes that the tests put into a description. The tests choose the
// kind first, so that all kinds are equally frequent.
var breakKinds = []string{"removed", "anchor", "word", "glyph", "order"}

// library contains the recordings of one agent CLI with their readings.
type library struct {
	harness string
	desc    Description
	all     []caseReading
}

// openLibrary returns the recordings of a harness, as its description reads them.
func openLibrary(t *testing.T, harness string) *library {
	t.Helper()
	l := &library{harness: harness}
	for _, name := range casttest.Names(t) {
		folder, file, _ := strings.Cut(name, "/")
		if !strings.HasPrefix(folder, harness) {
			continue
		}
		if l.desc.Text == nil {
			l.desc.File, l.desc.Text = casttest.Description(t, folder)
		}
		c := Case{Name: name, Cast: casttest.Cast(t, name), Label: casttest.Labels(t, folder)[file]}
		l.all = append(l.all, Tape(t, l.desc, c))
	}
	return l
}

// Tape reads a case with a description.
func Tape(t *testing.T, d Description, c Case) caseReading {
	t.Helper()
	spec, err := d.spec()
	if err != nil {
		t.Fatal(err)
	}
	tp, err := readCase(spec, c)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

// isGiven reports whether Propose receives a recording. It receives about half of the recordings of a harness,
// depending on the seed.
func isGiven(name string, seed uint64) bool {
	return crc32.ChecksumIEEE(fmt.Appendf(nil, "%s %d", name, seed))%2 == 0
}

// broke is a description with one mistake.
type broke struct {
	kind, what string
	text       string
}

// draw puts a mistake into the description of a library, in a random place that some recording uses.
func (l *library) draw(r *rand.Rand, kind string) broke {
	doc := parseDocument(string(l.desc.Text))
	used := map[string]bool{"": true}
	for _, t := range l.all {
		for _, s := range t.shots {
			used[s.rule] = true
		}
	}
	var items []int
	for i, it := range doc.items {
		if *breaksItem != "" && it.name != *breaksItem {
			continue
		}
		if (it.kind == "rule" || it.kind == "dialog") && used[it.name] || it.kind == "composer" && kind != "removed" &&
			kind != "order" {
			items = append(items, i)
		}
	}
	if len(items) == 0 {
		return broke{}
	}
	i := items[r.IntN(len(items))]
	b := broke{kind: kind, what: doc.items[i].kind + " " + doc.items[i].name}
	switch kind {
	case "removed":
		b.text = doc.text[:doc.items[i].start] + doc.text[doc.items[i].end:]
	case "order":
		b.text = breakOrder(r, doc, i)
		b.what += "\n" + Diff(l.harness, doc.text, b.text)
	default:
		var fields []field
		for _, f := range doc.fields {
			if f.item == i && (kind == "anchor") == (f.key == "where") &&
				slices.Contains([]string{"when", "title", "option", "bottom", "top", "first", "row"}, f.top) && f.key != "name" {
				fields = append(fields, f)
			}
		}
		if len(fields) == 0 {
			return b
		}
		f := fields[r.IntN(len(fields))]
		value := breakField(r, f.value, kind)
		b.text = doc.withValue(f, value)
		b.what += fmt.Sprintf(": %s becomes %s", f.value, value)
	}
	return b
}

// breakOrder moves a rule past others, or changes the order in one pattern of the rule.
func breakOrder(r *rand.Rand, doc *document, i int) string {
	if r.IntN(2) == 0 {
		for _, f := range doc.fields {
			if f.item == i && f.key == "pattern" {
				if list := swappedParts(f.value); len(list) > 0 {
					return doc.withValue(f, list[r.IntN(len(list))])
				}
			}
		}
	}
	var same []int
	for j, it := range doc.items {
		if it.kind == doc.items[i].kind && j != i {
			same = append(same, j)
		}
	}
	j := same[r.IntN(len(same))]
	return doc.withMoved(i, j, j > i)
}

// breakField breaks one text of a description.
func breakField(r *rand.Rand, value, kind string) string {
	if kind == "anchor" {
		m := countedPart.FindStringSubmatch(value)
		if m == nil || r.IntN(4) == 0 {
			other := []string{"title", "bottom 1", "above composer 1", "below composer", "composer"}
			return other[r.IntN(len(other))]
		}
		return fmt.Sprintf("%s %d", m[1], 1+r.IntN(9))
	}
	var list []gap
	for _, g := range replaceablePieces(value) {
		if kind == "word" && g.kind == gapWord && len(g.text) > 2 ||
			kind == "glyph" && (g.kind == gapClass || g.kind == gapGlyph) {
			list = append(list, g)
		}
	}
	if len(list) == 0 {
		return value
	}
	g := list[r.IntN(len(list))]
	if kind == "word" {
		word := make([]byte, 4+r.IntN(6))
		for i := range word {
			word[i] = byte('a' + r.IntN(26))
		}
		return value[:g.start] + string(word) + value[g.end:]
	}
	glyphs := []string{"◆", "▲", "⟩", "¤", "§"}
	return value[:g.start] + glyphs[r.IntN(len(glyphs))] + value[g.end:]
}

// visible reports whether a broken description changes the readings in both halves of the recordings.
func (l *library) visible(b broke, seed uint64) bool {
	spec, err := rules.ParseSpecOn(l.desc.File, []byte(b.text), nil)
	if err != nil || b.text == "" || b.text == string(l.desc.Text) {
		return false
	}
	given, heldOut := false, false
	for _, t := range l.all {
		half := &heldOut
		if isGiven(t.Name, seed) {
			half = &given
		}
		if !*half && !t.readsAlike(spec) {
			*half = !agrees(t.want, readLabel(spec, t.Case), 0)
		}
		if given && heldOut {
			return true
		}
	}
	return false
}

// mended describes an attempt to mend a broken description.
type mended struct {
	result   Result
	heldOut  int // recordings that Propose did not receive, and that still do not read as labelled
	harmed   int // recordings that read as labelled only with the broken description
	duration time.Duration
}

func (l *library) mend(t *testing.T, b broke, seed uint64) mended {
	t.Helper()
	var given, heldOut []Case
	for _, tp := range l.all {
		if isGiven(tp.Name, seed) {
			given = append(given, tp.Case)
		} else {
			heldOut = append(heldOut, tp.Case)
		}
	}
	began := time.Now()
	d := l.desc
	d.Text = []byte(b.text)
	result, err := Propose(d, given, nil, Options{Seed: int64(seed), Time: *breaksTime})
	if err != nil {
		t.Fatal(err)
	}
	m := mended{result: result, duration: time.Since(began)}
	if result.Text == nil {
		return m
	}
	before, err := d.spec()
	if err != nil {
		t.Fatal(err)
	}
	d.Text = result.Text
	after, err := d.spec()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range heldOut {
		want, _ := parseLabel(c.Label)
		if !agrees(want, readLabel(after, c), 0) {
			m.heldOut++
			if agrees(want, readLabel(before, c), 0) {
				m.harmed++
			}
		}
	}
	return m
}

// TestBreaks breaks descriptions on purpose, and gives Propose the broken description and half of
// the recordings. A break counts as mended if the other half reads as labelled too. The flags
// -seed, -breaks, -harness and -kind select the breaks.
func TestBreaks(t *testing.T) {
	if testing.Short() || casttest.Raced {
		t.Skip("it replays all recordings of four agent CLIs many times")
	}
	r := rand.New(rand.NewPCG(*breaksSeed, 7))
	harnesses := []string{"claude-code", "codex", "gemini", "opencode"}
	if *breaksOf != "" {
		harnesses = []string{*breaksOf}
	}
	libraries := map[string]*library{}
	made, good := map[string]int{}, map[string]int{}
	total := 0
	for tries := 0; total < *breaksCount && tries < 40**breaksCount; tries++ {
		name, kind := harnesses[r.IntN(len(harnesses))], breakKinds[r.IntN(len(breakKinds))]
		if *breaksKind != "" {
			kind = *breaksKind
		}
		if libraries[name] == nil {
			libraries[name] = openLibrary(t, name)
		}
		l := libraries[name]
		b := l.draw(r, kind)
		if !l.visible(b, *breaksSeed) {
			continue
		}
		total++
		made[kind]++
		m := l.mend(t, b, *breaksSeed)
		ok := m.result.Text != nil && m.heldOut == 0
		if ok {
			good[kind]++
		}
		t.Logf("%s %s %s\n  mended=%v, held out wrong %d, harmed %d, %d breaks, tried %d in %s\n  %s",
			name, b.kind, b.what, ok, m.heldOut, m.harmed, len(m.result.Breaks), m.result.Tried,
			m.duration.Round(time.Second), strings.Join(m.result.Changes, "\n  "))
		for _, d := range m.result.Breaks[:min(4, len(m.result.Breaks))] {
			t.Logf("  break %s %.2f-%.2f: %s, not %s (%s)", d.Recording, d.From, d.Until, d.Got, d.Want, d.Rule)
		}
		for _, a := range m.result.Nearest {
			t.Logf("  not %s: %s", a.Change, a.Why)
		}
		if m.harmed > 0 {
			t.Errorf("%s %s: %d recordings read as labelled before the change alone", name, b.what, m.harmed)
		}
	}
	for _, kind := range breakKinds {
		t.Logf("seed %d: %s: %d of %d mended", *breaksSeed, kind, good[kind], made[kind])
	}
}
