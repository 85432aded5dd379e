package host

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/cost"
)

// unparks orders an arm to continue, and returns the id of the prompt that continues the arm.
func (s *stage) unparks(id string) string {
	s.t.Helper()
	return must[coleo.QueueReport](s, bus.OpQueue, bus.QueueOrder{Arm: id,
		QueueOrder: coleo.QueueOrder{Step: coleo.QueueContinued}}).ID
}

// refusesPrompt gives an arm a budget that is too small for a call, and prompts the arm. The prompt
// is refused.
func (s *stage) refusesPrompt(id string) {
	s.t.Helper()
	s.setsBudget(id, coleo.Budget{Dollars: 0.35})
	s.refused(coleo.EConflict, bus.OpPrompt, bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: "say refused"}})
}

func TestAnArmWhoseTurnWasNotCutOffIsOnlyUnparked(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	id := s.budgetArm("ada", nil)
	s.refusesPrompt(id)
	if p := s.parkedNow(id); p.Run != "" || !strings.Contains(p.Line(), "$0.35") {
		t.Errorf("it is parked %+v", p)
	}
	raised := s.setsBudget(id, coleo.Budget{Dollars: 20})
	queue := s.queue(id, coleo.QueueOrder{})
	for what, p := range map[string]*coleo.Parked{"the report": raised.Parked, "the queue": queue.Parked} {
		if p == nil || strings.Contains(p.Line(), "$0.35") || !strings.Contains(p.Line(), "'coleo arm unpark ada' "+
			"continues it") {
			t.Errorf("after the budget was raised, %s has the parking %+v", what, p)
		}
	}
	small := s.setsBudget(id, coleo.Budget{Dollars: 0.2})
	if p := small.Parked; strings.Contains(p.Line(), "unpark") || !strings.Contains(p.Line(), "$0.20") {
		t.Errorf("with a budget for no call, the parking is %+v", p)
	}
	s.refused(coleo.EConflict, bus.OpQueue, bus.QueueOrder{Arm: id,
		QueueOrder: coleo.QueueOrder{Step: coleo.QueueContinued}})
	s.setsBudget(id, coleo.Budget{Dollars: 20})
	if run := s.unparks(id); run != "" {
		t.Errorf("the prompt %s continues the arm", run)
	}
	if q := s.queue(id, coleo.QueueOrder{}); q.Parked != nil || len(q.Entries) > 0 {
		t.Errorf("the queue is %+v", q)
	}
	s.followUp(id, "say two")
	s.awaitPrompted("ada", "say two")
	s.awaitRuns(id, 1)
}

// A budget refuses a prompt while the arm waits for the end of a limit. After that, the arm must
// still continue the turn that the limit has cut off.
func TestABudgetForgetsNoTurnThatALimitHasCutOff(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{})
	id := s.budgetArm("ada", nil)
	first := s.meets(id, "weekly limit, resets in 6 days")
	s.refusesPrompt(id)
	if p := s.parkedNow(id); p.Kind != coleo.LimitBudget || p.Run != first.Run {
		t.Errorf("it is parked %+v, want a parking at a budget that names the run %s", p, first.Run)
	}
	s.setsBudget(id, coleo.Budget{Dollars: 20})
	if run := s.unparks(id); run == "" {
		t.Fatal("no prompt continues the arm")
	}
	s.awaitPrompted("ada", "say Limit: weekly limit, resets in 6 days", "continue")
	s.awaitRuns(id, 2)
}

// A new host agent starts a stopped arm again, with its old conversation. The next call of the model gets the whole
// conversation, so the bound of its cost must not be that of a new conversation.
func TestTheNextCallOfAResumedArmIsAsLongAsItsConversation(t *testing.T) {
	t.Parallel()
	s := &stage{}
	s.alter = func(c *Config) {
		c.Prices = func() cost.Prices { return testPrices{} }
		s.canResume(c)
	}
	newStageOf(t, tells, s)
	id := s.budgetArm("ada", nil)
	s.works(id)
	s.noteWork(id, []coleo.Activity{{Position: 2, Work: coleo.ReplyUsage{Usage: coleo.Usage{Input: 900_000}}}})
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	s.restart()
	o := s.order("ada")
	o.Config.Workdir, o.Config.Model, o.Config.Conversation, o.Resume = s.workdir("ada"), "m1", "one", true
	must[bus.ArmReport](s, bus.OpSpawn, o)
	s.awaitState(id, coleo.Idle)
	r := must[coleo.BudgetReport](s, bus.OpBudget, bus.BudgetOrder{Arm: id})
	if r.Next == nil || *r.Next < 0.9 {
		t.Fatalf("the report is %+v, want a next call that costs more than the 0.9 dollars of the conversation", r)
	}
	s.setsBudget(id, coleo.Budget{Dollars: 1})
	s.refused(coleo.EConflict, bus.OpPrompt, promptOrder(id, "say one"))
	s.checkNothingSent(id, "ada", 1)
}
