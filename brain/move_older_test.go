package brain

import (
	"encoding/json"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// An arm of host local has a budget. An older host agent would take the arm over, and ignore the budget. The arm must
// stay with serve until a host agent comes that keeps the budget.
func TestAnArmWithABudgetMovesOnlyToAHostAgentThatKeepsIt(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{false, true} {
		s := newScripted(t)
		arm := s.withLocal(func(op bus.Op) (any, error) { return nil, coleo.Errorf(coleo.EBusy, "%s", op) })
		config, err := json.Marshal(coleo.SpawnConfig{Workdir: "/w", Chosen: &coleo.Chosen{Number: 1,
			Budget: &coleo.Budget{Dollars: 5}}})
		check(t, err)
		arm, err = s.db.UpdateArm(t.Context(), arm.ID, func(row *coleo.Arm) error {
			row.Config = config
			return nil
		})
		check(t, err)
		s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, TakesLocal: true, TakesBudget: keeps,
			Capabilities: []string{"aider"}, MaxArms: 1})
		_, err = s.brain.moveToHost(t.Context(), arm)
		if released := coleo.ErrorCode(err) == coleo.EBusy; released != keeps {
			t.Errorf("the host agent keeps budgets: %t; the move = %v", keeps, err)
		}
	}
}
