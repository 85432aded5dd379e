package brain

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
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

// A start fails, and serve asks the host agent to remove the new arm again. If the host agent keeps the arm, serve must
// keep the arm's row. Otherwise nobody could see, end or remove the arm.
func TestAnArmThatItsHostKeepsAfterAFailedStartKeepsItsRow(t *testing.T) {
	t.Parallel()
	refusal := coleo.Errorf(coleo.EConflict, "a test")
	for what, c := range map[string]struct {
		report any   // what the host agent reports of the start
		start  error // or its refusal
		remove error
		kept   bool
	}{
		"it was not started, and has unsaved work": {nil, refusal, refusal, true},
		"it runs, and its report cannot be read":   {"no report", nil, refusal, true},
		"it was not started, and is removed":       {nil, refusal, nil, false},
		"the host agent does not know it":          {nil, refusal, coleo.Errorf(coleo.ENotFound, "a test"), false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t)
			s.answerWith(bus.OpSpawn, func(context.Context, json.RawMessage) (any, error) { return c.report, c.start })
			s.answerWith(bus.OpRemove, func(context.Context, json.RawMessage) (any, error) { return bus.Removed{}, c.remove })
			q := wire.SpawnRequest{Name: "ada", Harness: "aider", Workdir: "/w"}
			if _, err := s.brain.Spawn(t.Context(), q); err == nil {
				t.Error("the arm was started")
			}
			if _, err := s.db.Arm(t.Context(), "ada"); (err == nil) != c.kept {
				t.Errorf("the row: %v, want that it is kept: %v", err, c.kept)
			}
		})
	}
}
