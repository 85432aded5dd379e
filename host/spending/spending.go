// Package spending counts what the models of a host's arms cost, and says which budgets apply to an
// arm. It keeps the sums in memory. The caller stores them.
package spending

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/budget"
	"coleo.dev/cost"
	"coleo.dev/store"
)

// fleet is the account of all arms together. The account of an arm or a project begins with its
// prefix.
const (
	fleet   = "fleet"
	ofArm   = "arm:"
	project = "project:"
)

// Ledger holds the sums of all accounts. It is safe for concurrent use.
type Ledger struct {
	prices func() cost.Prices
	common coleo.Budgets

	mu   sync.Mutex
	sums map[string]map[string]float64 // US dollars, by account and day
}

// New returns a ledger that begins with stored sums. For each count, the ledger gets the present
// prices from the given function.
func New(list []store.Spending, prices func() cost.Prices, common coleo.Budgets) *Ledger {
	if prices == nil {
		prices = func() cost.Prices { return noPrices{} }
	}
	l := &Ledger{prices: prices, common: common, sums: map[string]map[string]float64{}}
	for _, s := range list {
		l.put(s)
	}
	return l
}

// noPrices knows no price.
type noPrices struct{}

func (noPrices) Override(string, string) (coleo.Price, bool) { return coleo.Price{}, false }
func (noPrices) Find(string, string) (coleo.Price, bool)     { return coleo.Price{}, false }

func (l *Ledger) put(s store.Spending) {
	if l.sums[s.Account] == nil {
		l.sums[s.Account] = map[string]float64{}
	}
	l.sums[s.Account][s.Day] += s.Dollars
}

// Arm says which accounts the calls of an arm belong to.
type Arm struct {
	ID, Name string
	Folder   string // the project: the work folder, or the folder that a worktree was made for
	Budget   *coleo.Budget
	// Parents are the arms above a subarm, the nearest first. The Parents fields of these arms are
	// not used.
	Parents []Arm
}

// Model is the model of an arm, as the arm's record names it.
type Model struct{ Provider, Name string }

// Price returns the price of a model, or nil if nobody knows it.
func (l *Ledger) Price(m Model) *coleo.Price {
	if p, ok := l.prices().Find(m.Provider, m.Name); ok && m.Name != "" {
		return &p
	}
	return nil
}

// Count counts the usage of a reply. It returns the counted call, and the amounts to store. If the
// usage does not name a model, Count uses the given model.
func (l *Ledger) Count(a Arm, m Model, u coleo.ReplyUsage, now time.Time) (budget.Call, []store.Spending) {
	of, name := coleo.SplitModel(m.Name)
	switch {
	case u.Model == "":
	case m.Provider == "" && name == u.Model:
		m = Model{of, name}
	default:
		m.Name = u.Model
	}
	entry := coleo.UsageEntry{Provider: m.Provider, Model: m.Name, Context: coleo.ContextStep(u.Input),
		Reported: u.Cost > 0, Calls: 1, Usage: u.Usage}
	dollars, source := cost.Of(entry, l.prices())
	call := budget.Call{Model: coleo.ModelName(m.Provider, m.Name), Context: u.Input, Output: u.Output, Counted: true}
	if source != coleo.PriceUnknown || u.Total() == 0 {
		call.Price = &coleo.Price{Source: source} // the call is counted, so its rates do not matter
	}
	return call, l.add(a, dollars, now)
}

// add adds a cost in US dollars to the accounts of an arm. It returns the amounts to store.
func (l *Ledger) add(a Arm, dollars float64, now time.Time) []store.Spending {
	if dollars == 0 {
		return nil
	}
	accounts := []string{fleet, project + a.Folder, ofArm + a.ID}
	for _, parent := range a.Parents {
		accounts = append(accounts, ofArm+parent.ID)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []store.Spending
	for _, account := range accounts {
		s := store.Spending{Account: account, Day: day(now), Dollars: dollars}
		l.put(s)
		out = append(out, s)
	}
	return out
}

// Next returns the first call of an arm's next turn: see budget.Next.
func (l *Ledger) Next(m Model, context, prompt int) budget.Call {
	return budget.Next(coleo.ModelName(m.Provider, m.Name), l.Price(m), context, prompt, l.common.MaxOutput)
}

// Of returns what an arm and its subarms have cost, in US dollars.
func (l *Ledger) Of(a Arm) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total(ofArm + a.ID)
}

// Budgets returns the budgets that apply to an arm, with the amount of each that is used. The arm's
// own budget comes first.
func (l *Ledger) Budgets(a Arm, now time.Time) []coleo.BudgetState {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []coleo.BudgetState
	add := func(scope coleo.BudgetScope, of string, b coleo.Budget, spent float64) {
		if b.Dollars > 0 {
			b.Policy = cmp.Or(b.Policy, coleo.BudgetPark)
			out = append(out, coleo.BudgetState{Budget: b, Scope: scope, Of: of, Spent: spent})
		}
	}
	for _, one := range append([]Arm{a}, a.Parents...) {
		if one.Budget != nil {
			add(coleo.BudgetOfArm, one.Name, *one.Budget, l.total(ofArm+one.ID))
		}
	}
	shared := func(dollars float64) coleo.Budget { return coleo.Budget{Dollars: dollars, Policy: l.common.Policy} }
	for _, folder := range slices.Sorted(maps.Keys(l.common.Projects)) {
		if within(folder, a.Folder) {
			add(coleo.BudgetOfProject, folder, shared(l.common.Projects[folder]), l.sumWithin(folder))
		}
	}
	add(coleo.BudgetOfDay, day(now), shared(l.common.Day), l.sums[fleet][day(now)])
	add(coleo.BudgetOfFleet, "", shared(l.common.Fleet), l.total(fleet))
	return out
}

// total returns the sum of an account over all days. The caller holds mu.
func (l *Ledger) total(account string) float64 {
	sum := 0.0
	for _, dollars := range l.sums[account] {
		sum += dollars
	}
	return sum
}

// sumWithin returns the sum of all projects within a folder: see within. The caller holds mu.
func (l *Ledger) sumWithin(folder string) float64 {
	sum := 0.0
	for account := range l.sums {
		if of, ok := strings.CutPrefix(account, project); ok && within(folder, of) {
			sum += l.total(account)
		}
	}
	return sum
}

// within reports whether a path is the given folder, or lies below it.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

func day(t time.Time) string { return t.Local().Format(time.DateOnly) }
