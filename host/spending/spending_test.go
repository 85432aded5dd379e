package spending

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/cost"
	"coleo.dev/store"
)

// listPrices contains prices by PROVIDER/MODEL or MODEL, in US dollars per million output tokens.
type listPrices map[string]float64

func (l listPrices) Override(string, string) (coleo.Price, bool) { return coleo.Price{}, false }
func (l listPrices) Find(provider, model string) (coleo.Price, bool) {
	dollars, ok := l[coleo.ModelName(provider, model)]
	return coleo.Price{Rates: coleo.Rates{Output: dollars}, Source: coleo.PriceBuiltIn}, ok
}

var (
	monday  = time.Date(2026, 3, 2, 12, 0, 0, 0, time.Local)
	tuesday = monday.AddDate(0, 0, 1)
	million = coleo.ReplyUsage{Usage: coleo.Usage{Output: 1e6}}
)

func budgetState(dollars float64, p coleo.BudgetPolicy, scope coleo.BudgetScope, of string,
	spent float64) coleo.BudgetState {
	return coleo.BudgetState{Budget: coleo.Budget{Dollars: dollars, Policy: p}, Scope: scope, Of: of, Spent: spent}
}

func ledger(common coleo.Budgets, kept ...store.Spending) *Ledger {
	return New(kept, func() cost.Prices { return listPrices{"p/m": 2, "other": 5} }, common)
}

func TestACallCountsForItsArmItsParentsItsProjectAndTheFleet(t *testing.T) {
	t.Parallel()
	one := coleo.Budget{Dollars: 9}
	boss := Arm{ID: "a1", Name: "boss", Folders: []string{"/src/shop"}, Budget: &one}
	kid := Arm{ID: "a2", Name: "kid", Folders: []string{"/src/shop/web"}, Budget: &one, Parents: []Arm{boss}}
	far := Arm{ID: "a3", Name: "far", Folders: []string{"/src/shopping"}}
	l := ledger(coleo.Budgets{Policy: coleo.BudgetStop, Day: 20, Fleet: 30, Projects: map[string]float64{"/src/shop": 10}})
	for arm, when := range map[*Arm]time.Time{&boss: monday, &kid: tuesday, &far: tuesday} {
		l.Count(*arm, Model{"p", "m"}, million, when)
	}
	stored := New(nil, nil, coleo.Budgets{})
	_, list := l.Count(kid, Model{"p", "m"}, million, tuesday)
	for _, s := range list {
		stored.put(s)
	}
	if len(list) != 4 || stored.Of(boss) != 2 || stored.Of(kid) != 2 || stored.Of(far) != 0 {
		t.Errorf("what is stored: %+v", list)
	}
	for name, c := range map[string]struct {
		arm  Arm
		want []coleo.BudgetState
	}{
		"a subarm has its own budget and that of its parent": {kid, []coleo.BudgetState{
			budgetState(9, "park", coleo.BudgetOfArm, "kid", 4),
			budgetState(9, "park", coleo.BudgetOfArm, "boss", 6),
			budgetState(10, "stop", coleo.BudgetOfProject, "/src/shop", 6),
			budgetState(20, "stop", coleo.BudgetOfDay, "2026-03-03", 6),
			budgetState(30, "stop", coleo.BudgetOfFleet, "", 8)}},
		"a folder beside the project is not in it": {far, []coleo.BudgetState{
			budgetState(20, "stop", coleo.BudgetOfDay, "2026-03-03", 6),
			budgetState(30, "stop", coleo.BudgetOfFleet, "", 8)}},
	} {
		got := l.Budgets(c.arm, tuesday)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i, want := range c.want {
			if got[i] != want {
				t.Errorf("%s: budget %d is %+v, want %+v", name, i, got[i], want)
			}
		}
	}
}

