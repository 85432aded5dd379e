// Package budget contains the verb "arm budget", and the budget flags of coleo arm spawn.
package budget

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
)

const help = `Show the budgets of an arm, or give it a budget of its own in US dollars.

Without an amount, this shows each budget that applies to the arm, how much of it is
used, and what the next call of the model can cost at most. 'none' removes the arm's
own budget. The budgets of projects, days and the fleet are in config.toml.

--policy says what happens when the budget is used up:
  warn  an event reports it, and the arm continues
  park  the turn is interrupted, and the arm waits for you (default)
  stop  the arm is ended

A turn begins only if the rest of the budget is enough for one call of the model. If
an arm waits at its budget, raise the budget, and then continue the arm with 'coleo
arm unpark'.

park and stop need an agent CLI that reports its usage during a turn, and a model
whose price is known.`

// Command returns the verb "arm budget".
func Command() *cobra.Command {
	var policy string
	c := &cobra.Command{
		Use:   "budget NAME [DOLLARS|none]",
		Short: "Show or set how much the model of an arm may cost",
		Long:  help,
		Example: `  coleo arm budget fix 2.50
  coleo arm budget fix 10 --policy warn`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return coleo.Errorf(coleo.EInvalid, "%s takes the name of an arm, and then an amount or none", c.CommandPath())
		},
		RunE: setup.WithClient(func(c *cobra.Command, client *apiclient.Client, args []string) error {
			var o coleo.BudgetOrder
			switch {
			case len(args) == 2:
				b, err := parse(args[1], policy)
				if err != nil {
					return err
				}
				o.Budget = &b
			case policy != "":
				return coleo.Errorf(coleo.EInvalid, "--policy needs an amount: nothing was changed")
			}
			r, err := client.Budget(c.Context(), args[0], o)
			if err != nil {
				return err
			}
			return verb.Say(c, text(r), r)
		}),
	}
	c.Flags().StringVar(&policy, "policy", "", "`POLICY` when the budget is used up: warn, park (default) or stop")
	return c
}

// Flags contains the budget flags of a verb that starts an arm.
type Flags struct{ amount, policy string }

// AddFlags adds the flags to a verb.
func (f *Flags) AddFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.amount, "budget", "", "`DOLLARS` that its model may cost, or none")
	c.Flags().StringVar(&f.policy, "budget-policy", "", "`POLICY` of the budget: warn, park (default) or stop")
}

// Budget returns the budget that the flags give, or nil if they give none.
func (f *Flags) Budget() (*coleo.Budget, error) {
	switch {
	case f.amount == "" && f.policy == "":
		return nil, nil
	case f.amount == "":
		return nil, coleo.Errorf(coleo.EInvalid, "--budget-policy needs --budget: nothing was started")
	}
	b, err := parse(f.amount, f.policy)
	return &b, err
}

// parse parses an amount in US dollars, such as 2.50 or $2.50, or the word none.
func parse(amount, policy string) (coleo.Budget, error) {
	b := coleo.Budget{Policy: coleo.BudgetPolicy(policy)}
	if amount == "none" {
		return b, b.Check()
	}
	var err error
	b.Dollars, err = strconv.ParseFloat(strings.TrimPrefix(amount, "$"), 64)
	if err != nil || b.Dollars == 0 {
		return b, coleo.Errorf(coleo.EInvalid, "the budget %q is not an amount: write US dollars, such as 2.50, or none; "+
			"nothing was changed", amount)
	}
	return b, b.Check()
}

// text formats a report for people.
func text(r coleo.BudgetReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has used %s", r.Arm, coleo.Dollars(r.Spent))
	if len(r.Budgets) == 0 {
		b.WriteString(", and has no budget")
	}
	for _, s := range r.Budgets {
		fmt.Fprintf(&b, "\n%s: %s", s.Name(), s.Line())
	}
	switch {
	case r.Next != nil:
		fmt.Fprintf(&b, "\nthe next call of %s can cost %s", r.Model, coleo.Dollars(*r.Next))
	case r.Model != "":
		fmt.Fprintf(&b, "\nthe price of %s is not known", r.Model)
	}
	if r.Parked != nil {
		fmt.Fprintf(&b, "\nparked: %s", r.Parked.Line())
		if r.Parked.Kind != coleo.LimitBudget { // the line of a budget already names the command that continues the arm
			fmt.Fprintf(&b, "\n'coleo arm unpark %s' continues it", r.Arm)
		}
	}
	return b.String()
}
