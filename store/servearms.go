package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/sqlite"
)

// This file stores the rows of arms in serve's database.

func armFields(a *coleo.Arm) []field {
	return []field{
		{"id", textOf(&a.ID)},
		{"name", textOf(&a.Name)},
		{"domain", textOf(&a.Domain)},
		{"harness", textOf(&a.Harness)},
		{"status", statusCell{&a.Status}},
		{"planning_blocked", planningCell{&a.Status}},
		{"context_budget", number{p: &a.ContextBudget, kept: true}},
		{"current_context_used", number{p: &a.CurrentContextUsed, kept: true}},
		{"created_at", moment{&a.CreatedAt}},
		{"updated_at", moment{&a.UpdatedAt}},
		{"last_activity_at", moment{&a.LastActivityAt}},
		{"last_heartbeat", moment{&a.LastHeartbeat}},
		{"last_output_at", moment{&a.LastOutputAt}},
		{"recovery_requested_at", moment{&a.RecoveryRequestedAt}},
		{"config", raw{&a.Config}},
		{"labels", documentOf(&a.Labels)},
		{"generation", number{p: &a.Generation, kept: true}},
		{"parent_arm_id", textOf(&a.ParentArmID)},
		{"pid", number{p: &a.PID}},
		{"port", number{p: &a.Port}},
		{"provider", textOf(&a.Provider)},
		{"model", textOf(&a.Model)},
		{"default_model", textOf(&a.DefaultModel)},
		{"model_fallback", documentOf(&a.ModelFallback)},
		{"total_tokens", number{p: &a.TotalTokens, kept: true}},
		{"total_cost", amount{&a.TotalCost}},
		// The next four columns are empty. They exist because Coleo's published specification contains
		// them, and because the API contains their fields.
		{"current_task_id", textOf(&a.CurrentTaskID)},
		{"current_task_subject", textOf(&a.CurrentTaskSubject)},
		{"current_bug_id", textOf(&a.CurrentBugID)},
		{"current_bug_title", textOf(&a.CurrentBugTitle)},
		{"agent_id", textOf(&a.AgentID)},
		{"host", textOf(&a.Host)},
		{"session_id", textOf(&a.SessionID)},
		{"workdir", textOf(&a.Workdir)},
		{"state", textOf(&a.State)},
		{"rule", textOf(&a.Rule)},
		{"dialog", documentOf(&a.Dialog)},
		{"shown", shownCell{a}},
		{"queue", documentOf(&a.Queue)},
		{"budget", documentOf(&a.Budget)},
		{"suspensions", documentOf(&a.Suspensions)},
	}
}

func armCells(a *coleo.Arm) []any { return cells(armFields(a)) }

// shownCell stores what the agent CLI shows to its user: the window and the mode.
type shownCell struct{ arm *coleo.Arm }

// shownDocument is the JSON form of a shownCell. It contains the fields of the window, and the mode
// beside them.
type shownDocument struct {
	*coleo.Window
	Mode string `json:"mode,omitempty"`
}

func (c shownCell) Value() (driver.Value, error) {
	if c.arm.Window == nil && c.arm.Mode == "" {
		return nil, nil
	}
	return documentOf(&shownDocument{c.arm.Window, c.arm.Mode}).Value()
}

func (c shownCell) Scan(src any) error {
	var d shownDocument
	err := documentOf(&d).Scan(src)
	c.arm.Window, c.arm.Mode = d.Window, d.Mode
	return err
}

// statusCell stores the status planning_blocked as paused. The fact that a plan blocks the arm is in
// another column: see planningCell. When a row is read, planningCell must be scanned after
// statusCell, because it changes the status that statusCell has read. Coleo itself never sets
// planning_blocked, but the published table contains it.
type statusCell struct{ p *coleo.Status }

func (c statusCell) Value() (driver.Value, error) {
	if *c.p == coleo.StatusPlanningBlocked {
		return string(coleo.StatusPaused), nil
	}
	return textOf(c.p).Value()
}

