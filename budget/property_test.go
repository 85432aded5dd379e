package budget

import (
	"math/rand/v2"
	"testing"

	"coleo.dev"
)

// randomRuns is how many random fleets the property test tries.
const randomRuns = 200

// flight is a call that an arm has sent to the model, and whose cost no budget contains yet. The
// test knows the cost in advance, but the code under test only knows the bound.
type flight struct{ bound, cost float64 }

// actor is an arm of the test. Its agent CLI sends calls by itself, several at a time, until
// the turn ends or is interrupted.
type actor struct {
	price   *coleo.Price
	context int
	own     coleo.Budget // the arm's own budget; the zero value means that it has none
	spent   float64
	inTurn  bool
	flights []flight
}

// fleet is a set of arms with one common budget.
type fleet struct {
	r      *rand.Rand
	arms   []*actor
	common coleo.Budget
	spent  float64
	// allowed contains, for each arm, by how many dollars the arm may exceed its own budget. It is
	// negative until the budget is used up. Then it is the sum of the bounds of the calls that were in
	// flight at that moment.
	allowed    map[*actor]float64
	allowedAll float64
}

func (f *fleet) budgets(a *actor) []coleo.BudgetState {
	return []coleo.BudgetState{{Budget: a.own, Scope: coleo.BudgetOfArm, Spent: a.spent},
		{Budget: f.common, Scope: coleo.BudgetOfFleet, Spent: f.spent}}
}

// begin begins a turn of the arm if its budgets allow the first call.
func (f *fleet) begin(a *actor) {
	if !a.inTurn && DecideAll(f.budgets(a), Next("m", a.price, a.context, 0, 0)).Allows() {
		a.inTurn = true
		f.send(a)
	}
}

// send sends one call of an arm. The call uses at most the tokens of its bound.
func (f *fleet) send(a *actor) {
	call := Next("m", a.price, a.context, 0, 0)
	bound, _ := call.Bound()
	used := coleo.Usage{Input: f.r.IntN(call.Context + 1), Output: f.r.IntN(call.Output + 1)}
	if f.r.IntN(4) == 0 { // some calls are as large as possible
		used.Input, used.Written, used.Output = call.Context, call.Context, call.Output
	}
	a.flights = append(a.flights, flight{bound, a.price.Of(used, call.Context)})
}

// count ends one call of an arm, and adds the call's cost to the budgets. Then it interrupts each
// turn that a budget no longer allows. An interrupted turn sends no more calls, as in the host
// agent.
func (f *fleet) count(a *actor) {
	at := f.r.IntN(len(a.flights))
	done := a.flights[at]
	f.note(a, &f.allowedAll, f.spent+done.cost >= f.common.Dollars, f.arms)
	own := f.allowed[a]
	f.note(a, &own, a.spent+done.cost >= a.own.Dollars, []*actor{a})
	f.allowed[a] = own
	a.flights = append(a.flights[:at:at], a.flights[at+1:]...)
	a.spent, f.spent = a.spent+done.cost, f.spent+done.cost
	a.context = min(a.context+f.r.IntN(20_000), 180_000)
	for _, other := range f.arms {
		if !DecideAll(f.budgets(other), Call{Model: "m", Price: other.price, Counted: true}).Allows() {
			other.inTurn = false
		}
	}
}

// note is called for each counted call, and acts when a budget has just been used up. It then sets
// *allowed to the sum of the bounds of the calls in flight. These are the calls of the arms in
// `of`.
func (f *fleet) note(_ *actor, allowed *float64, usedUp bool, of []*actor) {
	if *allowed >= 0 || !usedUp {
		return
	}
	*allowed = 0
	for _, a := range of {
		for _, c := range a.flights {
			*allowed += c.bound
		}
	}
}

// TestABudgetIsPassedOnlyByTheCallsInFlight runs random fleets until every budget is used up. At
// the moment when a budget is used up, some calls are still in flight. The budget may be exceeded
// by at most the bounds of these calls.
func TestABudgetIsPassedOnlyByTheCallsInFlight(t *testing.T) {
	t.Parallel()
	usedUp := 0
	for seed := range uint64(randomRuns) {
		f := randomFleet(seed)
		for range 2000 {
			a := f.arms[f.r.IntN(len(f.arms))]
			switch n := f.r.IntN(10); {
			case !a.inTurn && len(a.flights) == 0:
				f.begin(a)
			case a.inTurn && len(a.flights) == 0, a.inTurn && n < 2 && len(a.flights) < 4:
				f.send(a)
			case len(a.flights) > 0 && n < 8:
				f.count(a)
			case n == 9:
				a.inTurn = false // the turn ends by itself
			}
		}
		usedUp += f.check(t, seed)
	}
	if usedUp < randomRuns {
		t.Errorf("only %d budgets were used up in %d runs, so this test shows little", usedUp, randomRuns)
	}
}

func randomFleet(seed uint64) *fleet {
	r := rand.New(rand.NewPCG(seed, 1))
	f := &fleet{r: r, common: coleo.Budget{Dollars: 5 + 20*r.Float64()}, allowed: map[*actor]float64{}, allowedAll: -1}
	for range 1 + r.IntN(5) {
		price := &coleo.Price{Rates: coleo.Rates{Input: 5 * r.Float64(), Output: 25 * r.Float64()}}
		price.CacheRead, price.CacheWrite = price.Input/10, price.Input*1.25
		a := &actor{price: price}
		if r.IntN(3) > 0 {
			a.own = coleo.Budget{Dollars: 1 + 6*r.Float64(), Policy: coleo.BudgetStop}
		}
		f.arms = append(f.arms, a)
		f.allowed[a] = -1
	}
	return f
}

// check reports each budget that was exceeded by too much. It returns how many budgets were used
// up.
func (f *fleet) check(t *testing.T, seed uint64) (usedUp int) {
	t.Helper()
	const rounding = 1e-9
	one := func(what string, b coleo.Budget, spent, allowed float64) {
		if b.Dollars == 0 || spent < b.Dollars {
			return
		}
		usedUp++
		if over := spent - b.Dollars; over > allowed+rounding {
			t.Errorf("seed %d: %s of %g was passed by %g, and the calls in flight could cost %g", seed, what, b.Dollars,
				over, allowed)
		}
	}
	one("the common budget", f.common, f.spent, f.allowedAll)
	for _, a := range f.arms {
		one("a budget of an arm", a.own, a.spent, f.allowed[a])
	}
	return usedUp
}
