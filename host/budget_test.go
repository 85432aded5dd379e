package host

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/cost"
)

// testPrices knows the price of one model. The first call of this model costs at most 0.352
// dollars.
type testPrices struct{}

func (testPrices) Override(_, model string) (coleo.Price, bool) {
	rates := coleo.Rates{Input: 1, Output: 10, CacheRead: 1, CacheWrite: 1}
	return coleo.Price{Rates: rates, Source: coleo.PriceOverride}, model == "m1"
}

func (p testPrices) Find(provider, model string) (coleo.Price, bool) {
	return p.Override(provider, model)
}

// tells is a part of a harness whose agent CLI reports the usage of each reply.
const tells = "\n[work]\nusage = true\n"

// budgetStage is a stage with prices, and with the budgets `common`, which all arms share. Its agent CLI
// reports the usage of each reply.
func budgetStage(t *testing.T, common coleo.Budgets) *stage {
	t.Helper()
	return newStageOf(t, tells, &stage{alter: func(c *Config) {
		c.Prices, c.Budgets = func() cost.Prices { return testPrices{} }, common
	}})
}

// budgetArm starts an arm with the model m1, and waits until it is idle. If b is not nil, the arm
// has this budget.
func (s *stage) budgetArm(name string, b *coleo.Budget) string {
	s.t.Helper()
	o := s.order(name)
	o.Config.Workdir, o.Config.Model = s.workdir(name), "m1"
	if b != nil {
		o.Config.Chosen = o.Config.Chosen.Change(func(c *coleo.Chosen) { c.Budget = b })
	}
	id := must[bus.ArmReport](s, bus.OpSpawn, o).ID
	s.awaitState(id, coleo.Idle)
	return id
}

// works begins a turn that runs until it is interrupted.
func (s *stage) works(id string) {
	s.t.Helper()
	s.prompt(id, "pause 1h")
	s.noteWork(id, []coleo.Activity{{Position: 1, Work: coleo.Prompted{Text: "pause 1h"}}})
	s.awaitState(id, coleo.Processing)
}

// uses reports a reply of an arm that costs the given number of dollars. `at` is the reply's position in the
// record, and must be higher in each call.
func (s *stage) uses(id string, at int64, dollars float64, model string) {
	s.t.Helper()
	u := coleo.ReplyUsage{Usage: coleo.Usage{Output: int(dollars * 1e5)}, Model: model}
	s.noteWork(id, []coleo.Activity{{Position: at, Work: u}})
}

// budgetSteps returns the steps of the arm's budget in the log, and the last change.
func (s *stage) budgetSteps(id string) (steps []coleo.BudgetStep, last coleo.BudgetChange) {
	s.t.Helper()
	for _, e := range s.events(id, coleo.EventBudget) {
		var c coleo.BudgetChange
		s.check(json.Unmarshal(e.Payload, &c))
		if c.Step != coleo.BudgetCounted {
			steps, last = append(steps, c.Step), c
		}
	}
	return steps, last
}

func (s *stage) awaitBudget(id string, want ...coleo.BudgetStep) coleo.BudgetChange {
	s.t.Helper()
	var got []coleo.BudgetStep
	var last coleo.BudgetChange
	s.until("the log tells of the budget", func() bool {
		got, last = s.budgetSteps(id)
		return slices.Equal(got, want)
	})
	return last
}

func (s *stage) setsBudget(id string, b coleo.Budget) coleo.BudgetReport {
	s.t.Helper()
	return must[coleo.BudgetReport](s, bus.OpBudget, bus.BudgetOrder{Arm: id, BudgetOrder: coleo.BudgetOrder{Budget: &b}})
}

func TestATurnIsInterruptedAtTheBudgetAndTheArmWaits(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	id := s.budgetArm("ada", &coleo.Budget{Dollars: 1})
	s.works(id)
	s.followUp(id, "say two")
	s.uses(id, 2, 0.6, "")
	s.awaitBudget(id, coleo.BudgetSet)
	if r := s.report(id); r.Reading.State != coleo.Processing {
		t.Fatalf("below its budget, the arm is %s", r.Reading.State)
	}
	s.restart() // the spent amount outlives the host agent
	s.awaitState(id, coleo.Processing)
	s.uses(id, 3, 0.5, "m1")
	told := s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetReached, coleo.BudgetInterrupted)
	if told.Spent < 1.09 || told.Spent > 1.11 || !strings.Contains(told.Why, "$1.10 of $1.00; its turn was interrupted") {
		t.Errorf("the last event is %+v", told)
	}
	s.awaitRuns(id, 1)
	for run, end := range s.ends(id) {
		if end.Outcome != coleo.OutcomeInterrupted {
			t.Errorf("the run %s ended %+v", run, end)
		}
	}
	p := s.parkedNow(id)
	if p.Kind != coleo.LimitBudget || !p.Wake.IsZero() || !strings.Contains(p.Why, "coleo arm budget ada") || p.Run == "" {
		t.Errorf("it is parked %+v", p)
	}
	s.restart()
	s.refused(coleo.EConflict, bus.OpPrompt, bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: "say more"}})
	s.refused(coleo.EConflict, bus.OpQueue, bus.QueueOrder{Arm: id,
		QueueOrder: coleo.QueueOrder{Step: coleo.QueueContinued}})
	s.checkNothingSent(id, "ada", 1)
	if r := s.setsBudget(id, coleo.Budget{Dollars: 5}); len(r.Budgets) != 1 || r.Budgets[0].Dollars != 5 ||
		r.Parked == nil || r.Spent < 1.09 || r.Next == nil {
		t.Errorf("after the budget was raised: %+v", r)
	}
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueContinued})
	s.awaitPrompted("ada", "pause 1h", "continue", "say two")
	s.awaitRuns(id, 3)
}

