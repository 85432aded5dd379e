package main

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
)

// promptForPage sends a prompt on which the fake replaces its whole screen. Then only signs of work
// on the screen prove that the prompt arrived. On a loaded machine, the new screen can hide them.
// So Coleo may report that the arrival cannot be proven.
func (f *fake) promptForPage(text string) {
	f.t.Helper()
	r := f.run("arm", "prompt", f.name, text)
	if r.code != 0 && !strings.Contains(r.err, "cannot be proven") &&
		!strings.Contains(r.err, "while the prompt was submitted") {
		f.t.Fatal(r)
	}
}

func TestNothingIsTypedIntoAScreenThatNoRuleKnows(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.promptForPage("garbage")
	until(t, "the unknown screen is told", func() bool { return len(f.events(f.name, coleo.EventUnrecognised)) > 0 })
	before := f.received()
	e := f.fails(10, "arm", "prompt", f.name, "hello")
	if e.Code != coleo.EUnrecognised || e.Screen == nil ||
		!strings.Contains(strings.Join(e.Screen.Lines, "\n"), "press the any key") {
		t.Errorf("prompt = %+v, want %s with the screen", e, coleo.EUnrecognised)
	}
	if r := f.run("arm", "prompt", f.name, "hello"); r.code != 10 ||
		!strings.Contains(r.err, "  |    <<< press the any key >>>") {
		t.Errorf("%v\nwant exit 10 and the screen", r)
	}
	if e := f.fails(12, "arm", "approve", f.name); e.Code != coleo.EStale {
		t.Errorf("approve = %+v, want %s", e, coleo.EStale)
	}
	if got := f.received(); got != before {
		t.Errorf("the agent CLI got %q", strings.TrimPrefix(got, before))
	}
	if out := f.must("arm", "explain", f.name); !strings.Contains(out, "No rule recognizes the present screen") {
		t.Errorf("explain = %s", out)
	}
	list := f.events(f.name, coleo.EventUnrecognised)
	var change coleo.Change
	if len(list) != 1 || json.Unmarshal(list[0].Payload, &change) != nil || change.Screen == nil ||
		change.Reading.Known {
		t.Fatalf("events = %+v, want one with the screen", list)
	}
	if x := decode[coleo.Explanation](f.world, "arm", "explain", f.name); x.Reading.Known ||
		x.Reading.State == coleo.Idle {
		t.Errorf("reading = %+v, want one that is not known and not idle", x.Reading)
	}
}

func TestAScreenThatIsKnownAgainTakesPrompts(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.promptForPage("garbage 1500ms")
	until(t, "the unknown screen is told", func() bool { return len(f.events(f.name, coleo.EventUnrecognised)) > 0 })
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("again")
}
