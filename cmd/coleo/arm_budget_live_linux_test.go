package main

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
)

// budgetCallers are the agent CLIs of the budget test. A few replies of the scripted model use up
// the budget of their arms.
var budgetCallers = []struct{ harness, command string }{{"claude-code", "claude"}, {"codex", "codex"}}

// TestATurnOfARealAgentCLIIsInterruptedAtItsBudget makes the model call a tool again and again, so
// that the turn would never end. Coleo must interrupt the turn when the budget is used up. By the
// model's record, the turn may exceed the budget only by the calls that were running at that
// moment.
func TestATurnOfARealAgentCLIIsInterruptedAtItsBudget(t *testing.T) {
	t.Parallel()
	for _, c := range budgetCallers {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			const budget = 0.65 // in US dollars; a first call can cost 0.60
			newLiveOf(t, c.harness, "--budget", "0.65", "--permission-mode", "all", "--yes-without-sandbox").usesUp(budget)
		})
	}
}

func (l *live) usesUp(budget float64) {
	t := l.t
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("its budget is\n%s\nand its screen\n%s", l.run("arm", "budget", l.name).out,
				l.run("arm", "screen", l.name).out)
		}
	}()
	l.check(l.model.SetScript(modelserver.Script{Rules: []modelserver.Rule{{Name: "work",
		When: modelserver.When{Contains: "work on"}, Reply: []modelserver.Step{
			// The words are long, because Codex 0.169.0 draws a reply word by word. On a loaded
			// machine, it draws many short words much later than they arrive.
			{Text: strings.Repeat(strings.Repeat("word-", 100)+" ", 15)}, {Pause: 1500},
			{Tool: &modelserver.Call{Does: modelserver.Run, Args: map[string]any{"command": "date +%N"}}}}}}}))
	l.must("arm", "prompt", l.name, "please work on")
	until(t, "the turn was interrupted", func() bool { return len(l.events(l.name, coleo.EventRunEnd)) == 1 })
	var end coleo.RunEnd
	l.check(json.Unmarshal(l.events(l.name, coleo.EventRunEnd)[0].Payload, &end))
	if end.Outcome != coleo.OutcomeInterrupted {
		t.Errorf("the run ended %+v", end)
	}
	l.checkOverspent(budget)
	arm := l.arm(l.name)
	if need, why := arm.Need(); need != coleo.NeedsYou ||
		!strings.Contains(why, "waits for you: 'coleo arm budget real DOLLARS'") {
		t.Errorf("the list says %s: %s", need, why)
	}
	if status := l.must("arm", "status", l.name); !strings.Contains(status, " of $0.65 (park)") ||
		!strings.Contains(status, "its turn was interrupted") {
		t.Errorf("the status says\n%s", status)
	}
	asked := len(l.model.Record())
	if e := l.fails(5, "arm", "prompt", l.name, "say more"); e.Code != coleo.EConflict ||
		!strings.HasPrefix(e.Message, "nothing was typed: the budget of arm real is used up") {
		t.Errorf("the next prompt: %+v", e)
	}
	l.fails(5, "arm", "unpark", l.name)
	if got := len(l.model.Record()); got != asked {
		t.Errorf("the model got %d more requests", got-asked)
	}
	l.check(l.model.SetScript(modelserver.Script{}))
	l.must("arm", "budget", l.name, "20")
	l.must("arm", "unpark", l.name)
	until(t, "it has gone on", func() bool { return len(l.events(l.name, coleo.EventRunEnd)) == 2 })
	l.checkAnswer()
	if arm := l.arm(l.name); arm.Queue != nil || arm.Budget == nil || arm.Budget.Why != "" || arm.Budget.Spent < budget {
		t.Errorf("afterwards the queue is %+v and the budget %+v", arm.Queue, arm.Budget)
	}
}

// checkOverspent compares the costs in the model's record with a budget. The agent CLI sends one
// request at a time. So one call uses up the budget, and Coleo can be too late to prevent one more.
// If Coleo cuts that call off, the model's record contains no tokens of it, and the agent CLI need
// not report any.
func (l *live) checkOverspent(budget float64) {
	l.t.Helper()
	spent, inFlight, calls, later := 0.0, 0.0, 0, 0
	for _, q := range l.model.Record() {
		if q.Side != "" || q.Prompt == "" {
			continue
		}
		dollars := float64(3*q.Input+15*q.Output) / 1e6
		if calls++; spent < budget {
			spent += dollars
		} else {
			later, inFlight = later+1, inFlight+dollars
		}
	}
	const bound = 0.61 // cost of one call in US dollars, with the longest context of this turn
	told := l.arm(l.name).Budget
	if told == nil {
		l.t.Fatal("the arm has no budget")
	}
	if told.Spent < spent*0.99 || told.Spent > spent*1.01+float64(later)*bound {
		l.t.Fatalf("by the model's record $%.4f and $%.4f were spent, and the arm says %s", spent, inFlight, told.Line())
	}
	if calls < 2 || later > 1 || spent < budget || spent > budget+bound || inFlight > bound {
		l.t.Errorf("%d calls cost $%.4f of $%.2f, and %d begun after that cost $%.4f", calls, spent, budget, later, inFlight)
	}
	l.t.Logf("%d calls cost $%.4f of $%.2f, and %d begun after that cost $%.4f", calls, spent, budget, later, inFlight)
}
