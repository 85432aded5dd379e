package main

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

// compactLine is what a terminal sends when a user pastes and submits /shorten.
const compactLine = "\x1b[200~/shorten\x1b[201~\r"

func TestCompactingIsATurnWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.checkAnswer("one")
	before := f.received()
	end := decode[coleo.RunEnd](f.world, "arm", "compact", f.name, "--wait")
	if end.Outcome != coleo.OutcomeFinished || !end.Compact || end.Answer != "" || end.Whole {
		t.Errorf("the end of the turn is %+v, want finished, without an answer", end)
	}
	if got := strings.TrimPrefix(f.received(), before); got != compactLine {
		t.Errorf("the agent CLI got %q, want %q", got, compactLine)
	}
	if last := decode[coleo.RunEnd](f.world, "arm", "last", f.name); last.Answer != "one" {
		t.Errorf("arm last = %+v, want the answer from before", last)
	}
	if out := f.must("arm", "transcript", f.name); !strings.Contains(out, "the conversation is shorter") {
		t.Errorf("arm transcript =\n%s", out)
	}
	if out := f.must("audit", f.name); !strings.Contains(out, "compact-arm") {
		t.Errorf("audit =\n%s", out)
	}
	f.checkAnswer("two")
}

func TestACompactAtADialogOrDuringWorkIsRefusedAndNothingIsTyped(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	dialog := f.asks("rm -rf build")
	before := f.received()
	e := f.fails(6, "arm", "compact", f.name, "--wait")
	if e.Dialog == nil || e.Dialog.Fingerprint != dialog.Fingerprint || e.Delivered == nil || *e.Delivered {
		t.Errorf("at a dialog: %+v, want the dialog, and that nothing was delivered", e)
	}
	if got := f.received(); got != before {
		t.Errorf("the agent CLI got %q", strings.TrimPrefix(got, before))
	}
	f.must("arm", "deny", f.name)
	f.wait(f.name, coleo.Idle)
	f.must("arm", "prompt", f.name, "pause 10m")
	before = f.received()
	if e := f.fails(11, "arm", "compact", f.name); !strings.Contains(e.Message, "working") {
		t.Errorf("during work: %+v", e)
	}
	if got := f.received(); got != before {
		t.Errorf("the agent CLI got %q", strings.TrimPrefix(got, before))
	}
	if n := len(f.events(f.name, coleo.EventPromptLost)); n != 0 {
		t.Errorf("%d prompts are told as lost, want none", n)
	}
}

func TestAHarnessThatCannotCompactSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	spec := strings.Replace(w.read("config/harnesses/fake.toml"), "\ncompact = true", "", 1)
	w.write("config/harnesses/fake.toml", strings.Replace(spec, "\ncompact = \"/shorten\"", "", 1))
	f := w.spawnFake("one")
	before := f.received()
	e := f.fails(2, "arm", "compact", f.name)
	if e.Code != coleo.EUnsupported || strings.Contains(e.Message, "\n") || !strings.Contains(e.Message, "Fake") {
		t.Errorf("error = %+v, want one sentence that names the harness", e)
	}
	if got := f.received(); got != before || slices.Contains(f.texts(fakeagent.Prompted), "/shorten") {
		t.Errorf("the agent CLI got %q", strings.TrimPrefix(got, before))
	}
}
