package brain

import (
	"context"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// keepChosen stores the host agent's Chosen in the arm's row. It holds the mode, the models, the labels
// and the budget that a user has chosen, and what the arm does at a limit. If chosen is nil, keepChosen
// does nothing.
//
// The host agent has stored the same before, and has already done what the user wants. A number says
// which copy is newer. On a full disk, keepChosen therefore returns nil: as soon as there is room, this
// serve or the next one brings the row up to the host agent's copy (see catchUpChosen).
func (b *Brain) keepChosen(ctx context.Context, idOrName string, chosen *coleo.Chosen) error {
	if chosen == nil {
		return nil
	}
	return b.keepChosenWith(ctx, idOrName, chosen, func(*coleo.Arm, *coleo.Chosen) {})
}

// keepChosenWith is like keepChosen, and calls a function that changes the row further.
func (b *Brain) keepChosenWith(ctx context.Context, idOrName string, chosen *coleo.Chosen,
	also func(row *coleo.Arm, before *coleo.Chosen)) error {
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
	if store.NoRoom(err) && report.Chosen != nil { // the host has the labels, and its log tells them again
		arm.Labels = next
		return arm, nil
	}
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
