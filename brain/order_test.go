package brain

import (
	"maps"
	"testing"

	"coleo.dev"
)

// A start that fails must not undo a change that a user has made since the order.
func TestAFailedStartKeepsWhatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	was := coleo.Arm{ID: "a", Name: "a", Harness: "aider", AgentID: scriptedHost, Status: coleo.StatusStopped,
		State: coleo.Dead, Labels: coleo.Labels{"team": "one"}}
	check(t, s.db.CreateArm(t.Context(), was))
	ordered := was
	ordered.Status, ordered.State, ordered.Rule = coleo.StatusStarting, coleo.Initializing, "ordered"
	budget := &coleo.BudgetChange{Why: "x"}
	s.change(func(row *coleo.Arm) { row.Budget = budget })
	before, ordered, err := s.brain.writeOrderedRow(t.Context(), ordered, was)
	check(t, err)
	if ordered.Budget == nil {
		t.Error("the order takes back a budget that has changed since the row was read")
	}
	queue := &coleo.QueueState{Held: "x"}
	s.change(func(row *coleo.Arm) { row.Labels, row.Name, row.Queue = coleo.Labels{"team": "two"}, "b", queue })
	s.brain.undoOrderedRow(t.Context(), ordered, before)
	row, err := s.db.Arm(t.Context(), "a")
	check(t, err)
	if row.Status != coleo.StatusStopped || !maps.Equal(row.Labels, coleo.Labels{"team": "two"}) || row.Name != "b" ||
		row.Queue == nil || row.Budget == nil {
		t.Errorf("the row is %+v", row)
	}
}

// change changes the row of the arm a.
func (s *scripted) change(do func(row *coleo.Arm)) {
	s.t.Helper()
	_, err := s.db.UpdateArm(s.t.Context(), "a", func(row *coleo.Arm) error {
		do(row)
		return nil
	})
	check(s.t, err)
}
