package brain

import (
	"context"
	"encoding/json"
	"fmt"

	"coleo.dev"
	"coleo.dev/bus"
)

// keepChosen stores the mode and the models that a user has chosen in the arm's row. The host agent
// stores them too. A number says which copy is newer.
func (b *Brain) keepChosen(ctx context.Context, idOrName string, chosen *coleo.Chosen) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil || chosen == nil {
		return err
	}
	_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		var c coleo.SpawnConfig
		if len(row.Config) > 0 {
			if err := json.Unmarshal(row.Config, &c); err != nil {
				return fmt.Errorf("read the configuration of arm %s: %w", row.Name, err)
			}
		}
		c.Chosen = coleo.NewerChosen(chosen, c.Chosen)
		row.Config, err = json.Marshal(c)
		return err
	})
	return err
}

// forgetChosen drops what the user has chosen earlier. If a request for a start names a permission
// mode, forgetChosen drops the chosen mode. If the request names a model, forgetChosen drops the
// chosen model.
func forgetChosen(c *coleo.SpawnConfig, model, permission string) {
	if c.Chosen == nil || model == "" && permission == "" {
		return
	}
	c.Chosen = c.Chosen.Change(func(now *coleo.Chosen) {
		if permission != "" {
			now.Mode = ""
		}
		if model != "" {
			now.Model = ""
			delete(now.Threads, c.Conversation)
			delete(now.Modes, now.Mode)
		}
	})
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

// labelNew adds labels to a new arm, which may already have labels from its parent. It returns
// EInvalid for bad labels. It also returns EInvalid if the arm already exists and there are labels
// to add.
func labelNew(arm *coleo.Arm, c *coleo.SpawnConfig, labels coleo.Labels, known bool) error {
	if known && len(labels) > 0 {
		return coleo.Errorf(coleo.EInvalid, "arm %s exists already: 'coleo arm label' changes its labels; nothing was "+
			"started",
			arm.Name)
	}
	next, err := coleo.LabelChange{Set: labels}.Apply(arm.Labels)
	if err != nil || known || len(next) == 0 {
		return err
	}
	arm.Labels = next
	c.Chosen = c.Chosen.Change(func(now *coleo.Chosen) { now.Labels = next })
	return nil
}
