package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"coleo.dev"
)

// runRow is a run with the positions of its first and last event in serve's log.
type runRow struct {
	coleo.Run
	first, last int64
}

func runFields(r *runRow) []field {
	return []field{
		{"id", textOf(&r.ID)},
		{"first", position{&r.first}},
		{"last", position{&r.last}},
		{"arm_id", textOf(&r.Arm)},
		{"arm_name", textOf(&r.ArmName)},
		{"harness", textOf(&r.Harness)},
		{"host", textOf(&r.Host)},
		{"parent_id", textOf(&r.Parent)},
		{"started_at", moment{&r.Started}},
		{"ended_at", moment{&r.Ended}},
		{"status", textOf(&r.Status)},
		{"outcome", textOf(&r.Outcome)},
		{"origin", textOf(&r.Origin)},
		{"compact", yes{&r.Compact}},
		{"prompt", textOf(&r.Prompt)},
		{"prompt_cut", yes{&r.PromptCut}},
		{"answer", textOf(&r.Answer)},
		{"answer_cut", yes{&r.AnswerCut}},
		{"whole", yes{&r.Whole}},
		{"model", textOf(&r.Model)},
		{"turns", number{p: &r.Turns}},
		{"tool_calls", number{p: &r.Calls}},
		{"denied_calls", number{p: &r.Denied}},
		{"failed_calls", number{p: &r.Failed}},
		{"file_changes", number{p: &r.Files}},
		{"events", number{p: &r.Events}},
		{"input_tokens", number{p: &r.Usage.Input}},
		{"cached_tokens", number{p: &r.Usage.Cached}},
		{"written_tokens", number{p: &r.Usage.Written}},
		{"output_tokens", number{p: &r.Usage.Output}},
		{"reasoning_tokens", number{p: &r.Usage.Reasoning}},
		{"cost", amount{&r.Usage.Cost}},
		{"orphans", documentOf(&r.Orphans)},
		{"spec_hash", textOf(&r.SpecHash)},
		{"answer_check", textOf(&r.AnswerCheck)},
		{"check_fault", textOf(&r.CheckFault)},
		{"retry_of", textOf(&r.RetryOf)},
		{"retry", textOf(&r.Retry)},
	}
}

// position is a position in serve's log. The position 0 is stored as NULL.
type position struct{ p *int64 }

func (c position) Value() (driver.Value, error) { return *c.p, nil }

func (c position) Scan(src any) error {
	var n sql.NullInt64
	err := n.Scan(src)
	*c.p = n.Int64
	return err
}

// yes is a truth value. False is stored as NULL.
type yes struct{ p *bool }

func (c yes) Value() (driver.Value, error) {
	if !*c.p {
		return nil, nil
	}
	return int64(1), nil
}

func (c yes) Scan(src any) error {
	var b sql.NullBool
	err := b.Scan(src)
	*c.p = b.Bool
	return err
}

var selectRun = "SELECT " + columns(runFields(&runRow{})) + " FROM runs WHERE id = ?"

// readRun reads a run's row. If there is none, it returns the zero row.
func readRun(ctx context.Context, q queryer, id string) (runRow, error) {
	return scanRun(q.QueryRowContext(ctx, selectRun, id), id)
}

func scanRun(found *sql.Row, id string) (runRow, error) {
	var r runRow
	err := found.Scan(cells(runFields(&r))...)
	if errors.Is(err, sql.ErrNoRows) {
		return runRow{}, nil
	}
	if err != nil {
		return runRow{}, fmt.Errorf("read run %s: %w", id, err)
	}
	return r, nil
}

// RunFilter selects runs. An empty field matches all runs.
type RunFilter struct {
	Arm     string        // the arm's id
	Outcome coleo.Outcome // coleo.OutcomeOpen selects the open runs
	Since   time.Time     // selects the runs that began at this time or later
	Before  uint64        // selects the runs that began before the run at this position
	Limit   int           // 0 means 1000
}

// selectRuns reads runs, and adds values from the present rows of their arms. If the name of the
// arm or the harness is missing in a run, the query takes it from the arm's row. A run is open if
// it has no outcome and its arm exists.
const selectRuns = ` COALESCE(runs.arm_name, arms.name, runs.arm_id, ''), COALESCE(runs.harness, arms.harness, ''),
	runs.outcome IS NULL AND arms.id IS NOT NULL FROM runs LEFT JOIN arms ON arms.id = runs.arm_id `

