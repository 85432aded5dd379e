package apiclient

import (
	"context"

	"coleo.dev"
	"coleo.dev/wire"
)

// Label changes the labels of an arm, and returns the arm. Only a person can change labels: if the client has
// a token, Label returns EForbidden. It returns EInvalid for a bad label.
func (c *Client) Label(ctx context.Context, arm string, change coleo.LabelChange) (coleo.Arm, error) {
	var out wire.ArmReply
	err := c.callFor(ctx, lookTime, post, armPath(arm, "/labels"), change, &out)
	return out.Arm, err
}

// Budget sets the budget of an arm if the order contains a budget, and returns all budgets of the
// arm. Only a person can set a budget. Budget returns EUnsupported if the arm cannot be held to the
// budget.
func (c *Client) Budget(ctx context.Context, arm string, o coleo.BudgetOrder) (coleo.BudgetReport, error) {
	var out coleo.BudgetReport
	var err error
	if o.Budget == nil {
		err = c.call(ctx, get, armPath(arm, "/budget"), nil, &out)
	} else {
		err = c.callFor(ctx, lookTime, post, armPath(arm, "/budget"), *o.Budget, &out)
	}
	return out, err
}
