package main

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

func TestAPromptAtADialogIsRefusedAndNothingIsTyped(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	dialog := f.asks("rm -rf build")
	before := f.received()
	for _, args := range [][]string{
		{"arm", "prompt", f.name, "1"},
		{"arm", "prompt", f.name, "say yes\n"},
		{"arm", "prompt", f.name, "--wait", "hello"},
	} {
		e := f.fails(6, args...)
		if e.Code != coleo.EBlocked || e.Dialog == nil || e.Dialog.Fingerprint != dialog.Fingerprint ||
			e.Dialog.Subject != "rm -rf build" {
			t.Errorf("%v: error = %+v, want %s with the dialog", args, e, coleo.EBlocked)
		}
	}
	if r := f.run("arm", "prompt", f.name, "hello"); r.code != 6 || !strings.Contains(r.err, "rm -rf build") {
		t.Errorf("%v\nwant exit 6 and the subject", r)
	}
	if got := f.received(); got != before {
		t.Errorf("the agent CLI got %q", strings.TrimPrefix(got, before))
	}
	f.must("arm", "deny", f.name)
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("again")
}

func TestAStaleApprovalIsRefusedAndNothingIsTyped(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	first := f.asks("make")
	f.must("arm", "approve", f.name, "--dialog", string(first.Fingerprint))
	f.wait(f.name, coleo.Idle)
	second := f.asks("make") // a new dialog with the same text
	if second.Fingerprint == first.Fingerprint {
		t.Fatalf("two dialogs have one fingerprint, %s", first.Fingerprint)
	}
	before := f.received()
	for _, verb := range []string{"approve", "deny"} {
		e := f.fails(12, "arm", verb, f.name, "--dialog", string(first.Fingerprint))
		if e.Code != coleo.EStale || e.Dialog == nil || e.Dialog.Fingerprint != second.Fingerprint {
			t.Errorf("%s: error = %+v, want %s with the present dialog", verb, e, coleo.EStale)
		}
	}
	if got := f.received(); got != before {
		t.Errorf("the agent CLI got %q", strings.TrimPrefix(got, before))
	}
	f.must("arm", "deny", f.name, "--dialog", string(second.Fingerprint))
	f.wait(f.name, coleo.Idle)
	before = f.received()
	if e := f.fails(12, "arm", "approve", f.name, "--dialog", string(second.Fingerprint)); e.Code != coleo.EStale {
		t.Errorf("approval without a dialog = %+v, want %s", e, coleo.EStale)
	}
	if e := f.fails(12, "arm", "approve", f.name); e.Code != coleo.EStale {
		t.Errorf("approval of nothing = %+v, want %s", e, coleo.EStale)
	}
	if got := f.received(); got != before {
		t.Errorf("the agent CLI got %q", strings.TrimPrefix(got, before))
	}
}

func TestM13ApproveDenyAndAnswerChooseWhatTheySay(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"approve"}, "Yes"},
		{[]string{"approve", "--always"}, "Yes, and do not ask again"},
		{[]string{"deny"}, "No"},
		{[]string{"answer", "2"}, "Yes, and do not ask again"},
		{[]string{"answer", "3"}, "No"},
	} {
		f.asks("touch it")
		before := len(f.texts(fakeagent.Chosen))
		f.must(slices.Concat([]string{"arm", c.args[0], f.name}, c.args[1:])...)
		if got := f.texts(fakeagent.Chosen)[before:]; !slices.Equal(got, []string{c.want}) {
			t.Errorf("%v chose %q, want %q", c.args, got, c.want)
		}
		f.wait(f.name, coleo.Idle)
	}
	f.asks("touch it")
	before := f.received()
	for _, option := range []string{"0", "4", "-1", "yes"} {
		if e := f.fails(2, "arm", "answer", "--", f.name, option); e.Code != coleo.EInvalid {
			t.Errorf("answer %s: %+v, want %s", option, e, coleo.EInvalid)
		}
	}
	if got := f.received(); got != before {
		t.Errorf("wrong answers typed %q", strings.TrimPrefix(got, before))
	}
	if n := len(f.events(f.name, coleo.EventDecision)); n != 5 {
		t.Errorf("%d decisions are in the log, want 5", n)
	}
}

func TestADenialWithWordsSaysWhatToDoInstead(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.asks("rm -rf build")
	f.must("arm", "deny", f.name, "--words", "say instead")
	if got := f.texts(fakeagent.Chosen); !slices.Equal(got, []string{"No"}) {
		t.Errorf("chosen %q, want No", got)
	}
	if got := f.texts(fakeagent.Prompted); len(got) != 2 || got[1] != "say instead" {
		t.Errorf("prompted %q, want the words last", got)
	}
	f.wait(f.name, coleo.Idle)
	until(t, "the words are answered", func() bool { return len(f.events(f.name, coleo.EventRunEnd)) == 2 })
}

// In this harness, ENTER can add a new row to the composer instead of submitting the prompt. If
// there is evidence that ENTER has not submitted the prompt, Coleo must press ENTER once more.
func TestASubmitThatBecameANewRowIsPressedOnceMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("config/harnesses/fake.toml", strings.Replace(w.read("config/harnesses/fake.toml"), "[composer]",
		"[composer]\nbreaks = true", 1))
	f := w.spawnFake("one")
	f.checkAnswer("before")
	f.must("arm", "prompt", f.name, "--wait", "break 1")
	f.must("arm", "prompt", f.name, "--wait", "say once\nsay more")
	if got := f.texts(fakeagent.Prompted); len(got) != 3 || strings.TrimSpace(got[2]) != "say once\nsay more" {
		t.Errorf("prompted %q, want the prompt once", got)
	}
	f.must("arm", "prompt", f.name, "--wait", "deaf 1")
	// The agent CLI reads ENTER and drops it, so the composer shows no new row. The evidence is then
	// Coleo's probe, which proves that the agent CLI has read the key.
	before := strings.Count(f.received(), "\r")
	f.must("arm", "prompt", f.name, "--wait", "say deaf")
	if n := strings.Count(f.received(), "\r") - before; n != 2 {
		t.Errorf("submit was pressed %d times, want twice", n)
	}
	if got := f.texts(fakeagent.Prompted); got[len(got)-1] != "say deaf" || strings.Count(strings.Join(got, "\n"),
		"deaf") != 2 {
		t.Errorf("prompted %q, want the last prompt once", got)
	}
}
