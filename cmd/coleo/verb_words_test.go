package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

// TestAWrongValueIsToldInOneLine: a person mistypes a value. The error must contain the value as
// typed, and say what to do next.
func TestAWrongValueIsToldInOneLine(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, c := range []struct {
		code int
		args []string
		want string
		not  string
	}{
		{2, []string{"arm", "spawn", "-n", "two", "--harness", "fake", "--fallback", "maybe"}, "nothing was done: fallback",
			"body."},
		{4, []string{"arm", "list", "--harness", "nope"}, `there is no harness "nope"`, ""},
		{4, []string{"models", "list", "--harness", "nope"}, `there is no harness "nope"`, ""},
		{4, []string{"thread", "list", "--harness", "nope"}, `there is no harness "nope"`, ""},
		{2, []string{"arm", "prompt", f.name, "--schema", "absent", "x"}, "absent cannot be read (no such file", "open "},
		{2, []string{"why", "absent:1"}, "absent cannot be read (no such file", "open "},
		{2, []string{"backup", f.path("absent/b.tgz")}, "absent cannot be written to (no such file", "stat "},
	} {
		r := f.run(c.args...)
		if r.code != c.code || !strings.Contains(r.err, c.want) || c.not != "" && strings.Contains(r.err, c.not) ||
			strings.Count(r.err, "\n") != 1 {
			t.Errorf("%v\nwant exit code %d and %q", r, c.code, c.want)
		}
	}
	if out := f.must("arm", "list", "-l", "team=none"); out != "No arm matches.\n" {
		t.Errorf("a list without a match: %q", out)
	}
	if out := f.must("models", "logins"); strings.Contains(out, "false") {
		t.Errorf("the logins are %s", out)
	}
}

func TestAQueuedPromptThatWaitsForAPersonSaysSo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "pause", f.name, "lunch")
	if out := f.must("arm", "follow-up", f.name, "say one"); !strings.Contains(out, "'coleo arm resume "+f.name+"'") {
		t.Errorf("to a paused queue: %s", out)
	}
	f.must("arm", "kill", f.name)
	if out := f.must("arm", "kill", f.name); !strings.Contains(out, f.name+" had ended before") {
		t.Errorf("kill of an arm that has ended: %s", out)
	}
	if r := f.run("arm", "approve", f.name); r.code != 12 || !strings.Contains(r.err, "has ended and asks nothing") {
		t.Errorf("an answer to an arm that has ended: %v", r)
	}
	if out := f.must("arm", "status", f.name); strings.Contains(out, "Process:") {
		t.Errorf("the status of an arm that has ended: %s", out)
	}
	if out := f.must("arm", "follow-up", f.name, "say two"); !strings.Contains(out, "'coleo arm recover "+f.name+"'") {
		t.Errorf("to an arm that has ended: %s", out)
	}
}

func TestAnUnknownHarnessIsToldAlikeWithANearOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.project()
	w.must("up")
	for typed, near := range map[string]string{"claude": "claude-code", "gemni": "gemini"} {
		for _, args := range [][]string{
			{"arm", "spawn", "-n", "x", "--harness", typed, "-w", dir},
			{"fan-out", "--harness", typed, "-w", dir, "a task"},
		} {
			if e := w.fails(2, args...); !strings.Contains(e.Message, "(did you mean "+near+"?)") {
				t.Errorf("%v: %s", args, e.Message)
			}
		}
	}
}

func TestTheStatusHasNoEmptyLabel(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.must("arm", "pause", f.name, "lunch")
	if out := f.must("arm", "status", f.name); !strings.Contains(out, "\n                 (paused: lunch)") {
		t.Errorf("the status is\n%s", out)
	}
}

func TestCtrlCWhileAnArmStartsSaysWhatWasStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.workdir("slow", fakeagent.Script{Start: []string{"hold 60s"}})
	cmd := w.command("arm", "spawn", "-n", "slow", "--harness", "fake", "-w", dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	w.check(cmd.Start())
	until(t, "the arm runs", func() bool {
		r := w.run("arm", "status", "slow")
		return r.code == 0 && strings.Contains(r.out, "Process:")
	})
	w.check(cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	if exit := cmd.ProcessState.ExitCode(); exit != 1 {
		t.Errorf("the exit code is %d", exit)
	}
	if text := errs.String(); !strings.Contains(text, "cancelled") || !strings.Contains(text, "'coleo arm") ||
		strings.Contains(text, "context canceled") {
		t.Errorf("it says %s", text)
	}
}

// promptsAndWaits starts `coleo arm prompt --wait`, with a turn that lasts a minute, on a terminal. It returns when the
// verb shows that it waits: the prompt was delivered, and the verb knows it.
func (f *fake) promptsAndWaits() *console {
	f.t.Helper()
	const wide = 400 // no message is wrapped
	c := f.onTerminal(wide, 30, "arm", "prompt", f.name, "--wait", "hold 60s")
	until(f.t, "the verb waits for the turn", func() bool { return c.shows(f.name + ": working (") })
	return c
}

func TestDownDuringAWaitSaysThatTheTurnContinues(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.promptsAndWaits()
	f.must("down")
	if code, text := c.ends(); code != 8 || strings.Contains(text, "http") ||
		!strings.Contains(text, "'coleo up', then 'coleo arm wait "+f.name+"'") {
		t.Errorf("exit %d: %s", code, text)
	}
}

func TestCtrlCEndsTheWaitAndNotTheTurn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.promptsAndWaits()
	c.types("\x03")
	code, text := c.ends()
	if code != 1 || !strings.Contains(text, "the prompt was delivered") ||
		!strings.Contains(text, "the turn continues: 'coleo arm wait "+f.name+"'") {
		t.Errorf("exit %d: %s", code, text)
	}
	if arm := f.arm(f.name); arm.State != coleo.Processing && arm.State != coleo.Executing {
		t.Errorf("after Ctrl-C, the arm is %s", arm.State)
	}
}
