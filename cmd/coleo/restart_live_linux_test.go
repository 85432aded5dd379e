package main

import (
	"encoding/json"
	"testing"

	"coleo.dev"
)

// TestAnIdleArmStaysIdleWhenColeoIsStartedAgain: the new host agent reads the agent CLI's record of
// earlier turns. It must not mistake any of them for present work.
func TestAnIdleArmStaysIdleWhenColeoIsStartedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range toolCallers {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			l := newLiveOf(t, c.harness)
			for range 3 {
				l.checkAnswer()
			}
			l.wait(l.name, coleo.Idle)
			before := len(l.events(l.name, coleo.EventState))
			l.must("down")
			l.must("up")
			l.wait(l.name, coleo.Idle)
			l.checkAnswer()
			l.checkNoOldWork(before)
		})
	}
}

// checkNoOldWork checks that the arm has begun to work at most once since it had `before` changes
// of its state. The test has sent one prompt since then.
func (l *live) checkNoOldWork(before int) {
	l.t.Helper()
	var began int
	for _, e := range l.events(l.name, coleo.EventState)[before:] {
		var c coleo.Change
		l.check(json.Unmarshal(e.Payload, &c))
		if c.Reading.State.Working() && !c.From.Working() {
			began++
		}
	}
	if began > 1 {
		l.t.Errorf("the arm began to work %d times for one prompt", began)
	}
}
