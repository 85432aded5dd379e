package coleo

import (
	"fmt"
	"strings"
	"time"
)

// BudgetPolicy says what happens when a budget is used up. The log stores policies, so the
// meaning of a policy never changes.
type BudgetPolicy string

// The policies. An empty policy is BudgetPark.
const (
	BudgetWarn BudgetPolicy = "warn" // the arm continues, and an event reports that the budget is used up
	BudgetPark BudgetPolicy = "park" // the turn is interrupted, and the arm waits for a person
	BudgetStop BudgetPolicy = "stop" // the arm is ended
)

// Valid reports whether p is one of the policies, or empty.
func (p BudgetPolicy) Valid() bool {
	return p == "" || p == BudgetWarn || p == BudgetPark || p == BudgetStop
}

// Hard reports whether the policy stops further calls when the budget is used up.
func (p BudgetPolicy) Hard() bool { return p != BudgetWarn }

// Budget is a limit for the cost of models.
type Budget struct {
	Dollars float64      `json:"dollars"`          // US dollars; 0 means no budget
	Policy  BudgetPolicy `json:"policy,omitempty"` // BudgetPark if empty
}

// MaxBudget is the largest accepted budget, in US dollars. A larger number is probably a mistake.
const MaxBudget = 1e6

// Check returns EInvalid if b cannot be a budget. A zero Budget means no budget.
func (b Budget) Check() error {
	if !b.Policy.Valid() {
		return Errorf(EInvalid, "the policy %q of a budget is none of %s, %s and %s: nothing was changed", b.Policy,
			BudgetWarn, BudgetPark, BudgetStop)
	}
	if !(b.Dollars >= 0 && b.Dollars <= MaxBudget) { // also refuses NaN, for which both comparisons are false
		return Errorf(EInvalid, "%g US dollars cannot be a budget: nothing was changed", b.Dollars)
	}
	return nil
}

// String returns the budget in words, such as "$2.50 (park)".
func (b Budget) String() string {
	if b.Dollars == 0 {
		return "none"
	}
	policy := b.Policy
	if policy == "" {
		policy = BudgetPark
	}
	return fmt.Sprintf("%s (%s)", Dollars(b.Dollars), policy)
}

// Dollars returns an amount for people. It has two decimal places, or four if the amount is less
// than a dollar.
func Dollars(amount float64) string {
	if amount != 0 && amount < 1 {
		text := fmt.Sprintf("$%.4f", amount)
		return strings.TrimSuffix(text, "00")
	}
	return fmt.Sprintf("$%.2f", amount)
}

// BudgetScope says which arms' calls count towards a budget. The log stores scopes, so the meaning
// of a scope never changes.
type BudgetScope string

// The scopes.
const (
	BudgetOfArm     BudgetScope = "arm"     // one arm, with its subarms
	BudgetOfProject BudgetScope = "project" // the arms that work in one folder, or below it
	BudgetOfDay     BudgetScope = "day"     // all arms of the host agent, since midnight
	BudgetOfFleet   BudgetScope = "fleet"   // all arms of the host agent
)

// Budgets contains the budgets of config.toml. If a budget is 0 US dollars, the cost is not limited.
type Budgets struct {
	Policy   BudgetPolicy
	Day      float64
	Fleet    float64
	Projects map[string]float64 // the budget of each project; the key is the absolute path of its folder
	// MaxOutput is the number of tokens that Coleo assumes for the longest reply when it computes
	// what a call can cost. 0 means budget.MaxOutput.
	MaxOutput int
}

// Any reports whether at least one budget is set.
func (b Budgets) Any() bool { return b.Day > 0 || b.Fleet > 0 || len(b.Projects) > 0 }

// BudgetState is a budget that applies to an arm, and the amount that has been used.
type BudgetState struct {
	Budget
	Scope BudgetScope `json:"scope"`
	Of    string      `json:"of,omitempty"` // the name of the arm, the folder or the day that the budget is for
	// the amount in US dollars; each call counts at the price that was valid when the call was made
	Spent float64 `json:"spent"`
}

// Line returns the state for people, such as "$1.20 of $2.50 (park)".
func (s BudgetState) Line() string { return Dollars(s.Spent) + " of " + s.String() }

// Name names the budget for people, such as "the budget of arm fix".
func (s BudgetState) Name() string {
	switch s.Scope {
	case BudgetOfArm:
		return "the budget of arm " + s.Of
	case BudgetOfProject:
		return "the budget of project " + s.Of
	case BudgetOfDay:
		return "the budget of " + s.Of
	case BudgetOfFleet:
	}
	return "the budget of the fleet"
}

// BudgetStep is the step that an event about a budget reports. The log stores steps, so the meaning
// of a step never changes.
type BudgetStep string

// The steps.
const (
	BudgetSet         BudgetStep = "set"         // a person has given the arm this budget, or has removed its budget
	BudgetCounted     BudgetStep = "counted"     // a turn has ended, and the event contains the amount used so far
	BudgetWarned      BudgetStep = "warned"      // the budget does not allow a call, but the arm continues
	BudgetRefused     BudgetStep = "refused"     // the budget does not allow a call, so no turn was begun
	BudgetReached     BudgetStep = "reached"     // the budget was used up during a turn, which is about to be stopped
	BudgetInterrupted BudgetStep = "interrupted" // the turn was interrupted
	// BudgetUnstopped means that Coleo could not interrupt the turn. Coleo tries again at the
	// next change of the arm.
	BudgetUnstopped BudgetStep = "unstopped"
)

// BudgetChange is the payload of a budget event.
type BudgetChange struct {
	Step BudgetStep `json:"step"`
	Why  string     `json:"why,omitempty"` // what Coleo did and did not do, in one line
	BudgetState
}

// After returns the new value of Arm.Budget after this event. The parameter is the old value. If
// this event only counts a turn's cost, After keeps the earlier step and reason, so that users
// still see why a call was refused.
func (c BudgetChange) After(was *BudgetChange) *BudgetChange {
	switch {
	case c.Step == BudgetSet && c.Dollars == 0:
		return nil
	case c.Step != BudgetCounted || was == nil || was.Why == "":
		return &c
	case was.Scope != c.Scope || was.Of != c.Of:
		return was
	}
	c.Step, c.Why = was.Step, was.Why
	return &c
}

// BudgetOrder sets or removes the budget of an arm, or only asks for the arm's budgets.
type BudgetOrder struct {
	Budget *Budget `json:"budget,omitempty" doc:"The new budget; 0 dollars remove it; left out, nothing is changed"`
}

// BudgetReport lists the budgets that apply to an arm.
type BudgetReport struct {
	Arm     string        `json:"arm"`   // the arm's name
	Spent   float64       `json:"spent"` // the cost of the arm and its subarms, in US dollars
	Budgets []BudgetState `json:"budgets"`
	// Next is the highest possible cost of the model's next call, in US dollars. It is nil if the
	// price of the model is not known.
	Next   *float64  `json:"next,omitempty"`
	Model  string    `json:"model,omitempty"` // the model for which Next is computed; "" if the model is not known
	Parked *Parked   `json:"parked,omitempty"`
	Time   time.Time `json:"time"`
}
