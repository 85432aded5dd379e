package brain

import (
	"maps"
	"testing"

	"coleo.dev"
)

// A start that fails must not undo a change of the labels that a user has made during the start.
func TestAFailedStartKeepsNewLabels(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	was := coleo.Arm{ID: "a", Name: "a", Harness: "aider", AgentID: scriptedHost, Status: coleo.StatusStopped,
		State: coleo.Dead, Labels: coleo.Labels{"team": "one"}}
	check(t, s.db.CreateArm(t.Context(), was))
	ordered := was
	ordered.Status, ordered.State, ordered.Rule = coleo.StatusStarting, coleo.Initializing, "ordered"
	before, err := s.brain.writeOrderedRow(t.Context(), ordered, true)
	check(t, err)
	_, err = s.db.UpdateArm(t.Context(), "a", func(row *coleo.Arm) error {
		row.Labels = coleo.Labels{"team": "two"}
		return nil
	})
	check(t, err)
	s.brain.undoOrderedRow(t.Context(), ordered, before)
	row, err := s.db.Arm(t.Context(), "a")
	check(t, err)
	if row.Status != coleo.StatusStopped || !maps.Equal(row.Labels, coleo.Labels{"team": "two"}) {
		t.Errorf("the row is %s with the labels %v", row.Status, row.Labels)
	}
}
