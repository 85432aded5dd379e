package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

// TestAnOrderThatWasGivenUpIsNotCarriedOutLater: a stopped host agent finds the order
// when it continues. Its sender was told long before that no answer came, so nothing may
// be typed.
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