// TestAnArmWithSeveralRepositoriesCountsTowardEach counts a call of an arm with two repositories.
// The call counts toward the budgets of both projects, and once toward the budget of the folder
// above.
func TestAnArmWithSeveralRepositoriesCountsTowardEach(t *testing.T) {
	t.Parallel()
	both := Arm{ID: "a1", Name: "both", Folders: []string{"/src/lib", "/src/shop"}}
	one := Arm{ID: "a2", Name: "one", Folders: []string{"/src/lib"}}
	l := ledger(coleo.Budgets{Projects: map[string]float64{"/src": 100, "/src/lib": 10, "/src/shop": 20, "/else": 5}})
	_, list := l.Count(both, Model{"p", "m"}, million, monday)
	l.Count(one, Model{"p", "m"}, million, monday)
	kept := New(list, nil, coleo.Budgets{Projects: map[string]float64{"/src/shop": 20}}) // the ledger after a restart
	for name, c := range map[string]struct {
		ledger *Ledger
		arm    Arm
		want   []coleo.BudgetState
	}{
		"the budgets of all folders apply": {l, both, []coleo.BudgetState{
			budgetState(100, "park", coleo.BudgetOfProject, "/src", 4),
			budgetState(10, "park", coleo.BudgetOfProject, "/src/lib", 4),
			budgetState(20, "park", coleo.BudgetOfProject, "/src/shop", 2)}},
		"another arm in one of them": {l, one, []coleo.BudgetState{
			budgetState(100, "park", coleo.BudgetOfProject, "/src", 4),
			budgetState(10, "park", coleo.BudgetOfProject, "/src/lib", 4)}},
		"what is stored": {kept, both, []coleo.BudgetState{budgetState(20, "park", coleo.BudgetOfProject, "/src/shop", 2)}},
	} {
		if got := c.ledger.Budgets(c.arm, monday); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestACallIsCountedAtTheFirstPriceThatIsKnown(t *testing.T) {
	t.Parallel()
	told := coleo.ReplyUsage{Usage: coleo.Usage{Output: 1e6, Cost: 0.7}}
	for name, c := range map[string]struct {
		model  Model
		usage  coleo.ReplyUsage
		want   float64
		priced bool
	}{
		"the model of the arm": {Model{"p", "m"}, million, 2, true},
		"a model that the reply tells": {Model{"", "m"}, coleo.ReplyUsage{Usage: million.Usage, Model: "other"},
			5, true},
		"the provider is a part of the arm's model": {Model{"", "p/m"}, coleo.ReplyUsage{Usage: million.Usage, Model: "m"},
			2, true},
		"the agent CLI tells the cost": {Model{"", "x"}, told, 0.7, true},
		"nobody knows the price":       {Model{"", "x"}, million, 0, false},
		"no token needs no price":      {Model{"", "x"}, coleo.ReplyUsage{}, 0, true},
	} {
		l := ledger(coleo.Budgets{})
		call, _ := l.Count(Arm{ID: "a"}, c.model, c.usage, monday)
		if got := l.Of(Arm{ID: "a"}); got != c.want || (call.Price != nil) != c.priced || !call.Counted {
			t.Errorf("%s: %g and %+v, want %g", name, got, call, c.want)
		}
	}
}

// The user names a project by its folder or by a symbolic link to the folder, and starts the arm through the other
// one. The arm must count toward the budget of the project.
func TestAProjectIsTheSameThroughALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(real, 0o700), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	for project, folder := range map[string]string{real: link, link: real, link + "/": filepath.Join(link, "gone/below")} {
		a := Arm{ID: "a1", Name: "ada", Folders: []string{folder}}
		common := coleo.Budgets{Projects: map[string]float64{project: 9}}
		l := ledger(common, store.Spending{Account: "project:" + filepath.Clean(project), Day: "2026-03-01", Dollars: 3})
		_, list := l.Count(a, Model{"p", "m"}, million, monday)
		next := ledger(common, list...)
		for what, c := range map[string]struct {
			l    *Ledger
			want float64
		}{"now": {l, 5}, "after a restart": {next, 2}} {
			got := c.l.Budgets(a, monday)
			if want := budgetState(9, "park", coleo.BudgetOfProject, project, c.want); len(got) != 1 || got[0] != want {
				t.Errorf("%s, an arm in %s has the budgets %+v, want %+v", what, folder, got, want)
			}
		}
	}
}
