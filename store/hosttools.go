package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"coleo.dev"
)

// These constants are the numbers of tool calls and answered suspensions that are kept for each
// arm.
const (
	keptCalls       = 500 // a caller repeats only a call that it has just made, so 500 calls are enough
	keptSuspensions = 500 // open suspensions are kept too, and do not count
)

// ToolCall is a call of one of Coleo's tools. It contains the result of the call, or the id of the
// suspension whose answer will be the result.
type ToolCall struct {
	Key        string
	Text       string
	Suspension string
}

// TaskList is an arm's list of tasks.
type TaskList struct {
	Last  int // the number in the id of the newest task, such as 3 for the id t3
	Tasks []coleo.Task
}

// Claim is an arm's announcement that it uses a file.
type Claim struct {
	Arm    string
	Path   string // the absolute path
	Kind   string // "read", "write" or "exclusive"
	Reason string
	At     time.Time
}

// ToolChange contains the changes that a tool call or the answer to a suspension makes. A field
// that is nil or empty changes nothing.
type ToolChange struct {
	Arm        string
	Call       *ToolCall
	Suspension *coleo.Suspension // a new suspension, or an existing one with its answer
	Heard      string            // the id of a suspension whose answer has reached the model
	Tasks      *TaskList
	Claim      *Claim
	Release    bool // whether to remove all claims of the arm
}

func suspensionFields(s *coleo.Suspension) []field {
	return []field{
		{"id", textOf(&s.ID)},
		{"arm_id", textOf(&s.Arm)},
		{"run_id", textOf(&s.Run)},
		{"kind", textOf(&s.Kind)},
		{"text", textOf(&s.Text)},
		{"options", documentOf(&s.Options)},
		{"several", flag{&s.Several}},
		{"asked_at", moment{&s.AskedAt}},
		{"decision", documentOf(&s.Decision)},
		{"answered_at", moment{&s.AnsweredAt}},
		{"answered_by", textOf(&s.By)},
		{"request", documentOf(&s.Request)},
		{"outcome", documentOf(&s.Outcome)},
	}
}

func suspensionCells(s *coleo.Suspension) []any { return cells(suspensionFields(s)) }

// ChangeTools writes a change and its events in one transaction. After ChangeTools has returned, a
// suspension in the change survives a power failure. A power failure can undo other changes.
func (h *HostDB) ChangeTools(ctx context.Context, c ToolChange, events ...coleo.Event) error {
	level := ordinary
	if c.Suspension != nil {
		level = intent
	}
	_, err := h.append(ctx, level, events, func(tx *sql.Tx) error { return c.write(tx) })
	if err != nil {
		return fmt.Errorf("write what arm %s has done with a tool: %w", c.Arm, err)
	}
	return nil
}