func (c statusCell) Scan(src any) error { return textOf(c.p).Scan(src) }

type planningCell struct{ status *coleo.Status }

func (c planningCell) Value() (driver.Value, error) {
	return *c.status == coleo.StatusPlanningBlocked, nil
}

func (c planningCell) Scan(src any) error {
	var blocked sql.NullBool
	err := blocked.Scan(src)
	if blocked.Bool && *c.status == coleo.StatusPaused {
		*c.status = coleo.StatusPlanningBlocked
	}
	return err
}

func readArm(ctx context.Context, q queryer, where string, args ...any) (coleo.Arm, error) {
	var a coleo.Arm
	err := q.QueryRowContext(ctx, "SELECT "+columns(armFields(&a))+" FROM arms "+where, args...).Scan(armCells(&a)...)
	if err != nil {
		return coleo.Arm{}, err
	}
	return a, nil
}

func updateArm(tx *sql.Tx, a *coleo.Arm) error {
	_, err := tx.Exec(upsertStatement("arms", armFields(a)), armCells(a)...)
	return err
}

// Arms returns the arms of all hosts, sorted by name. If includeAll is false, it omits idle arms of
// the harness "manual" that have no task. Arms does not set the field Runtime, because
// coleo.Summarise computes it.
func (s *ServeDB) Arms(ctx context.Context, includeAll bool) ([]coleo.Arm, error) {
	var shape coleo.Arm
	rows, err := s.db.reader.QueryContext(ctx, "SELECT "+columns(armFields(&shape))+` FROM arms
		WHERE ? OR NOT (harness = 'manual' AND status = 'idle' AND current_task_id IS NULL) ORDER BY name`, includeAll)
	list, err := collect(rows, err, armCells)
	if err != nil {
		return nil, fmt.Errorf("read the arms: %w", err)
	}
	return list, nil
}

// ArmsToVerify returns the arms of a host whose rows may be wrong. The next pulse, the host agent's
// short report, may correct them. These arms are:
//
//   - the stopped arms
//   - the arms whose state comes from the given rule
//   - the arms whose name is their id
func (s *ServeDB) ArmsToVerify(ctx context.Context, host, rule string) ([]coleo.Arm, error) {
	var shape coleo.Arm
	rows, err := s.db.reader.QueryContext(ctx, "SELECT "+columns(armFields(&shape))+` FROM arms
		WHERE agent_id = ? AND (status = 'stopped' OR rule = ? OR name = id) ORDER BY name`, host, rule)
	list, err := collect(rows, err, armCells)
	if err != nil {
		return nil, fmt.Errorf("read the doubtful arms of host %s: %w", host, err)
	}
	return list, nil
}

// ArmUsingFolder returns the name of an arm that uses the given work folder and is not stopped, or
// "" if there is none. It ignores the arm with the given id.
func (s *ServeDB) ArmUsingFolder(ctx context.Context, id, workdir string) (name string, err error) {
	err = s.db.reader.QueryRowContext(ctx, `SELECT name FROM arms
		WHERE workdir = ? AND id != ? AND status != 'stopped' ORDER BY name LIMIT 1`, workdir, id).Scan(&name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look for arms in %s: %w", workdir, err)
	}
	return name, nil
}

// Arm returns the arm with the given id, or else the arm with the given name. If there is no such
// arm, Arm returns ENotFound.
func (s *ServeDB) Arm(ctx context.Context, idOrName string) (coleo.Arm, error) {
	a, err := readArm(ctx, s.db.reader, byIDOrName, idOrName)
	if err != nil {
		return coleo.Arm{}, readingArm(err, idOrName)
	}
	return a, nil
}

