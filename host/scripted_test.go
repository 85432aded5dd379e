package host

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/cost"
)

// scriptedPrices gives the scripted model the price of the model m1.
type scriptedPrices struct{ testPrices }

func (p scriptedPrices) Find(provider, model string) (coleo.Price, bool) {
	return p.testPrices.Find(provider, strings.Replace(model, coleo.ModelScripted, "m1", 1))
}

func (p scriptedPrices) Override(provider, model string) (coleo.Price, bool) {
	return p.Find(provider, model)
}

// scriptedArm starts an arm, and then sets the scripted model in its record.
func (s *stage) scriptedArm(name string) string {
	s.t.Helper()
	id := s.budgetArm(name, nil)
	a, err := s.host.arm(id)
	s.check(err)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.record.Model, a.record.Spec.Model = coleo.ModelScripted, coleo.ModelScripted
	return id
}

func TestAScriptedModelWithAPriceIsMeteredLikeAnyOther(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, tells, &stage{alter: func(c *Config) {
		c.Prices, c.Budgets = func() cost.Prices { return scriptedPrices{} }, coleo.Budgets{Day: 50}
	}})
	id := s.scriptedArm("ada")
	r := s.setsBudget(id, coleo.Budget{Dollars: 1.2})
	if len(r.Budgets) != 2 || r.Budgets[0].Dollars != 1.2 || r.Next == nil {
		t.Errorf("the report is %+v", r)
	}
	s.works(id)
	s.uses(id, 2, 1.5, coleo.ModelScripted)
	s.awaitBudget(id, coleo.BudgetSet, coleo.BudgetReached, coleo.BudgetInterrupted)
	if p := s.parkedNow(id); p.Kind != coleo.LimitBudget || !strings.Contains(p.Text, "$1.50 of $1.20") {
		t.Errorf("it is parked %+v", p)
	}
}

func TestAScriptedModelWithoutAPriceCostsNothing(t *testing.T) {
	t.Parallel()
	s := budgetStage(t, coleo.Budgets{Day: 1})
	id := s.scriptedArm("ada")
	s.works(id)
	s.uses(id, 2, 1.5, coleo.ModelScripted)
	if a, err := s.host.arm(id); err != nil || len(a.meter.Budgets()) != 0 {
		t.Errorf("a budget holds for the arm (%v)", err)
	}
	s.checkNothingSent(id, "ada", 1)
	if steps, _ := s.budgetSteps(id); len(steps) != 0 {
		t.Errorf("the log tells of the budget: %v", steps)
	}
}
