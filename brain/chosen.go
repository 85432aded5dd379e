package brain

import (
	"context"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// keepChosen stores in the arm's row what a user has chosen for the arm. If `chosen` is nil, keepChosen does
// nothing.
//
// The host agent has already stored the same coleo.Chosen, and has already carried out the user's order. So
// keepChosen returns nil even if the disk is full. When there is room again, catchUpChosen copies the
// coleo.Chosen from the host agent.
func (b *Brain) keepChosen(ctx context.Context, idOrName string, chosen *coleo.Chosen) error {
	if chosen == nil {
		return nil
	}
	return b.keepChosenWith(ctx, idOrName, chosen, func(_ *coleo.Arm, _, _ *coleo.Chosen) {})
}

// keepChosenWith does the same as keepChosen. It also calls the function `also`, which makes further changes to the
// row: see storeChosen. The replies to two orders can come in another order than the host agent carried them out. So
// `also` must set a field only if the newest coleo.Chosen still contains the value.
func (b *Brain) keepChosenWith(ctx context.Context, idOrName string, chosen *coleo.Chosen,
	also func(row *coleo.Arm, before, newest *coleo.Chosen)) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return err
	}
	err = b.storeChosen(ctx, arm.ID, chosen, also)
	if store.NoRoom(err) {
		b.Log.Warn("serve's disk is full: what a user has chosen is stored with the arm's host, and later here",
			"arm", arm.Name, "error", err)
		return nil
	}
	return err
}

// Label changes the labels of an arm, and returns the arm. It returns ENotFound if there is no such arm, and
// EInvalid for a bad change. EUnavailable and ETimeout mean that the host agent has not replied. The arm then
// has either the old labels or the new labels. After every other error, the arm has its old labels.
func (b *Brain) Label(ctx context.Context, idOrName string, change coleo.LabelChange) (coleo.Arm, error) {
	b.labelling.Lock()
	defer b.labelling.Unlock()
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return arm, err
	}
	next, err := change.Apply(arm.Labels)
	if err != nil {
		return arm, err
	}
	var report bus.LabelReport
	if arm.AgentID != "" {
		err = b.OrderAndCatchUp(ctx, arm.ID, bus.OpLabel, bus.DefaultTimeout, func(arm coleo.Arm) any {
			return bus.LabelOrder{Arm: arm.ID, Labels: next}
		}, &report)
	}
	if err != nil && coleo.ErrorCode(err) != coleo.ENotFound { // ENotFound means that the host has no copy of the arm
		return arm, err
	}
	if err := b.keepChosen(ctx, arm.ID, report.Chosen); err != nil {
		return arm, err
	}
	_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		if row.Labels = next; len(next) == 0 {
			row.Labels = nil
		}
		if report.Chosen != nil {
			return nil
		}
		return choicesToConfig(row)
	})
	// the row gets the labels later, because the host has stored them and reports them again
	if store.NoRoom(err) && report.Chosen != nil {
		arm.Labels = next
		return arm, nil
	}
	if err != nil {
		return arm, err
	}
	b.PublishArm(ctx, arm.ID)
	return b.Arm(ctx, arm.ID)
}

// Budget sets the budget of an arm if o contains a budget, and returns all budgets of the arm. It
// returns ENotFound if there is no such arm, and EUnsupported if the arm cannot be held to the
// budget. Other errors come from the host agent.
func (b *Brain) Budget(ctx context.Context, idOrName string, o coleo.BudgetOrder) (coleo.BudgetReport, error) {
	var report bus.BudgetReport
	err := b.OrderAndCatchUp(ctx, idOrName, bus.OpBudget, bus.DefaultTimeout, func(arm coleo.Arm) any {
		return bus.BudgetOrder{Arm: arm.ID, BudgetOrder: o}
	}, &report)
	if err != nil || o.Budget == nil {
		return report.BudgetReport, err
	}
	return report.BudgetReport, b.keepChosen(ctx, idOrName, report.Chosen)
}
