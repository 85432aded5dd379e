package start

import (
	"coleo.dev"
	"coleo.dev/budget"
	"coleo.dev/wire"
)

// configureBudget sets the budget of an arm. If the request does not mention a budget, a stopped
// arm keeps its budget.
func configureBudget(arm *coleo.Arm, c *coleo.SpawnConfig, q wire.SpawnRequest) error {
	if q.Budget == nil {
		return nil
	}
	b := *q.Budget
	if err := b.Check(); err != nil {
		return err
	}
	c.Chosen = c.Chosen.Change(func(now *coleo.Chosen) {
		if now.Budget = &b; b.Dollars == 0 {
			now.Budget, arm.Budget = nil, nil
		}
	})
	return nil
}

// CheckBudget returns EUnsupported if the harness cannot hold the arm to the requested budget with the model
// that the arm gets. If nobody knows the price of this model, `price` is nil.
func CheckBudget(asked *coleo.Budget, i coleo.Info, arm coleo.Arm, price *coleo.Price) error {
	if asked == nil {
		return nil
	}
	err := budget.CanKeep(*asked, i.Name, budget.TimingOf(i), coleo.ModelName(arm.Provider, arm.Model), price)
	if err != nil {
		return coleo.Errorf(coleo.EUnsupported, "nothing was started: %w", err)
	}
	return nil
}
