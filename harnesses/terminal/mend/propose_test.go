package mend

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/pty"
)

// pictures is a recording that shows each picture for two seconds.
func pictures(list ...string) *pty.Cast {
	c := &pty.Cast{Cols: 60, Rows: 12}
	for i, p := range append(list, list[len(list)-1]) {
		c.Events = append(c.Events, pty.CastEvent{At: time.Duration(2*i) * time.Second, Kind: pty.CastOutput, Data: p})
	}
	return c
}

// program returns the description of the fake program in package casttest, with some texts replaced.
func program(t *testing.T, replace ...string) Description {
	t.Helper()
	return Description{File: "bench.toml", Text: []byte(strings.NewReplacer(replace...).Replace(casttest.PlainSpec))}
}

// labelled returns a test case for a recording. Its label contains the states that the description reads in
// the recording.
func labelled(t *testing.T, d Description, name string, c *pty.Cast) Case {
	t.Helper()
	spec, err := d.spec()
	if err != nil {
		t.Fatal(err)
	}
	return Case{Name: name, Cast: c, Label: reading.Label(spec, reading.Recording{Cast: c, Until: -1})}
}

// The description expects "today", and the new version of the program shows another word. Propose
// must find the change.
func TestAChangeOfTheProgramIsMended(t *testing.T) {
	t.Parallel()
	const work = "\x1b[2J\x1b[H> \r\n───────\r\nbusy with it\x1b[H"
	cast := pictures(casttest.Idle, work, casttest.Idle, casttest.Asks, casttest.Idle)
	for name, c := range map[string]struct {
		replace []string
		want    string // a line of the diff
	}{
		"a word is another": {[]string{`(?m)^busy`, `(?m)^frobs`}, `+when = [{ where = "screen", pattern = '(?m)^busy' }]`},
		"a part of the screen is another": {[]string{`where = "screen", pattern = '(?m)^busy'`,
			`where = "title", pattern = '(?m)^busy'`}, `+when = [{ where = "bottom 1", pattern = '(?m)^busy' }]`},
		"the edge of the composer is another": {[]string{`'^─{5,}'`, `'^═{5,}'`}, `+bottom = '^─{5,}'`},
		"a title is another":                  {[]string{`^(Run it\?)$`, `^(Walk it\?)$`}, `+title = '^(Run it\?)$'`},
		"an option has moved": {[]string{`bottom 1", pattern = '^y/n'`, `bottom 1", pattern = '^Y_N'`},
			`+when = [{ where = "bottom 1", pattern = '^y/n' }]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := labelled(t, program(t), "new", cast)
			d := program(t, c.replace...)
			r, err := Propose(d, []Case{fresh}, nil, Options{Seed: 1})
			if err != nil || r.Text == nil {
				t.Fatalf("Propose = %+v, %v; want a change", r, err)
			}
			if diff := Diff("bench.toml", string(d.Text), string(r.Text)); !strings.Contains(diff, c.want) {
				t.Errorf("the diff is\n%s\nwant %s", diff, c.want)
			}
		})
	}
}

// A hint below the composer disappears with the first character of a prompt. A new rule of idle
// must not require the hint, because Coleo could then not type a prompt.
func TestANewRuleOfIdleAsksForTheComposer(t *testing.T) {
	t.Parallel()
	const hint = "\x1b[2J\x1b[H> \r\n───────\r\n? for shortcuts\x1b[H"
	fresh := labelled(t, program(t), "new", pictures(hint, casttest.Busy, hint, casttest.Asks, hint))
	d := program(t, "[[rule]]\nname = \"composer\"\nstate = \"idle\"\nwhen = [{ where = \"composer\", pattern = "+
		"'(?s).*' }]\n", "")
	r, err := Propose(d, []Case{fresh}, nil, Options{Seed: 1})
	if err != nil || r.Text == nil {
		t.Fatalf("Propose = %+v, %v; want a change", r, err)
	}
	const want = `+  { where = "composer", pattern = '(?s).*' },`
	if diff := Diff("bench.toml", string(d.Text), string(r.Text)); !strings.Contains(diff, want) {
		t.Errorf("the diff is\n%s\nwant %s", diff, want)
	}
}

// busyRule is the rule in casttest.PlainSpec that reads the state processing.
const busyRule = "[[rule]]\nname = \"busy\"\nstate = \"processing\"\n" +
	"when = [{ where = \"screen\", pattern = '(?m)^busy' }]\n"

// No proposed condition may contain the words that the user has typed, because the next prompt has
// other words.
func TestNoChangeNamesWhatTheUserHasTyped(t *testing.T) {
	t.Parallel()
	const typed = "\x1b[2J\x1b[H> go on, do it\r\n───────\r\n"
	const work = "\x1b[2J\x1b[Hgo on, do it\r\nFrobnicating\r\n> \r\n───────\r\n\x1b[3;3H"
	fresh := Case{Name: "new", Cast: pictures(casttest.Idle, typed, work, work+" "),
		Label: "0.00 initializing, 0.11 idle, 4.02 processing", Slack: 0.1}
	for name, d := range map[string]Description{
		"of a rule":   program(t),
		"to new rule": program(t, busyRule, ""),
	} {
		r, err := Propose(d, []Case{fresh}, nil, Options{Seed: 1})
		if err != nil || r.Text == nil {
			t.Fatalf("%s: Propose = %+v, %v; want a change", name, r, err)
		}
		if all := strings.Join(r.Changes, " "); strings.Contains(all, "go") || !strings.Contains(all, "Frob") {
			t.Errorf("the change %s is %s, want the row of work", name, all)
		}
	}
}

// If no condition can distinguish the working program from the idle one, Propose must propose
// nothing.
func TestNothingIsProposedWithoutASign(t *testing.T) {
	t.Parallel()
	fresh := Case{Name: "same", Cast: pictures(casttest.Idle, casttest.Idle),
		Label: "0.00 initializing, 0.12 idle, 2.00 processing"}
	r, err := Propose(program(t), []Case{fresh}, nil, Options{Seed: 1})
	if err != nil || r.Text != nil || len(r.Breaks) == 0 {
		t.Errorf("Propose = %+v, %v; want a break and no change", r, err)
	}
}

const (
	newWork   = "\x1b[2J\x1b[H> \r\n───────\r\nworking\x1b[H"
	newLabels = "0.00 initializing, 0.11 idle, 2.02 processing"
)

// The new version shows "working" where the old one shows "busy". The proposal must accept both
// words.
func TestAnOldRecordingStillHolds(t *testing.T) {
	t.Parallel()
	today := program(t)
	old := labelled(t, today, "old", pictures(casttest.Idle, casttest.Busy, casttest.Idle))
	fresh := Case{Name: "new", Cast: pictures(casttest.Idle, newWork), Label: newLabels, Slack: 0.1}
	r, err := Propose(today, []Case{fresh}, []Case{old}, Options{Seed: 1})
	if err != nil || r.Text == nil {
		t.Fatalf("Propose = %+v, %v; want a change", r, err)
	}
	changed := Description{File: today.File, Text: r.Text}
	for _, c := range []Case{fresh, old} {
		if got := labelled(t, changed, c.Name, c.Cast).Label; !strings.HasPrefix(got, c.Label[:4]) ||
			strings.Contains(c.Label, "processing") != strings.Contains(got, "processing") {
			t.Errorf("with\n%s\n%s reads as %s, want %s", r.Changes, c.Name, got, c.Label)
		}
	}
}

// A recording of an old version shows the same picture as the new one, but its label is idle and not working.
// No rule can be right for both, so Propose must propose nothing.
func TestAnOldRecordingForbidsAChange(t *testing.T) {
	t.Parallel()
	today := program(t)
	old := labelled(t, today, "old", pictures(casttest.Idle, newWork, newWork))
	fresh := Case{Name: "new", Cast: pictures(casttest.Idle, newWork), Label: newLabels, Slack: 0.1}
	if r, err := Propose(today, []Case{fresh}, nil, Options{Seed: 1}); err != nil || r.Text == nil {
		t.Errorf("without the old recording Propose = %+v, %v; want a change", r, err)
	}
	r, err := Propose(today, []Case{fresh}, []Case{old}, Options{Seed: 1})
	if err != nil || r.Text != nil || len(r.Nearest) == 0 {
		t.Errorf("Propose = %+v, %v; want no change, and what was tried", r, err)
	}
}

func TestTheResultDependsOnTheSeedAlone(t *testing.T) {
	t.Parallel()
	fresh := labelled(t, program(t), "new", pictures(casttest.Idle, casttest.Busy, casttest.Asks, casttest.Idle))
	d := program(t, "(?m)^busy", "(?m)^frobs")
	var texts []string
	for range 3 {
		r, err := Propose(d, []Case{fresh}, nil, Options{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(r.Text)+fmt.Sprint(r.Tried))
	}
	if texts[0] == "" || texts[0] != texts[1] || texts[1] != texts[2] {
		t.Errorf("three searches found\n%s", strings.Join(texts, "\n---\n"))
	}
}

func TestALabelIsRead(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		`0.00 initializing, 1.40 idle`:                                "2 states",
		`0.00 initializing, 1.00 waiting_approval "a, \"b\"", 2 idle`: "3 states",
		``:                         "the label is empty",
		`soon idle`:                `"soon" is not a number of seconds`,
		`0.00 sleepy`:              `"sleepy" is not a state`,
		`1.00 idle, 0.50 idle`:     "0.50 comes after 1.00",
		`0.00 idle "open`:          "is not closed",
		`0.00 idle 1.00 executing`: "there is no comma",
	} {
		list, err := parseLabel(label)
		got := fmt.Sprintf("%d states", len(list))
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("parseLabel(%s) = %s, want %s", label, got, want)
		}
	}
}

