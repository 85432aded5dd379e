package main

import (
	"testing"

	"coleo.dev"
)

// TestTheDoctorNamesTheCommandThatHelpsAnArm: 'coleo arm recover' changes nothing for an arm that runs and waits for a
// decision of its user. The doctor must name the command that the arm waits for.
func TestTheDoctorNamesTheCommandThatHelpsAnArm(t *testing.T) {
	t.Parallel()
	hosts := []coleo.HostInfo{{Host: coleo.Host{ID: "here"}, Live: true}, {Host: coleo.Host{ID: "away"}}}
	idle := func(change func(*coleo.Arm)) coleo.Arm {
		a := coleo.Arm{Name: "one", AgentID: "here", Status: coleo.StatusIdle, State: coleo.Idle}
		change(&a)
		return a
	}
	for want, arm := range map[string]coleo.Arm{
		"coleo arm questions one": idle(func(a *coleo.Arm) {
			a.Suspensions = []coleo.Suspension{{Kind: coleo.SuspensionQuestion, Text: "which?"}}
		}),
		"coleo arm unpark one": idle(func(a *coleo.Arm) {
			a.Queue = &coleo.QueueState{Parked: &coleo.Parked{Limit: coleo.Limit{Kind: coleo.LimitLogin}, Why: "no login"}}
		}),
		"coleo arm queue one": idle(func(a *coleo.Arm) { a.Queue = &coleo.QueueState{Length: 1, Held: "it is too long"} }),
		"coleo arm screen one, then coleo arm resume one": idle(func(a *coleo.Arm) {
			a.Queue = &coleo.QueueState{Paused: "nothing proves that it has arrived"}
		}),
		"kill -CONT 7":          idle(func(a *coleo.Arm) { a.PID, a.Runtime.Frozen = 7, true }),
		"coleo up":              idle(func(a *coleo.Arm) { a.AgentID, a.Runtime.Stale = "away", true }),
		"coleo arm recover one": idle(func(a *coleo.Arm) { a.Runtime.Display = coleo.DisplayStuck }),
	} {
		if need, _ := arm.Need(); need != coleo.NeedsYou {
			t.Errorf("the arm for %q needs %q", want, need)
		}
		if got := mendOfArm(arm, hosts); got != want {
			t.Errorf("the doctor says %q, want %q", got, want)
		}
	}
}