func TestATurnBeginsOnlyIfOneCallFits(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	id := s.budgetArm("ada", &coleo.Budget{Dollars: 0.36})
	s.prompt(id, "say one") // it can cost 0.352 dollars
	s.awaitRuns(id, 1)
	s.setsBudget(id, coleo.Budget{Dollars: 0.35})
	err := s.ask(bus.OpPrompt, bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: "say two"}}, nil)
	if coleo.ErrorCode(err) != coleo.EConflict ||
		!strings.Contains(err.Error(), "nothing was typed: the budget of arm ada") {
		t.Errorf("the prompt: %v", err)
	}
	s.refused(coleo.EConflict, bus.OpPrompt, bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: "say two"}})
	s.refused(coleo.EConflict, bus.OpCompact, bus.ArmOrder{Arm: id})
	s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetSet, coleo.BudgetRefused)
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueUnparked})
	s.followUp(id, "say three") // the budget would refuse its turn, so it stays in the queue
	s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetSet, coleo.BudgetRefused, coleo.BudgetRefused)
	if q := s.queue(id, coleo.QueueOrder{}); q.Parked == nil || len(q.Entries) != 1 {
		t.Errorf("the queue is %+v", q)
	}
	s.checkNothingSent(id, "ada", 1)
	s.setsBudget(id, coleo.Budget{}) // without a budget
	s.prompt(id, "say mine")
	s.awaitPrompted("ada", "say one", "say mine", "say three")
}

func TestAPromptThatDoesNotFitStopsNoTurnThatRuns(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	id := s.budgetArm("ada", &coleo.Budget{Dollars: 1})
	s.works(id)
	s.uses(id, 2, 0.8, "")
	o := bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: "say two", Interrupt: true}}
	if err := s.ask(bus.OpSteer, o, nil); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("the prompt that would stop the turn: %v", err)
	}
	err := s.ask(bus.OpPrompt, bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: "say two"}}, nil)
	if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "the running turn continues") {
		t.Errorf("the prompt: %v", err)
	}
	s.checkNothingSent(id, "ada", 1)
	if r, q := s.report(id), s.queue(id, coleo.QueueOrder{}); r.Reading.State != coleo.Processing || q.Parked != nil {
		t.Errorf("the arm is %s and parked %+v", r.Reading.State, q.Parked)
	}
	s.awaitBudget(id, coleo.BudgetSet)
}

func TestABudgetCanEndTheArm(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	id := s.budgetArm("ada", &coleo.Budget{Dollars: 1, Policy: coleo.BudgetStop})
	s.works(id)
	s.uses(id, 2, 1.5, "")
	if told := s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetReached); !strings.HasSuffix(told.Why, "the arm is ended") {
		t.Errorf("the event is %+v", told)
	}
	s.awaitState(id, coleo.Dead)
	s.until("it is meant to stay so", func() bool { return s.report(id).Desired == coleo.DesiredStopped })
}

func TestABudgetCanWarnOnce(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	id := s.budgetArm("ada", &coleo.Budget{Dollars: 1, Policy: coleo.BudgetWarn})
	s.works(id)
	s.uses(id, 2, 1.5, "")
	s.uses(id, 3, 1.5, "")
	s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetWarned)
	must[coleo.Interruption](s, bus.OpInterrupt, bus.ArmOrder{Arm: id})
	s.awaitRuns(id, 1)
	s.prompt(id, "say two")
	s.awaitRuns(id, 2)
	s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetWarned)
}