func TestIdleMayNotComeEarly(t *testing.T) {
	t.Parallel()
	want, _ := parseLabel("0.00 initializing, 1.00 processing, 3.00 idle")
	for label, ok := range map[string]bool{
		"0.00 initializing, 1.00 processing, 3.00 idle": true,
		"0.00 initializing, 1.20 processing, 3.20 idle": true,
		"0.00 initializing, 1.00 processing, 2.90 idle": false,
		"0.00 initializing, 1.00 processing, 3.50 idle": false,
		"0.00 initializing, 1.00 processing":            false,
	} {
		got, _ := parseLabel(label)
		if agrees(want, got, 0.3) != ok {
			t.Errorf("agrees(%s) = %v, want %v", label, !ok, ok)
		}
	}
}

// A label that was made from a model server's record can allow several readings, for example any dialog.
func TestALabelMayStandForSeveralReadings(t *testing.T) {
	t.Parallel()
	want, err := parseLabel("0.00 unjudged, 1.00 idle, 2.00 working, 4.00 waiting_approval *, 6.00 working, 8.00 idle")
	if err != nil {
		t.Fatal(err)
	}
	// The reading may lack a state that lasts shorter than the given slack, here 0.3 s.
	short, _ := parseLabel("0.00 waiting_approval *, 1.00 working, 1.01 idle")
	if seen, _ := parseLabel(`0.00 waiting_approval "Run it?", 1.20 idle`); !agrees(short, seen, 0.3) {
		t.Errorf("a late dialog does not agree: %v", differences(short, seen, 0.3))
	}
	// While the screen changes, the state before and the state after are accepted, but no other
	// state.
	change, _ := parseLabel("0.00 working, 1.00 changing, 5.00 idle")
	for label, ok := range map[string]bool{"0.00 processing, 3.00 idle": true, "0.00 processing, 5.20 idle": true,
		"0.00 processing, 0.90 idle": false, "0.00 processing, 6.00 idle": false, "0.00 processing, 3.00 error, 5.00 " +
			"idle": false} {
		if seen, _ := parseLabel(label); agrees(change, seen, 0.3) != ok {
			t.Errorf("%s agrees: %v, want %v", label, !ok, ok)
		}
	}
	const good = `0.00 idle, 0.50 initializing, 1.10 idle, 2.10 processing, 4.10 waiting_approval, ` +
		`4.20 waiting_approval "Run it?", 6.10 executing, 7.00 processing, 8.10 idle`
	for change, ok := range map[[2]string]bool{
		{"", ""}:                                true,
		{"2.10", "1.80"}:                        true,  // a little early
		{"2.10", "2.50"}:                        false, // late
		{"8.10", "7.90"}:                        false, // idle too early
		{"executing", "idle"}:                   false,
		{`"Run it?"`, ""}:                       false, // a dialog that cannot be answered
		{"7.00 processing", "7.00 idle"}:        false,
		{"6.10 executing, ", ""}:                false,
		{"0.00 idle", "0.00 processing"}:        true,
		{"1.10 idle", "1.10 initializing"}:      false,
		{"4.10 waiting_approval", "4.10 error"}: false,
	} {
		got, err := parseLabel(strings.Replace(good, change[0], change[1], 1))
		if err != nil {
			t.Fatal(err)
		}
		if agrees(want, got, 0.3) != ok {
			t.Errorf("with %q for %q it agrees: %v, want %v: %v", change[1], change[0], !ok, ok, differences(want, got, 0.3))
		}
	}
}

func TestNoPatternThatMatchesAllIsProposed(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{`(?s).*`: true, `^`: true, `x?`: true, `^$`: false, `x`: false,
		`^(a|b)?$`: false} {
		if matchesAll(pattern) != want {
			t.Errorf("matchesAll(%s) = %v, want %v", pattern, !want, want)
		}
	}
}

func TestADiffIsUnified(t *testing.T) {
	t.Parallel()
	got := Diff("x", "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nD\ne\nf\n")
	if want := "--- x\n+++ x (proposed)\n@@ -1,6 +1,6 @@\n a\n b\n c\n-d\n+D\n e\n f\n"; got != want {
		t.Errorf("Diff =\n%s\nwant\n%s", got, want)
	}
}
