// Package budget decides whether a call of a model fits into a budget. Its functions are pure: the
// caller passes the amount that is used, and the bounds of the call.
package budget

import (
	"cmp"
	"fmt"

	"coleo.dev"
)

// These constants are the default bounds for one call of a model, in tokens.
const (
	// FirstContext is the bound for the context of the first call of a conversation. Before this
	// call, the agent CLI has not reported the size of the context. The instructions and tools of
	// agent CLIs have 10,000 to 25,000 tokens.
	FirstContext = 32_000
	// MaxOutput is the default bound for one reply, including the model's reasoning. Replies in
	// usual turns are shorter, although some models can give longer ones.
	MaxOutput = 32_000
)

// Call is a call of a model. In a decision about a turn that is about to begin, Call is the first
// call of that turn. In a decision about a running turn, Call is the call that has just been
// counted.
type Call struct {
	Model   string       // the model, as PROVIDER/MODEL or MODEL; "" if it is not known
	Price   *coleo.Price // the price of the model; nil if it is not known
	Context int          // the largest number of input tokens that the call can have
	Output  int          // the largest number of output tokens that the call can have
	Counted bool         // whether the spent amount of the budget already includes the call
}

// Next returns the first call of a turn. contextTokens is the size of the conversation after the last call,
// or 0 if that size is not known. promptBytes is the size of the new prompt in bytes. The prompt has at most
// one token per byte, because no token is shorter than a byte. maxReply is the longest reply in tokens, or 0
// for MaxOutput.
func Next(model string, price *coleo.Price, contextTokens, promptBytes, maxReply int) Call {
	return Call{Model: model, Price: price, Context: cmp.Or(contextTokens, FirstContext) + promptBytes,
		Output: cmp.Or(maxReply, MaxOutput)}
}

// Bound returns the most that the call can cost, in US dollars. Input that goes into the provider's cache, or
// comes from the cache, has another price. Bound assumes the most expensive case for all input. If the price
// of the call is not known, `ok` is false.
func (c Call) Bound() (dollars float64, ok bool) {
	if c.Price == nil {
		return 0, false
	}
	dear := c.Price.Of(coleo.Usage{Input: c.Context, Output: c.Output}, c.Context)
	written := c.Price.Of(coleo.Usage{Input: c.Context, Written: c.Context, Output: c.Output}, c.Context)
	return max(dear, written), true
}

// Decision says whether a budget allows a call.
type Decision struct {
	// Policy is what to do about the call. It is "" if the budget allows the call.
	Policy coleo.BudgetPolicy
	State  coleo.BudgetState // the budget that does not allow the call
	Why    string            // the reason for people: one clause without a period
}

// Allows reports whether the budget allows the call.
func (d Decision) Allows() bool { return d.Policy == "" }

// Decide decides whether a budget allows a call. If a call is about to begin, the most that it can
// cost must fit into the rest of the budget. A running turn may continue until the budget is used
// up. A call with an unknown price fits into no budget.
func Decide(s coleo.BudgetState, c Call) Decision {
	if s.Dollars == 0 {
		return Decision{}
	}
	bound, priced := c.Bound()
	d := Decision{Policy: s.Policy, State: s}
	if d.Policy == "" {
		d.Policy = coleo.BudgetPark
	}
	switch {
	case !priced && c.Model == "":
		d.Why = s.Name() + " cannot be enforced, because the model is not known"
	case !priced:
		d.Why = fmt.Sprintf("%s cannot be enforced, because the price of %s is not known", s.Name(), c.Model)
	case s.Spent >= s.Dollars:
		d.Why = fmt.Sprintf("%s is used up: %s of %s", s.Name(), coleo.Dollars(s.Spent), coleo.Dollars(s.Dollars))
	case !c.Counted && s.Spent+bound > s.Dollars:
		d.Why = fmt.Sprintf("%s has %s left of %s, and the next call of %s can cost %s", s.Name(),
			coleo.Dollars(s.Dollars-s.Spent), coleo.Dollars(s.Dollars), c.Model, coleo.Dollars(bound))
	default:
		return Decision{}
	}
	return d
}

// strictness orders the policies. A stricter policy has a larger number.
var strictness = map[coleo.BudgetPolicy]int{coleo.BudgetWarn: 1, coleo.BudgetPark: 2, coleo.BudgetStop: 3}

// DecideAll decides about all budgets that apply to an arm. It returns the strictest decision. If
// several decisions are equally strict, it returns the first of them.
func DecideAll(list []coleo.BudgetState, c Call) Decision {
	var out Decision
	for _, s := range list {
		if d := Decide(s, c); strictness[d.Policy] > strictness[out.Policy] {
			out = d
		}
	}
	return out
}

// UsageTiming says when an agent CLI reports its usage.
type UsageTiming string

// The values of UsageTiming.
const (
	UsagePerReply UsageTiming = "replies" // the agent CLI reports after each reply of the model, during the turn
	UsagePerTurn  UsageTiming = "turns"   // the agent CLI reports only at the end of a turn
	UsageNever    UsageTiming = "nothing"
)

// TimingOf returns when the agent CLI of a harness with the given Info reports its usage.
func TimingOf(i coleo.Info) UsageTiming {
	switch {
	case i.Work.Usage:
		return UsagePerReply
	case i.Capabilities.Usage:
		return UsagePerTurn
	}
	return UsageNever
}

// CanKeep returns EUnsupported if a budget cannot be kept. The reasons are:
//   - The agent CLI reports its usage too late or not at all.
//   - The model or its price is unknown. An unknown model has the name "".
//
// A budget that only warns can always be kept.
func CanKeep(b coleo.Budget, harness string, t UsageTiming, model string, price *coleo.Price) error {
	if b.Dollars == 0 || !b.Policy.Hard() {
		return nil
	}
	why := ""
	switch {
	case t == UsagePerTurn:
		why = "the harness " + harness + " reports its usage only at the end of a turn"
	case t == UsageNever:
		why = "the harness " + harness + " does not report its usage"
	case model == "":
		why = "the model of the arm is not known, so name one with --model"
	case price == nil:
		why = "nobody knows the price of " + model + ", so add it to [prices] in config.toml"
	default:
		return nil
	}
	return coleo.Errorf(coleo.EUnsupported, "the budget cannot be "+
		"enforced: %s; use the policy warn, which only warns", why)
}
