package brain

import (
	"context"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// keepChosen stores the mode and the models that a user has chosen in the arm's row. The host agent
// stores them too. A number says which copy is newer. The host agent has already done what the user wants.
// So on a full disk, keepChosen keeps the choice in memory until the disk has room, and returns nil.
func (b *Brain) keepChosen(ctx context.Context, idOrName string, chosen *coleo.Chosen) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil || chosen == nil {
		return err
	}
	err = b.storeChosen(ctx, arm.ID, chosen)
	if store.NoRoom(err) {
		b.Log.Warn("the disk is full: what a user has chosen is kept in memory", "arm", arm.Name, "error", err)
		b.storeLater(arm.ID, chosen)
		return nil
	}
	return err
}

// Label changes the labels of an arm, and returns the arm. It returns ENotFound if there is no such
// arm, and EInvalid for a bad change. If the host agent did not reply, Label returns EUnavailable
// or ETimeout. In this case the arm has either the old labels or the new labels. After every other
// error, the arm has its old labels.
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
	if err != nil && coleo.ErrorCode(err) != coleo.ENotFound { // not found: the host keeps no copy of the arm
		return arm, err
	}
	if err := b.keepChosen(ctx, arm.ID, report.Chosen); err != nil {
		return arm, err
	}
	_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		if row.Labels = next; len(next) == 0 {
			row.Labels = nil
		}
		return nil
	})
	if err != nil {
		return arm, err
	}
	b.PublishArm(ctx, arm.ID)
	return b.Arm(ctx, arm.ID)
}

// Budget sets the budget of an arm, if o contains one, and returns all budgets of the arm. It
// returns ENotFound if there is no such arm, and EUnsupported if the budget cannot be kept. Other
// errors come from the host agent.
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