func (c ToolChange) write(tx *sql.Tx) error {
	var failed error
	do := func(statement string, args ...any) {
		if failed == nil {
			_, failed = tx.Exec(statement, args...)
		}
	}
	if s := c.Suspension; s != nil {
		do(upsertStatement("suspensions", suspensionFields(s)), suspensionCells(s)...)
		do(`DELETE FROM suspensions WHERE arm_id = ?1 AND answered_at <= (SELECT answered_at FROM suspensions
			WHERE arm_id = ?1 AND answered_at IS NOT NULL ORDER BY answered_at DESC LIMIT 1 OFFSET ?2)`,
			c.Arm, keptSuspensions)
	}
	if c.Heard != "" {
		now := time.Now()
		do("UPDATE suspensions SET heard_at = ? WHERE id = ? AND heard_at IS NULL", moment{&now}, c.Heard)
	}
	if call := c.Call; call != nil {
		do("INSERT INTO tool_calls (arm_id, key, text, suspension) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			c.Arm, call.Key, textOf(&call.Text), textOf(&call.Suspension))
		do(`DELETE FROM tool_calls WHERE arm_id = ?1 AND number <= (SELECT number FROM tool_calls
			WHERE arm_id = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)`, c.Arm, keptCalls)
	}
	if t := c.Tasks; t != nil {
		do(`INSERT INTO arm_tasks (arm_id, last, tasks) VALUES (?, ?, ?)
			ON CONFLICT (arm_id) DO UPDATE SET last = excluded.last, tasks = excluded.tasks`,
			c.Arm, t.Last, taskCell(t))
	}
	if f := c.Claim; f != nil {
		do(`INSERT INTO file_claims (arm_id, path, kind, reason, at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (arm_id, path) DO UPDATE SET kind = excluded.kind, reason = excluded.reason`,
			c.Arm, f.Path, f.Kind, textOf(&f.Reason), moment{&f.At})
	}
	if c.Release {
		do("DELETE FROM file_claims WHERE arm_id = ?", c.Arm)
	}
	return failed
}

// taskCell returns a cell that stores an empty list as [] instead of NULL.
func taskCell(t *TaskList) cell {
	if t.Tasks == nil {
		t.Tasks = []coleo.Task{}
	}
	return documentOf(&t.Tasks)
}

// forgetTools deletes everything that the model of an arm has stored with Coleo's tools.
func forgetTools(tx *sql.Tx, arm string) error {
	for _, table := range []string{"suspensions", "tool_calls", "arm_tasks", "file_claims"} {
		if _, err := tx.Exec("DELETE FROM "+table+" WHERE arm_id = ?", arm); err != nil {
			return err
		}
	}
	return nil
}

// Suspensions returns the open suspensions of an arm, oldest first. If arm is "", it returns the
// suspensions of all arms. If withUnheard is true, it also returns suspensions whose answer has not
// reached the model yet.
func (h *HostDB) Suspensions(ctx context.Context, arm string, withUnheard bool) ([]coleo.Suspension, error) {
	return h.suspensions(ctx, `WHERE (?1 = '' OR arm_id = ?1) AND (answered_at IS NULL
		OR ?2 AND heard_at IS NULL AND decision IS NOT NULL) ORDER BY asked_at, id`, arm, withUnheard)
}

// Requests returns the suspensions of all arms that contain an approved request, oldest first. It
// omits requests that Coleo has already carried out.
func (h *HostDB) Requests(ctx context.Context) ([]coleo.Suspension, error) {
	list, err := h.suspensions(ctx, `WHERE request IS NOT NULL AND decision IS NOT NULL AND outcome IS NULL
		ORDER BY answered_at, id`)
	return slices.DeleteFunc(list, func(s coleo.Suspension) bool { return !s.Allowed() }), err
}

// Suspension returns the suspension with the given id, or ENotFound if there is none.
func (h *HostDB) Suspension(ctx context.Context, id string) (coleo.Suspension, error) {
	list, err := h.suspensions(ctx, "WHERE id = ?", id)
	if err == nil && len(list) == 0 {
		err = coleo.Errorf(coleo.ENotFound, "no question has the id %q", id)
	}
	if err != nil {
		return coleo.Suspension{}, err
	}
	return list[0], nil
}

func (h *HostDB) suspensions(ctx context.Context, where string, args ...any) ([]coleo.Suspension, error) {
	var shape coleo.Suspension
	rows, err := h.db.reader.QueryContext(ctx,
		"SELECT "+columns(suspensionFields(&shape))+" FROM suspensions "+where, args...)
	list, err := collect(rows, err, suspensionCells)
	if err != nil {
		return nil, fmt.Errorf("read the suspensions: %w", err)
	}
	return list, nil
}

// ToolCall returns the call of an arm with the given key. It returns false if there is no such call
// yet.
func (h *HostDB) ToolCall(ctx context.Context, arm, key string) (ToolCall, bool, error) {
	c := ToolCall{Key: key}
	err := h.db.reader.QueryRowContext(ctx, "SELECT text, suspension FROM tool_calls WHERE arm_id = ? AND key = ?",
		arm, key).Scan(textOf(&c.Text), textOf(&c.Suspension))
	if errors.Is(err, sql.ErrNoRows) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("look for a call of arm %s: %w", arm, err)
	}
	return c, true, nil
}

// Tasks returns an arm's list of tasks. If the arm has written no list, the result is empty.
func (h *HostDB) Tasks(ctx context.Context, arm string) (TaskList, error) {
	var t TaskList
	err := h.db.reader.QueryRowContext(ctx, "SELECT last, tasks FROM arm_tasks WHERE arm_id = ?", arm).
		Scan(&t.Last, documentOf(&t.Tasks))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return t, fmt.Errorf("read the tasks of arm %s: %w", arm, err)
	}
	return t, nil
}

// Claims returns the claims of all arms on a file. If path is "", it returns all claims.
func (h *HostDB) Claims(ctx context.Context, path string) ([]Claim, error) {
	rows, err := h.db.reader.QueryContext(ctx, `SELECT arm_id, path, kind, reason, at FROM file_claims
		WHERE ?1 = '' OR path = ?1 ORDER BY at, arm_id`, path)
	list, err := collect(rows, err, func(c *Claim) []any {
		return []any{&c.Arm, &c.Path, &c.Kind, textOf(&c.Reason), moment{&c.At}}
	})
	if err != nil {
		return nil, fmt.Errorf("read the claims of files: %w", err)
	}
	return list, nil
}