// runTargets returns the targets of Scan for a row of selectRuns.
func runTargets(r *runRow) []any {
	return append(cells(runFields(r)), &r.ArmName, &r.Harness, &r.Open)
}

func runColumns() string {
	names := strings.Split(columns(runFields(&runRow{})), ", ")
	return "SELECT runs." + strings.Join(names, ", runs.") + ","
}

// Runs returns the runs that match the filter, newest first. It also returns the position of the
// last returned run, which is the value of Before for the next call.
func (s *ServeDB) Runs(ctx context.Context, f RunFilter) (list []coleo.Run, next uint64, err error) {
	query, args := runColumns()+selectRuns+"WHERE 1", []any{}
	also := func(condition string, values ...any) { query, args = query+" AND "+condition, append(args, values...) }
	if f.Arm != "" {
		also("runs.arm_id = ?", f.Arm)
	}
	switch f.Outcome {
	case "":
	case coleo.OutcomeOpen:
		also("runs.outcome IS NULL AND arms.id IS NOT NULL")
	default:
		also("runs.outcome = ?", string(f.Outcome))
	}
	if !f.Since.IsZero() {
		// Begin the search at the first run that started at f.Since or later. Without this condition,
		// the query would read all earlier runs.
		also(`runs.first >= (SELECT MIN(first) FROM runs WHERE started_at >= ?) AND runs.started_at >= ?`,
			moment{&f.Since}, moment{&f.Since})
	}
	if next = f.Before; f.Before > 0 {
		also("runs.first < ?", int64(f.Before))
	}
	rows, err := s.db.reader.QueryContext(ctx, query+" ORDER BY runs.first DESC LIMIT ?",
		append(args, rowLimit(f.Limit))...)
	found, err := collect(rows, err, runTargets)
	if err != nil {
		return nil, 0, fmt.Errorf("read the runs: %w", err)
	}
	for _, r := range found {
		list, next = append(list, r.Run), uint64(r.first)
	}
	return list, next, nil
}

// Run returns the run whose id begins with the given text. It returns ENotFound if there is no such
// run, and EInvalid if several ids begin with this text.
func (s *ServeDB) Run(ctx context.Context, id string) (coleo.Run, error) {
	if id == "" {
		return coleo.Run{}, coleo.Errorf(coleo.EInvalid, "a run needs an id: 'coleo run list' shows the ids")
	}
	rows, err := s.db.reader.QueryContext(ctx, runColumns()+selectRuns+
		"WHERE runs.id >= ?1 AND runs.id < ?1 || char(0x10FFFF) ORDER BY runs.id LIMIT 2", id)
	found, err := collect(rows, err, runTargets)
	switch {
	case err != nil:
		return coleo.Run{}, fmt.Errorf("read run %s: %w", id, err)
	case len(found) == 0:
		return coleo.Run{}, coleo.Errorf(coleo.ENotFound, "no run %q", id)
	case len(found) > 1 && found[0].ID != id:
		return coleo.Run{}, coleo.Errorf(coleo.EInvalid, "several runs begin with %q: give more of the id", id)
	}
	return found[0].Run, nil
}

// fillMost is the number of runs' rows that fillRuns holds in memory before it writes them. Each
// row has at most about 5 kB.
const fillMost = 1000

// fillRuns creates the rows of runs from the events that are already in serve's log. It writes only
// the fields that ApplyRun and the projection compute.
func fillRuns(tx *sql.Tx) error {
	p := newProjection(context.Background(), tx)
	var errs [2]error
	p.readRow, errs[0] = tx.Prepare(selectRun)
	p.saveRow, errs[1] = tx.Prepare(upsertStatement("runs", runFields(&runRow{})))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	for after := int64(0); ; {
		var at []int64
		var shape coleo.Event
		rows, err := tx.Query("SELECT pos, host, epoch, seq, "+columns(eventFields(&shape))+
			" FROM run_events WHERE pos > ? ORDER BY pos LIMIT ?", after, defaultPage)
		events, err := collectEvents(rows, err, func(e *coleo.Event) []any {
			at = append(at, 0)
			return append([]any{&at[len(at)-1], &e.Host, &e.Epoch, &e.Seq}, cells(eventFields(e))...)
		})
		if err != nil || len(events) == 0 {
			return errors.Join(err, p.saveRuns())
		}
		for i := range events {
			after, p.last = at[i], uint64(at[i])
			if err := p.addToRun(&events[i]); err != nil {
				return err
			}
		}
		if len(p.runs) > fillMost {
			if err := p.saveRuns(); err != nil {
				return err
			}
		}
	}
}
