package api

import (
	"context"
	"fmt"
	"testing"

	"coleo.dev"
)

func (b *scriptedBrain) Budget(_ context.Context, arm string, o coleo.BudgetOrder) (coleo.BudgetReport, error) {
	out := coleo.BudgetReport{Arm: arm, Spent: 1.25}
	if o.Budget != nil {
		out.Budgets = []coleo.BudgetState{{Budget: *o.Budget, Scope: coleo.BudgetOfArm, Of: arm, Spent: 1.25}}
	}
	return out, b.fail
}

func TestTheBudgetsOfAnArmThroughTheClient(t *testing.T) {
	t.Parallel()
	c, ctx := socketClient(t, newServer(t, &scriptedBrain{})), t.Context()
	r, err := c.Budget(ctx, "a1", coleo.BudgetOrder{})
	if got := fmt.Sprint(r.Arm, " ", r.Spent, " ", len(r.Budgets)); err != nil || got != "a1 1.25 0" {
		t.Errorf("the budgets are %s, %v", got, err)
	}
	r, err = c.Budget(ctx, "a1", coleo.BudgetOrder{Budget: &coleo.Budget{Dollars: 2.5, Policy: coleo.BudgetStop}})
	if err != nil || len(r.Budgets) != 1 || r.Budgets[0].Line() != "$1.25 of $2.50 (stop)" {
		t.Errorf("after an order the budgets are %+v, %v", r.Budgets, err)
	}
	_, err = c.Budget(ctx, "a1", coleo.BudgetOrder{Budget: &coleo.Budget{}})
	if err != nil {
		t.Errorf("no budget any more: %v", err)
	}
}
