package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
)

// TestARunningArmTakesChangedRules: when a person changes the rules in a harness file, a running
// arm must use them at once, without a restart. A broken harness file must change nothing. The
// error must name the line.
func TestARunningArmTakesChangedRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	raw, err := os.ReadFile(filepath.Join("testdata", "fake.toml"))
	w.check(err)
	good := string(raw)
	// wrong is the first part of the expected error. It names the line with the state of the idle
	// rule.
	wrong := fmt.Sprintf("fake.toml:%d: rule", 1+strings.Count(good[:strings.Index(good, `state = "idle"`)], "\n"))
	change := func(old, replacement string) {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("the description of the fake holds no %q", old)
		}
		w.write("config/harnesses/fake.toml", strings.Replace(good, old, replacement, 1))
	}
	w.must("up")
	w.must("arm", "spawn", "-n", "one", "--harness", "fake", "--workdir", w.home)
	before := w.wait("one", coleo.Idle)
	awaitEvents := func(n int, text string) {
		t.Helper()
		until(t, "event "+text, func() bool {
			events := w.events("one", coleo.EventRules)
			return len(events) == n && strings.Contains(string(events[n-1].Payload), text)
		})
	}

	change(`state = "idle"`, `state = "sleepy"`)
	awaitEvents(1, wrong)
	if r := w.run("harness", "list"); r.code != 0 || !strings.Contains(r.err, wrong) {
		t.Errorf("%v\nwant the file and the line of what is wrong", r)
	}
	if !strings.Contains(w.read("state/logs/agent.log"), wrong) {
		t.Errorf("the host agent's log does not say what is wrong:\n%s", w.read("state/logs/agent.log"))
	}
	w.must("arm", "prompt", "--wait", "one", "say by the rules before")

	change(`state = "idle"`, `state = "error"`)
	awaitEvents(2, "has changed")
	w.wait("one", coleo.Failed)
	change(`clear = "CTRL_U"`, `clear = "CTRL_U CTRL_U"`)
	awaitEvents(3, "has changed")
	after := w.wait("one", coleo.Idle)
	w.must("arm", "prompt", "--wait", "one", "say by the rules of now")
	if after.Generation != before.Generation || len(w.events("one", coleo.EventReattached)) > 0 {
		t.Errorf("the arm was started or taken up again: generation %d, was %d", after.Generation, before.Generation)
	}
}