// CreateArm adds the row of an arm. If the context budget is 0, CreateArm sets it to 300,000
// tokens. It returns EConflict if another arm has the name or the id, and EInvalid for a bad row.
func (s *ServeDB) CreateArm(ctx context.Context, a coleo.Arm) error {
	if a.ContextBudget == 0 {
		a.ContextBudget = defaultContextBudget
	}
	if err := checkServeArm(a); err != nil {
		return err
	}
	err := s.db.write(ctx, intent, func(tx *sql.Tx) error {
		_, err := tx.Exec(insertion("arms", armFields(&a)), armCells(&a)...)
		return err
	})
	return writingArm(err, a.Name)
}

// UpdateArm calls `change` to edit the row of an arm, and returns the new row. It reads and writes the row in
// one transaction. If `change` returns an error, UpdateArm writes nothing and returns that error. UpdateArm
// returns ENotFound if there is no such arm, EConflict if another arm has the new name, and EInvalid for a
// bad row.
func (s *ServeDB) UpdateArm(ctx context.Context, id string, change func(*coleo.Arm) error) (coleo.Arm, error) {
	var a coleo.Arm
	err := s.db.write(ctx, intent, func(tx *sql.Tx) error {
		var err error
		if a, err = readArm(context.WithoutCancel(ctx), tx, "WHERE id = ?", id); err != nil {
			return readingArm(err, id)
		}
		if err := change(&a); err != nil {
			return err
		}
		if a.ID != id {
			return coleo.Errorf(coleo.EInvalid, "arm %s: its id cannot become %q", id, a.ID)
		}
		if err := checkServeArm(a); err != nil {
			return err
		}
		return writingArm(updateArm(tx, &a), a.Name)
	})
	if err != nil {
		return coleo.Arm{}, err
	}
	return a, nil
}

func checkServeArm(a coleo.Arm) error {
	if len(a.Config) > 0 && !json.Valid(a.Config) {
		return coleo.Errorf(coleo.EInvalid, "arm %q: its config is not JSON", a.Name)
	}
	return checkArm(a.ID, a.Name, a.Harness, a.Status)
}

func writingArm(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case sqlite.Taken(err):
		return nameTaken(name)
	}
	return fmt.Errorf("write arm %s: %w", name, err)
}

// DeleteArm deletes the row of an arm. The arm's events stay in the log. DeleteArm
// returns ENotFound if there is no such arm.
func (s *ServeDB) DeleteArm(ctx context.Context, id string) error {
	return s.db.write(ctx, intent, func(tx *sql.Tx) error {
		done, err := tx.Exec("DELETE FROM arms WHERE id = ?", id)
		return oneRow(done, err, id)
	})
}

// Beat stores the time of a beat, a host agent's sign of life. lastOutputs contains the time of the
// last output of each arm that the host agent reports as alive. Beat does not change arms that have
// moved to another host. It returns the ids of the arms that have new output.
func (s *ServeDB) Beat(ctx context.Context, host string, lastOutputs map[string]time.Time,
	now time.Time) (wrote []string, err error) {
	ids, err := json.Marshal(slices.Collect(maps.Keys(lastOutputs)))
	if err != nil {
		return nil, fmt.Errorf("heartbeat of host %s: %w", host, err)
	}
	err = s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		wrote = nil
		if _, err := tx.Exec("UPDATE hosts SET last_seen = ? WHERE id = ?", moment{&now}, host); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE arms SET last_heartbeat = ? WHERE "+
			"agent_id = ? AND id IN (SELECT value FROM json_each(?))",
			moment{&now}, host, string(ids))
		if err != nil {
			return err
		}
		for id, at := range lastOutputs {
			done, err := tx.Exec(
				"UPDATE arms SET last_output_at = ?1 WHERE id = ?2 AND agent_id = ?3 AND (last_output_at IS NULL OR "+
					"last_output_at < ?1)",
				moment{&at}, id, host)
			if err != nil {
				return err
			}
			if n, err := done.RowsAffected(); err == nil && n > 0 {
				wrote = append(wrote, id)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("heartbeat of host %s: %w", host, err)
	}
	return wrote, nil
}
