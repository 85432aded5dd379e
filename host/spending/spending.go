// Package spending counts what the models of a host's arms cost, and returns the budgets that apply
// to an arm. It keeps the sums in memory, and the caller stores them.
package spending

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/budget"
	"coleo.dev/cost"
	"coleo.dev/paths"
	"coleo.dev/store"
)

// fleet is the account of all arms together. The other constants are prefixes of account names, for
// example "arm:" and the id of the arm. Arms that work in the same several projects share one
// account for these projects. So a budget that covers all of these projects counts each call once.
const (
	fleet    = "fleet"
	ofArm    = "arm:"
	project  = "project:"
	projects = "projects:" // followed by the folders, as JSON
)

// Ledger holds the sums of all accounts. It is safe for concurrent use.
type Ledger struct {
	prices func() cost.Prices
	common coleo.Budgets

	real sync.Map // the folders without symbolic links, by their paths

	mu   sync.Mutex
	sums map[string]map[string]float64 // US dollars, by account and day
}

// New returns a ledger with the stored sums. The ledger calls the function `prices` each time that
// it counts a call or reports a price. If `prices` is nil, no price is known.
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

// Arm says to which accounts the calls of an arm belong.
type Arm struct {
	ID, Name string
	// Folders are the arm's projects: the work folder, or the folders from which the arm's
	// worktrees were made. They can contain symbolic links.
	Folders []string
	Budget  *coleo.Budget
	// Parents are the arms above a subarm, the nearest first. The Parents fields of these arms are
	// ignored.
	Parents []Arm
}

// Model is the model of an arm according to the arm's record.
type Model struct{ Provider, Name string }

// Price returns the price of a model, or nil if the price is unknown.
func (l *Ledger) Price(m Model) *coleo.Price {
	if p, ok := l.prices().Find(m.Provider, m.Name); ok && m.Name != "" {
		return &p
	}
	return nil
}

// Count counts the usage of a model's reply. It returns the counted call, and the amounts to store.
// If the reply names no model, Count uses m.
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
		call.Price = &coleo.Price{Source: source} // a price without rates suffices, because the call is counted already
	}
	return call, l.add(a, dollars, now)
}

// add adds a cost in US dollars to the accounts of an arm. It returns the amounts to store.
func (l *Ledger) add(a Arm, dollars float64, now time.Time) []store.Spending {
	if dollars == 0 {
		return nil
	}
	accounts := []string{fleet, projectAccount(l.realFolders(a.Folders)), ofArm + a.ID}
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

// Of returns the cost of an arm and its subarms, in US dollars.
func (l *Ledger) Of(a Arm) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total(ofArm + a.ID)
}

// Budgets returns the budgets that apply to an arm, each with its spent amount. The arm's own
// budget comes first.
func (l *Ledger) Budgets(a Arm, now time.Time) []coleo.BudgetState {
	folders, inside := l.realFolders(a.Folders), map[string]string{}
	for project := range l.common.Projects {
		if folder := l.realFolder(project); anyWithin(folder, folders) {
			inside[project] = folder
		}
	}
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
	for _, project := range slices.Sorted(maps.Keys(inside)) {
		add(coleo.BudgetOfProject, project, shared(l.common.Projects[project]), l.sumWithin(project, inside[project]))
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

// projectAccount returns the account of the projects in which an arm works.
func projectAccount(folders []string) string {
	folders = slices.Compact(slices.Sorted(slices.Values(folders)))
	if len(folders) == 1 {
		return project + folders[0]
	}
	list, _ := json.Marshal(folders) // cannot fail, because JSON can express all texts
	return projects + string(list)
}

// foldersOf returns the folders of a project account. It returns nil for any other account.
func foldersOf(account string) (folders []string) {
	if folder, is := strings.CutPrefix(account, project); is {
		return []string{folder}
	}
	if list, is := strings.CutPrefix(account, projects); is {
		_ = json.Unmarshal([]byte(list), &folders)
	}
	return folders
}

// sumWithin returns the sum of all projects within a folder. `real` is the path of the folder without symbolic links.
// Earlier versions stored sums under paths with links. The caller holds mu.
func (l *Ledger) sumWithin(folder, real string) float64 {
	sum := 0.0
	for account := range l.sums {
		if folders := foldersOf(account); anyWithin(real, folders) || anyWithin(folder, folders) {
			sum += l.total(account)
		}
	}
	return sum
}

// anyWithin reports whether one of the paths is the given folder or is below it.
func anyWithin(folder string, all []string) bool {
	return slices.ContainsFunc(all, func(path string) bool { return paths.Within(folder, path) })
}

// realFolders resolves the symbolic links of folders.
func (l *Ledger) realFolders(list []string) (out []string) {
	for _, folder := range list {
		out = append(out, l.realFolder(folder))
	}
	return out
}

// realFolder resolves the symbolic links of a folder. It looks at the disk only once for each folder, because a disk
// can be slow.
func (l *Ledger) realFolder(folder string) string {
	if real, known := l.real.Load(folder); known {
		return real.(string)
	}
	real := realPath(folder)
	l.real.Store(folder, real)
	return real
}

// realPath resolves the symbolic links of a path. If a part of the path does not exist, it resolves the rest.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if above := filepath.Dir(path); above != path {
		return filepath.Join(realPath(above), filepath.Base(path))
	}
	return path
}

func day(t time.Time) string { return t.Local().Format(time.DateOnly) }
