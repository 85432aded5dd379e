package mend

import (
	"strings"
	"testing"

	"coleo.dev/harnesses/terminal/casttest"
)

// The transcript shows an earlier prompt in a box that looks like the composer. If a command wipes the last
// rows of the screen, that box remains, although the agent CLI may not be idle. So the new rule must require
// the footer "model plain". It must not require the hint "? for shortcuts", because this disappears with the
// first character of a prompt.
func TestANewRuleOfIdleDoesNotTrustAWipedScreen(t *testing.T) {
	t.Parallel()
	const past = "\x1b[2J\x1b[H> say one\r\n───────\r\nanswer\r\n\r\n"
	const idle = past + "> \r\n───────\r\nmodel plain\r\n? for shortcuts\x1b[5;3H"
	const draft = past + "> go on now\r\n───────\r\nmodel plain\r\n\x1b[5;12H"
	fresh := labelled(t, program(t), "new", pictures(idle, draft, casttest.Busy, idle, casttest.Asks, idle, draft))
	d := program(t, "[[rule]]\nname = \"composer\"\nstate = \"idle\"\nwhen = [{ where = \"composer\", pattern = "+
		"'(?s).*' }]\n", "")
	r, err := Propose(d, []Case{fresh}, nil, Options{Seed: 1})
	if err != nil || r.Text == nil {
		t.Fatalf("Propose = %+v, %v; want a change", r, err)
	}
	diff := Diff("bench.toml", string(d.Text), string(r.Text))
	if !strings.Contains(diff, `where = "composer"`) || !strings.Contains(diff, "model") ||
		strings.Contains(diff, "short") {
		t.Errorf("the diff is\n%s\nwant the composer with the footer below it", diff)
	}
	d.Text = r.Text
	spec, err := d.spec()
	if err != nil {
		t.Fatal(err)
	}
	tape, err := readCase(spec, fresh)
	if err != nil {
		t.Fatal(err)
	}
	screens := wipedScreens(spec, []caseReading{tape})
	if len(screens) == 0 || trustsWiped(spec, screens) {
		t.Errorf("%d screens were wiped, and one of them reads as idle", len(screens))
	}
}
