package main

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/loop"
)

// goesRound makes the model run the same command again and again in one turn: `times` times, or
// forever if `times` is 0. The command prints the same each time.
func (l *live) goesRound(times int) {
	l.t.Helper()
	l.check(l.model.SetScript(modelserver.Script{Rules: []modelserver.Rule{
		{Name: "circle", When: modelserver.When{Contains: "go round"}, Times: times, Reply: []modelserver.Step{
			{Tool: &modelserver.Call{Does: modelserver.Run, Args: map[string]any{"command": "echo the same"}}}}},
		{Name: "end", When: modelserver.When{Contains: "go round"}, Reply: []modelserver.Step{{Text: "round and out"}}},
	}}))
}

// calls returns how many tool calls the model has made.
func (l *live) calls() (n int) {
	for _, q := range l.model.Record() {
		n += len(q.Calls)
	}
	return n
}

// TestATurnOfARealAgentCLIThatGoesInCirclesIsStopped makes the model repeat the same call forever.
// Coleo must stop the turn at the bound, as the model's record shows.
func TestATurnOfARealAgentCLIThatGoesInCirclesIsStopped(t *testing.T) {
	t.Parallel()
	for _, c := range budgetCallers {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			l := newLiveOf(t, c.harness, "--permission-mode", "all", "--yes-without-sandbox")
			l.goesRound(0)
			l.must("arm", "prompt", l.name, "please go round")
			until(t, "the turn was stopped", func() bool { return len(l.events(l.name, coleo.EventRunEnd)) == 1 })
			var end coleo.RunEnd
			l.check(json.Unmarshal(l.events(l.name, coleo.EventRunEnd)[0].Payload, &end))
			calls := l.calls()
			// The agent CLI may send one more request before it is interrupted.
			if end.Outcome != coleo.OutcomeInterrupted || calls < loop.MaxSame || calls > loop.MaxSame+2 {
				t.Errorf("after %d calls the run ended %+v", calls, end)
			}
			arm := l.arm(l.name)
			if arm.Queue == nil || arm.Queue.Parked == nil || arm.Queue.Parked.Kind != coleo.LimitLoop ||
				!strings.Contains(arm.Queue.Parked.Text, "with the same result 10 times") {
				t.Errorf("the queue is %+v", arm.Queue)
			}
			if need, why := arm.Need(); need != coleo.NeedsYou {
				t.Errorf("the list says %s: %s", need, why)
			}
			if status := l.must("arm", "status", l.name); !strings.Contains(status, "same call of") {
				t.Errorf("the status says\n%s", status)
			}
			l.check(l.model.SetScript(modelserver.Script{}))
			l.checkAnswer()
			if got := l.calls(); got != calls {
				t.Errorf("the model made %d more calls", got-calls)
			}
			if arm := l.arm(l.name); arm.Queue != nil {
				t.Errorf("after the next prompt the queue is %+v", arm.Queue)
			}
		})
	}
}

// TestATurnOfARealAgentCLIThatStaysBelowTheBoundIsNotStopped makes the model repeat a call, in each of
// two turns, one time fewer than the bound. Coleo must stop neither turn.
func TestATurnOfARealAgentCLIThatStaysBelowTheBoundIsNotStopped(t *testing.T) {
	t.Parallel()
	for _, c := range budgetCallers {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			l := newLiveOf(t, c.harness, "--permission-mode", "all", "--yes-without-sandbox")
			for turn := 1; turn <= 2; turn++ {
				l.goesRound(loop.MaxSame - 1)
				end := decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "please go round")
				if end.Outcome != coleo.OutcomeFinished || end.Answer != "round and out" {
					t.Errorf("turn %d ended %+v", turn, end)
				}
				if calls := l.calls(); calls != turn*(loop.MaxSame-1) {
					t.Errorf("after turn %d the model has made %d calls", turn, calls)
				}
			}
			if parked := l.events(l.name, coleo.EventParked); len(parked) != 0 {
				t.Errorf("the arm was parked: %s", parked[0].Payload)
			}
			if n := len(l.events(l.name, coleo.EventToolEnd)); n != 2*(loop.MaxSame-1) {
				t.Errorf("the log tells %d ends of calls", n)
			}
		})
	}
}