func TestACommonBudgetStopsTheTurnsOfAllItsArms(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{Fleet: 2, Day: 3})
	ada, bob := s.budgetArm("ada", nil), s.budgetArm("bob", nil)
	s.works(ada)
	s.works(bob)
	s.uses(ada, 2, 1.2, "")
	s.uses(bob, 2, 0.9, "")
	for _, id := range []string{ada, bob} {
		if told := s.awaitBudget(id, coleo.BudgetReached, coleo.BudgetInterrupted); told.Scope != coleo.BudgetOfFleet {
			t.Errorf("the event is %+v", told)
		}
		s.awaitRuns(id, 1)
	}
	eve := s.budgetArm("eve", nil)
	s.refused(coleo.EConflict, bus.OpPrompt, bus.PromptOrder{Arm: eve, Prompt: coleo.Prompt{Text: "say one"}})
	s.checkNothingSent(eve, "eve", 0)
}

func TestAModelWithoutAPriceStopsATurnWithAHardBudget(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	id := s.budgetArm("ada", &coleo.Budget{Dollars: 9})
	s.works(id)
	s.uses(id, 2, 0.1, "m9")
	told := s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetReached, coleo.BudgetInterrupted)
	if !strings.Contains(told.Why, "price of m9") || told.Dollars != 9 {
		t.Errorf("the event is %+v", told)
	}
}

func TestABudgetThatCannotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	silent := newStageOf(t, "", &stage{alter: func(c *Config) { // an agent CLI that reports no usage
		c.Prices, c.Budgets = func() cost.Prices { return testPrices{} }, coleo.Budgets{Day: 5}
	}})
	priced := s.budgetArm("ada", nil)
	unknown := s.arm("bob")
	mute := silent.budgetArm("ada", nil)
	hard := func(id string, b coleo.Budget) bus.BudgetOrder {
		return bus.BudgetOrder{Arm: id, BudgetOrder: coleo.BudgetOrder{Budget: &b}}
	}
	s.refused(coleo.EUnsupported, bus.OpBudget, hard(unknown, coleo.Budget{Dollars: 1}))
	s.refused(coleo.EInvalid, bus.OpBudget, hard(priced, coleo.Budget{Dollars: -1}))
	s.refused(coleo.EInvalid, bus.OpBudget, hard(priced, coleo.Budget{Dollars: 1, Policy: "cry"}))
	silent.refused(coleo.EUnsupported, bus.OpBudget, hard(mute, coleo.Budget{Dollars: 1, Policy: coleo.BudgetStop}))
	silent.setsBudget(mute, coleo.Budget{Dollars: 1, Policy: coleo.BudgetWarn})
	// The arm `mute` has an agent CLI that reports no usage. Its turns cannot be counted toward the common budget
	// of 5 dollars a day, which must not be exceeded. So none of its turns may begin.
	silent.refused(coleo.EUnsupported, bus.OpPrompt, bus.PromptOrder{Arm: mute, Prompt: coleo.Prompt{Text: "say one"}})
	silent.followUp(mute, "say one")
	silent.until("the queue is paused", func() bool { return silent.queue(mute, coleo.QueueOrder{}).Paused != "" })
	silent.checkNothingSent(mute, "ada", 0)
}

func TestATurnIsNotInterruptedAtADialogButRightAfterItsAnswer(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	id := s.budgetArm("ada", &coleo.Budget{Dollars: 1})
	text := "dialog rm\npause 1h"
	s.prompt(id, text)
	s.noteWork(id, []coleo.Activity{{Position: 1, Work: coleo.Prompted{Text: text}}})
	s.until("it asks", func() bool { return s.report(id).Reading.Dialog != nil })
	s.uses(id, 2, 1.5, "")
	s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetReached)
	if r := s.report(id); r.Reading.State != coleo.WaitingApproval || r.Reading.Dialog == nil {
		t.Fatalf("at its budget the arm reads %+v", r.Reading)
	}
	s.check(s.ask(bus.OpRespond, bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.ChoiceApprove}}, nil))
	s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetReached, coleo.BudgetInterrupted)
	s.awaitRuns(id, 1)
}

// busySession is a real session that refuses every interrupt.
type busySession struct{ coleo.Session }

func (busySession) Interrupt(context.Context) (coleo.Interruption, error) {
	return coleo.Interruption{}, coleo.Errorf(coleo.EBusy, "not now")
}

func TestTheNextHostAgentInterruptsATurnThatStillGoesOn(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	id := s.budgetArm("ada", &coleo.Budget{Dollars: 1})
	s.works(id)
	s.hijack(id, func(real coleo.Session) coleo.Session { return busySession{real} })
	s.uses(id, 2, 1.5, "")
	told := s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetReached, coleo.BudgetUnstopped)
	if !strings.HasSuffix(told.Why, "its turn still went on after an attempt to interrupt it: not now") {
		t.Errorf("the event is %+v", told)
	}
	s.restart()
	s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetReached, coleo.BudgetUnstopped, coleo.BudgetInterrupted)
	s.awaitRuns(id, 1)
}
