package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

// TestAnOrderThatWasGivenUpIsNotCarriedOutLater: a prompt is sent to a host agent that a signal has
// stopped. The sender gives up and reports that the delivery is not known. When the host agent
// continues, it finds the prompt, but must not type it any more.
func TestAnOrderThatWasGivenUpIsNotCarriedOutLater(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.checkAnswer("first")
	agent := f.onlyProcess("agent")
	f.stops(agent)
	e := f.fails(8, "arm", "prompt", f.name, "say late")
	if e.Code != coleo.EUnavailable || !strings.Contains(e.Message, "not known") {
		t.Errorf("a prompt to a host agent that is stopped: %+v, want that its delivery is not known", e)
	}
	f.check(syscall.Kill(agent, syscall.SIGCONT))
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("second")
	if got := f.texts(fakeagent.Prompted); !slices.Equal(got, []string{"say first", "say second"}) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
}

// TestDownEndsAnArmWhoseStartWasCutOff kills serve and the host agent before the host agent has
// read the order to start an arm. So only serve's row shows this arm, and no host agent knows it.
// `down` must end it all the same.
func TestDownEndsAnArmWhoseStartWasCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.must("up")
	agent := w.onlyProcess("agent")
	w.check(syscall.Kill(agent, syscall.SIGSTOP))
	spawned := make(chan result, 1)
	go func() { spawned <- w.run(w.startWith("cut")...) }()
	until(t, "serve has a row of the arm", func() bool { return strings.Contains(w.must("arm", "list"), "cut") })
	w.kill9(w.onlyProcess("serve"))
	w.kill9(agent)
	if r := <-spawned; r.code == 0 {
		t.Errorf("a start that was cut off: %v", r)
	}
	w.must("down", "--arms")
}
