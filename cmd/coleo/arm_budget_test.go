package main

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

func TestABudgetThatWarnsIsSetShownAndTakenAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.workdir("one", fakeagent.Script{})
	reply := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "one", "-w", dir, "--harness", "fake", "--budget", "2.50",
		"--budget-policy", "warn")
	if reply.Arm.Budget == nil || reply.Arm.Budget.Line() != "$0.00 of $2.50 (warn)" {
		t.Errorf("after the start its budget is %+v", reply.Arm.Budget)
	}
	if status := w.must("arm", "status", "one"); !strings.Contains(status, "$0.00 of $2.50 (warn)") {
		t.Errorf("the status says\n%s", status)
	}
	r := decode[coleo.BudgetReport](w, "arm", "budget", "one", "$4", "--policy", "warn")
	if len(r.Budgets) != 1 || r.Budgets[0].Dollars != 4 || r.Next != nil {
		t.Errorf("after a change the budgets are %+v", r)
	}
	w.must("arm", "kill", "one")
	w.must("arm", "recover", "one") // a recovery must keep the budget
	if line := w.must("arm", "budget", "one"); !strings.Contains(line, "the budget of arm one: $0.00 of $4.00 (warn)") {
		t.Errorf("after a restart the verb says\n%s", line)
	}
	if e := w.fails(2, "arm", "budget", "one", "4"); e.Code != coleo.EUnsupported ||
		!strings.HasPrefix(e.Message, "nothing was changed: the budget cannot be enforced") {
		t.Errorf("a hard budget: %+v", e)
	}
	w.fails(2, "arm", "budget", "one", "0")
	w.fails(2, "arm", "budget", "one", "--policy", "park")
	w.must("arm", "budget", "one", "none")
	if arm := w.arm("one"); arm.Budget != nil {
		t.Errorf("without a budget, the arm has %+v", arm.Budget)
	}
	if line := w.must("arm", "budget", "one"); !strings.Contains(line, "has no budget") {
		t.Errorf("without a budget, the verb says\n%s", line)
	}
}

func TestACommonBudgetRefusesAnAgentCLIThatTellsNothing(t *testing.T) {
	t.Parallel()
	f := newWorld(t, "[budget]\nday = 5.0\n").spawnFake("one")
	e := f.fails(2, "arm", "prompt", f.name, "say one")
	if e.Code != coleo.EUnsupported || !strings.HasPrefix(e.Message, "nothing was typed, because of the budget of 2") ||
		!strings.Contains(e.Message, "the harness fake does not report its usage") {
		t.Errorf("the prompt: %+v", e)
	}
	if got := f.received(); strings.Contains(got, "one") {
		t.Errorf("the agent CLI got %q", got)
	}
	if line := f.must("arm", "budget", f.name); !strings.Contains(line, "$0.00 of $5.00 (park)") {
		t.Errorf("the verb says\n%s", line)
	}
}
