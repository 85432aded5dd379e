package mend

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev/harnesses/terminal/casttest"
)

var (
	pairsDir = flag.String("pairs", "", "folder of recordings that harness calibrate made, as NAME@VERSION")
	pairList = flag.String("pair-list", "", "pairs of versions, as NAME@OLD:NEW, separated by commas")
	pairSize = flag.String("given", "120x40", "size of the recordings that Propose gets; the others are held out")
	proposed = flag.String("proposals", "", "folder for the proposed and the broken descriptions")
)

// A pair is an older and a newer version of one agent CLI. A break is a mistake that the test puts into a
// description. mostDrawn limits the breaks of one pair that the suite judges. mostTries limits the random
// breaks that the test tries for one pair. mostTries is much larger, because most breaks change no reading.
const (
	mostDrawn = 6
	mostTries = 120
)

// pairSlack is how much earlier or later a state may begin than the labels of the pair's recordings say, in
// seconds. It is the same as in `coleo harness calibrate`.
const pairSlack = 2.5

// playedCases reads the recordings of one version.
func playedCases(t *testing.T, version string) (out []Case) {
	t.Helper()
	dir := filepath.Join(*pairsDir, version)
	labels, err := os.ReadFile(filepath.Join(dir, "labels.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(labels)) {
		name, label, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		cast := casttest.Read(t, filepath.Join(dir, name+".cast"))
		out = append(out, Case{Name: version + "/" + name, Cast: cast, Label: label, Slack: pairSlack})
	}
	return out
}

// TestBreaksOfPairs puts a mistake, a break, into the description of an agent CLI. Propose must mend it with
// recordings of a newer version. The break counts as mended under two conditions:
//   - Recordings of the newer version in another terminal size read as labelled.
//   - No recording of the older version or of the library reads worse than before.
//
// With -suite, a break counts only if some check notices it. Otherwise the test tries another break.
func TestBreaksOfPairs(t *testing.T) {
	if *pairsDir == "" {
		t.Skip("-pairs is not given: make calibrate")
	}
	made, good, rows := 0, 0, readRows(t)
	for n, pair := range strings.Split(*pairList, ",") {
		harness, versions, _ := strings.Cut(pair, "@")
		older, newer, _ := strings.Cut(versions, ":")
		old, fresh := playedCases(t, harness+"@"+older), playedCases(t, harness+"@"+newer)
		r := rand.New(rand.NewPCG(*breaksSeed, uint64(n)))
		drawn, counted := map[string]bool{}, 0
		for tries := 0; counted < *breaksCount && len(drawn) < mostDrawn && tries < mostTries; tries++ {
			p := newPairTrial(t, harness, old, fresh)
			b := p.library.draw(r, breakKinds[r.IntN(len(breakKinds))])
			if drawn[b.text] || !p.breaks(b) {
				continue
			}
			drawn[b.text] = true
			row, known := reported(rows, pair, len(drawn))
			if !known {
				row = p.mends(t, pair, b, len(drawn))
			}
			if !row.Counts {
				continue
			}
			counted++
			made++
			if row.Mended && (row.Passes || *suiteCLI == "") {
				good++
			}
		}
	}
	t.Logf("seed %d: %d of %d breaks mended", *breaksSeed, good, made)
}

func casesOf(list []caseReading) (out []Case) {
	for _, t := range list {
		out = append(out, t.Case)
	}
	return out
}

// pairTrial is one broken description, and the recordings that judge its repair.
type pairTrial struct {
	library             *library
	given, heldOut, old []Case
}

// newPairTrial divides the recordings for one trial. It skips new recordings that do not read as
// labelled, because their labels are not exact: they were recorded on a loaded machine.
func newPairTrial(t *testing.T, harness string, old, fresh []Case) pairTrial {
	t.Helper()
	l := openLibrary(t, harness)
	p := pairTrial{library: l, old: append(casesOf(l.all), old...)}
	for _, c := range fresh {
		l.all = append(l.all, Tape(t, l.desc, c))
		switch {
		case p.wrong(l.desc, []Case{c}) > 0:
		case strings.Contains(c.Name, *pairSize):
			p.given = append(p.given, c)
		default:
			p.heldOut = append(p.heldOut, c)
		}
	}
	return p
}

// breaks reports whether a broken description changes the readings of both the given and the held-out
// recordings.
func (p *pairTrial) breaks(b broke) bool {
	d := p.library.desc
	d.Text = []byte(b.text)
	return b.text != "" && b.text != string(p.library.desc.Text) && p.wrong(d, p.given) > p.wrong(p.library.desc,
		p.given) &&
		p.wrong(d, p.heldOut) > p.wrong(p.library.desc, p.heldOut)
}

// wrong returns the number of recordings that a description does not read as labelled.
func (p *pairTrial) wrong(d Description, list []Case) (n int) {
	spec, err := d.spec()
	if err != nil {
		return 0
	}
	for _, c := range list {
		if want, _ := parseLabel(c.Label); !agrees(want, readLabel(spec, c), c.Slack) {
			n++
		}
	}
	return n
}

// mends makes Propose mend a broken description, and returns the result. With -suite, the suite judges the
// broken description and the proposal.
func (p *pairTrial) mends(t *testing.T, pair string, b broke, number int) suiteRow {
	t.Helper()
	began, d := time.Now(), p.library.desc
	d.Text = []byte(b.text)
	result, err := Propose(d, p.given, p.old, Options{Seed: int64(*breaksSeed), Time: *breaksTime})
	if err != nil {
		t.Fatal(err)
	}
	ok, harmed, left := false, 0, 0
	if result.Text != nil {
		before, after := d, d
		after.Text = result.Text
		harmed = p.wrong(after, p.old) - p.wrong(before, p.old)
		left = p.wrong(after, p.heldOut) - p.wrong(p.library.desc, p.heldOut)
		ok = harmed <= 0 && left <= 0
	}
	t.Logf("%d %s %s %s\n  mended=%v, harmed %d, held out wrong %d, in %s, timed out %v\n  %s", number, pair, b.kind,
		b.what, ok, harmed, left, time.Since(began).Round(time.Second), result.TimedOut, strings.Join(result.Changes, "\n  "))
	for _, a := range result.Nearest {
		t.Logf("  not %s\n  because %s", a.Change, a.Why)
	}
	if harmed > 0 {
		t.Errorf("%s: %d old recordings read worse", b.what, harmed)
	}
	_, newer, _ := strings.Cut(pair, ":")
	row := judged(t, d, newer, p.library.desc.Text, result.Text, suiteRow{Pair: pair, Seed: *breaksSeed, Number: number,
		Kind: b.kind, What: b.what, Changes: result.Changes, HeldOut: left, Harmed: harmed, Mended: ok,
		Searched: time.Since(began).Seconds()})
	if *proposed != "" && result.Text != nil {
		name := filepath.Join(*proposed, strings.ReplaceAll(pair, ":", "-"))
		for suffix, text := range map[string][]byte{".toml": result.Text, ".broken": d.Text} {
			if err := os.WriteFile(fmt.Sprintf("%s-%d%s", name, number, suffix), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return row
}
