package budget

import (
	"strings"
	"testing"

	"coleo.dev"
)

// sonnet is a price of 3 dollars for a million input tokens, and 15 for output.
var sonnet = &coleo.Price{Rates: coleo.Rates{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}}

func armBudget(dollars, spent float64, p coleo.BudgetPolicy) coleo.BudgetState {
	return coleo.BudgetState{Budget: coleo.Budget{Dollars: dollars, Policy: p}, Scope: coleo.BudgetOfArm, Of: "fix",
		Spent: spent}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	first := Next("m", sonnet, 0, 0, 0) // 0.60 dollars: 32,000 tokens at $3.75 and 32,000 at $15 per million
	counted := Call{Model: "m", Price: sonnet, Counted: true}
	for name, c := range map[string]struct {
		s    coleo.BudgetState
		call Call
		want coleo.BudgetPolicy
		why  string
	}{
		"no budget allows everything":                 {armBudget(0, 99, ""), first, "", ""},
		"a call that just fits is allowed":            {armBudget(1, 0.39, ""), first, "", ""},
		"a call that does not fit is not allowed":     {armBudget(1, 0.41, ""), first, "park", "has $0.59 left of $1.00"},
		"a turn that runs may use the whole budget":   {armBudget(1, 0.99, ""), counted, "", ""},
		"a turn that runs ends at the budget":         {armBudget(1, 1, "stop"), counted, "stop", "used up: $1.00 of $1.00"},
		"a warning is a decision too":                 {armBudget(1, 2, "warn"), counted, "warn", "used up"},
		"a model without a price fits into no budget": {armBudget(9, 0, ""), Next("x", nil, 0, 0, 0), "park", "price of x"},
		"an unknown model fits into no budget": {armBudget(9, 0, ""), Next("", nil, 0, 0, 0), "park",
			"model is not known"},
		"a call without a price stops a turn": {armBudget(9, 0, ""), Call{Model: "x", Counted: true}, "park",
			"price of x"},
	} {
		d := Decide(c.s, c.call)
		if d.Policy != c.want || d.Allows() != (c.want == "") || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %+v, want %q with %q", name, d, c.want, c.why)
		}
	}
}

func TestTheBoundOfACall(t *testing.T) {
	t.Parallel()
	tiered := &coleo.Price{Rates: coleo.Rates{Input: 1, Output: 10, CacheRead: 0.1, CacheWrite: 1},
		Tiers: []coleo.PriceTier{{Above: 200_000, Rates: coleo.Rates{Input: 2, Output: 20, CacheRead: 2, CacheWrite: 4}}}}
	for name, c := range map[string]struct {
		call Call
		want float64
	}{
		"the first call has a context that is assumed":     {Next("m", tiered, 0, 0, 0), 0.352},
		"a byte of the prompt counts as a token":           {Next("m", tiered, 10_000, 2_000, 1_000), 0.022},
		"a large call has the price of its tier":           {Next("m", tiered, 200_000, 0, 1_000), 0.82},
		"the dearest rate of the input counts, as written": {Next("m", sonnet, 100_000, 0, 1_000), 0.39},
	} {
		if got, ok := c.call.Bound(); !ok || got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%s: %g (%t), want %g", name, got, ok, c.want)
		}
	}
	if _, ok := Next("m", nil, 0, 0, 0).Bound(); ok {
		t.Error("a call without a price has a bound")
	}
}

func TestTheStrictestBudgetDecides(t *testing.T) {
	t.Parallel()
	call := Call{Model: "m", Price: sonnet, Counted: true}
	warn, park, stop := armBudget(1, 2, "warn"), armBudget(2, 2, "park"), armBudget(3, 3, "stop")
	for name, c := range map[string]struct {
		list []coleo.BudgetState
		want float64
	}{
		"a hard budget comes before a warning":   {[]coleo.BudgetState{warn, park}, 2},
		"an end comes before parking":            {[]coleo.BudgetState{park, stop, warn}, 3},
		"of two alike the first one decides":     {[]coleo.BudgetState{park, armBudget(1, 9, "")}, 2},
		"a budget with room decides nothing":     {[]coleo.BudgetState{armBudget(9, 1, "stop"), warn}, 1},
		"without a budget everything is allowed": {nil, 0},
	} {
		if d := DecideAll(c.list, call); d.State.Dollars != c.want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func TestWhichBudgetsCanBeKept(t *testing.T) {
	t.Parallel()
	hard, soft := coleo.Budget{Dollars: 1}, coleo.Budget{Dollars: 1, Policy: coleo.BudgetWarn}
	for name, c := range map[string]struct {
		b      coleo.Budget
		timing UsageTiming
		model  string
		price  *coleo.Price
		want   string // "" if the budget can be kept
	}{
		"a harness that tells each reply":         {hard, UsagePerReply, "m", sonnet, ""},
		"a harness that tells only turns":         {hard, UsagePerTurn, "m", sonnet, "only at the end of a turn"},
		"a harness that tells nothing":            {hard, UsageNever, "m", sonnet, "does not report"},
		"a model that is not known":               {hard, UsagePerReply, "", nil, "name one with --model"},
		"a model without a price":                 {hard, UsagePerReply, "m", nil, "price of m"},
		"a budget that warns needs none of these": {soft, UsageNever, "", nil, ""},
		"no budget needs none of these":           {coleo.Budget{}, UsageNever, "", nil, ""},
		"stop is as hard as park": {coleo.Budget{Dollars: 1, Policy: "stop"}, UsagePerTurn, "m", sonnet,
			"end of a turn"},
	} {
		err := CanKeep(c.b, "fake", c.timing, c.model, c.price)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, c := range []struct {
		info coleo.Info
		want UsageTiming
	}{
		{coleo.Info{Work: coleo.ReportedWork{Usage: true}}, UsagePerReply},
		{coleo.Info{Capabilities: coleo.Capabilities{Usage: true}}, UsagePerTurn},
		{coleo.Info{}, UsageNever},
	} {
		if got := TimingOf(c.info); got != c.want {
			t.Errorf("%+v tells %s, want %s", c.info, got, c.want)
		}
	}
}
