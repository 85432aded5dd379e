package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/holder/process"
)

// stops stops a process with SIGSTOP and waits until it has stopped.
func (f *fake) stops(pid int) {
	f.t.Helper()
	f.check(syscall.Kill(pid, syscall.SIGSTOP))
	id, err := process.Identify(pid)
	f.check(err)
	until(f.t, "the process is stopped", func() bool { return process.Look(id) == process.Stopped })
}

// TestAnArmWhoseHolderStandsStillIsNotLost: a signal has stopped a holder, so the host agent cannot
// reach it. The host agent must keep the arm as it is: it must not end the arm or start it again.
// When the holder continues, the host agent must attach to the arm.
func TestAnArmWhoseHolderStandsStillIsNotLost(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.checkAnswer("first")
	holderPID := f.onlyProcess("hold")
	f.kill9(f.onlyProcess("agent"))
	f.stops(holderPID)
	f.must("up")
	f.wait(f.name, coleo.Initializing)
	if e := f.fails(8, "arm", "recover", f.name); !strings.Contains(e.Message, "does not answer") {
		t.Errorf("recover says %q", e.Message)
	}
	if !runs(holderPID) || !runs(f.pid) {
		t.Fatalf("the holder runs: %v, the agent CLI: %v", runs(holderPID), runs(f.pid))
	}
	f.check(syscall.Kill(holderPID, syscall.SIGCONT))
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("second")
}

// TestAPasteThatWasCutOffIsEnded: an agent CLI has received only the beginning of a paste. Coleo
// must end that paste before the next prompt, or else the agent CLI would take the prompt for a
// part of it.
func TestAPasteThatWasCutOffIsEnded(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.checkAnswer("first")
	f.stops(f.pid)
	client, err := f.client()
	f.check(err)
	_, err = client.Prompt(t.Context(), f.name, coleo.Prompt{Text: "say " + strings.Repeat("too much ", 10_000)}, "")
	if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "took only") {
		t.Fatalf("a prompt that does not fit into the terminal: %v", err)
	}
	f.check(syscall.Kill(f.pid, syscall.SIGCONT))
	f.checkAnswer("second")
}

// TestAPromptThatWasNotSeenIsNotJoinedToTheNext: a prompt is typed into a stopped agent CLI, and
// Coleo reports it as lost. The agent CLI reads it when it continues. The next prompt must not be
// appended to the lost one.
func TestAPromptThatWasNotSeenIsNotJoinedToTheNext(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.checkAnswer("first")
	f.stops(f.pid)
	if e := f.fails(7, "arm", "prompt", f.name, "say unseen"); e.Code != coleo.EPromptLost {
		t.Errorf("a prompt that is not seen: %+v", e)
	}
	if e := f.fails(11, "arm", "prompt", f.name, "say blind"); e.Code != coleo.EBusy ||
		!strings.Contains(e.Message, "does not respond") {
		t.Errorf("a prompt behind one that is not seen: %+v", e)
	}
	f.check(syscall.Kill(f.pid, syscall.SIGCONT))
	f.checkAnswer("second")
	if got := f.texts(fakeagent.Prompted); !slices.Equal(got, []string{"say first", "say second"}) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
}

// TestAnArmWhoseHolderStandsStillCanBeEnded: an order to end the arm must first make its stopped
// holder continue.
func TestAnArmWhoseHolderStandsStillCanBeEnded(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.stops(f.onlyProcess("hold"))
	if out := f.must("arm", "explain", f.name); !strings.Contains(out, "is stopped: 'kill -CONT") {
		t.Errorf("explain says\n%s", out)
	}
	f.must("arm", "kill", f.name)
	if runs(f.pid) {
		t.Error("the agent CLI runs on")
	}
}
