package store

import (
	"path/filepath"
	"testing"

	"coleo.dev"
	"coleo.dev/trace"
)

func TestWhatModelsHaveCostIsKeptWithTheWork(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.db")
	h := hostAt(t, path)
	ctx := t.Context()
	if err := h.PutArm(ctx, record("a1", "ada")); err != nil {
		t.Fatal(err)
	}
	first := []Spending{{"arm:a1", "2026-01-02", 0.5}, {"fleet", "2026-01-02", 0.5}}
	if err := h.AppendWork(ctx, "a1", trace.State{}, first, event(coleo.EventUsage, "a1", nil)); err != nil {
		t.Fatal(err)
	}
	code(t, "work of an unknown arm", h.AppendWork(ctx, "a9", trace.State{}, first), coleo.ENotFound)
	more := []Spending{{"fleet", "2026-01-02", 0.25}, {"fleet", "2026-01-03", 1}}
	if err := h.PutArmWith(ctx, record("a1", "ada"), nil, more, event(coleo.EventRunEnd, "a1", nil)); err != nil {
		t.Fatal(err)
	}
	h.Close()
	got, err := hostAt(t, path).Spendings(ctx)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "spendings", got, []Spending{{"arm:a1", "2026-01-02", 0.5}, {"fleet", "2026-01-02", 0.75},
		{"fleet", "2026-01-03", 1}})
}

func budgetEvent(arm string, step coleo.BudgetStep, dollars float64, scope coleo.BudgetScope) coleo.Event {
	c := coleo.BudgetChange{Step: step}
	c.Dollars, c.Scope, c.Spent = dollars, scope, 1
	if step != coleo.BudgetSet && step != coleo.BudgetCounted {
		c.Why = string(step)
	}
	return event(coleo.EventBudget, arm, c)
}

func TestABudgetBecomesAPartOfTheRow(t *testing.T) {
	t.Parallel()
	own := coleo.BudgetOfArm
	set, counted := budgetEvent("a", coleo.BudgetSet, 2, own), budgetEvent("a", coleo.BudgetCounted, 2, own)
	reached, common := budgetEvent("a", coleo.BudgetReached, 2, own), budgetEvent("a", coleo.BudgetRefused, 9,
		coleo.BudgetOfDay)
	for name, c := range map[string]struct {
		events []coleo.Event
		step   coleo.BudgetStep // "" if the row contains no budget
		scope  coleo.BudgetScope
		why    string
	}{
		"a budget that was set": {[]coleo.Event{set}, coleo.BudgetSet, own, ""},
		"a sum replaces a sum":  {[]coleo.Event{set, counted, counted}, coleo.BudgetCounted, own, ""},
		"a sum keeps why the turn was interrupted": {[]coleo.Event{set, reached, counted}, coleo.BudgetReached, own,
			"reached"},
		"a sum does not hide a common budget": {[]coleo.Event{set, common, counted}, coleo.BudgetRefused, "day",
			"refused"},
		"another budget forgets the reason": {[]coleo.Event{set, common, set}, coleo.BudgetSet, own, ""},
		"without a budget, the row has none": {[]coleo.Event{set, budgetEvent("a", coleo.BudgetSet, 0, own)}, "", "",
			""},
	} {
		a := Apply(coleo.Arm{}, fromHost("h1", spawn("a", 1)))
		for _, e := range c.events {
			a = Apply(a, fromHost("h1", e))
		}
		switch {
		case c.step == "" && a.Budget == nil:
		case a.Budget == nil || a.Budget.Step != c.step || a.Budget.Scope != c.scope || a.Budget.Why != c.why:
			t.Errorf("%s: %+v", name, a.Budget)
		}
	}
}
