package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/paths"
)

// addUsage adds the usage in an event to the table. The event must be new, and must already have
// been applied to the row of its arm.
//
// Each event of the kind `usage` is about a different reply, so nothing is counted twice. Some agent CLIs
// report only a sum for the whole conversation, called an account. For such an agent CLI, the event run_end
// contains the account, and addUsage adds the difference between this account and the previous account.
func (p *projection) addUsage(e *coleo.Event) error {
	switch e.Kind {
	case coleo.EventUsage:
		u, ok := payload[coleo.ReplyUsage](*e)
		if !ok {
			return nil
		}
		return p.countUsage(e, u)
	case coleo.EventRunEnd:
		end, ok := payload[coleo.RunEnd](*e)
		if !ok || end.Usage == nil || end.Usage.Source != accountSource {
			return nil
		}
		return p.countAccount(e, *end.Usage)
	default:
		return nil
	}
}

// accountSource is the source of a usage that comes from the agent CLI's account. No event of the kind
// `usage` has this source.
const accountSource = "account"

func (p *projection) countUsage(e *coleo.Event, u coleo.ReplyUsage) error {
	arm, err := p.arm(e.Arm)
	if err != nil {
		return err
	}
	row := arm.after
	provider, model := row.Provider, u.Model
	if model == "" {
		model = row.Model
	}
	if of, name := coleo.SplitModel(row.Model); provider == "" && of != "" && name == model {
		provider = of
	}
	_, err = p.tx.Exec(`INSERT INTO usage (arm_id, run_id, hour, provider, model, source, estimated, reported, context,
			arm_name, harness, project, calls, input, cached, written, output, reasoning, cost)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET calls = calls + 1, input = input + excluded.input, cached = cached + excluded.cached,
			written = written + excluded.written, output = output + excluded.output,
			reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost`,
		e.Arm, e.Run, e.Time.UTC().Format(hourLayout), provider, model, u.Source, u.Approximate, u.Cost > 0,
		coleo.ContextStep(u.Input), cmp.Or(row.Name,
			e.Arm), row.Harness, p.projectOf(row), u.Input, u.Cached, u.Written, u.Output, u.Reasoning,
		u.Cost)
	if err != nil {
		return fmt.Errorf("count the usage of arm %s: %w", e.Arm, err)
	}
	return nil
}

// mostAbove is the largest number of ancestors of an arm that projectOf reads. A model's subarms
// are rarely more than two or three generations deep.
const mostAbove = 10

// projectOf returns the folder for which an arm works. For an arm in a worktree, this is the folder
// from which the worktree was made. The worktree can also belong to an ancestor of the arm. For
// worktrees of several repositories, projectOf returns all of these folders, separated by " + ".
func (p *projection) projectOf(row coleo.Arm) string {
	workdir := row.Workdir
	for range mostAbove {
		if t := row.SpawnConfig().Worktree; t != nil && t.From != "" && paths.Within(t.Path, workdir) {
			return strings.Join(append([]string{t.From}, t.With...), " + ")
		}
		above, err := p.arm(row.ParentArmID)
		if err != nil || above.after.ID == "" {
			break
		}
		row = above.after
	}
	return workdir
}

// countAccount counts the difference between an agent CLI's account and its previous account. If
// the previous account is from another start, or is larger than the new account, countAccount
// counts the whole new account.
func (p *projection) countAccount(e *coleo.Event, sum coleo.Usage) error {
	arm, err := p.arm(e.Arm)
	if err != nil {
		return err
	}
	before, err := accountOf(p.tx, e.Arm, arm.after.Generation)
	if err != nil {
		return err
	}
	if sum.Input < before.Input || sum.Output < before.Output {
		before = coleo.Usage{}
	}
	text, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	if _, err := p.tx.Exec(`INSERT INTO accounts (arm_id, generation, sum) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET generation = excluded.generation, sum = excluded.sum`,
		e.Arm, arm.after.Generation, string(text)); err != nil {
		return fmt.Errorf("keep the account of arm %s: %w", e.Arm, err)
	}
	used := sum.Minus(before)
	used.Source, used.Approximate = sum.Source, sum.Approximate
	if used.Total() == 0 {
		return nil
	}
	return p.countUsage(e, coleo.ReplyUsage{Usage: used})
}

// accountOf returns the newest account that an arm's agent CLI has reported in the generation with
// the given number. If there is none, accountOf returns a zero Usage.
func accountOf(tx *sql.Tx, arm string, generation int) (coleo.Usage, error) {
	var u coleo.Usage
	var text string
	err := tx.QueryRow("SELECT sum FROM accounts WHERE arm_id = ? AND generation = ?", arm, generation).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return u, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &u)
	}
	if err != nil {
		return u, fmt.Errorf("read the account of arm %s: %w", arm, err)
	}
	return u, nil
}

// hourLayout is the format of a stored hour, in UTC.
const hourLayout = "2006-01-02T15"

// Used returns the usage of arms since the given time, in the order of the hours. The time is
// rounded down to the hour. If the time is zero, Used returns the usage of all times. If arm is not
// "", Used returns only the usage of the arm with this id.
func (s *ServeDB) Used(ctx context.Context, arm string, since time.Time) ([]coleo.UsageEntry, error) {
	from := ""
	if !since.IsZero() {
		from = since.UTC().Format(hourLayout)
	}
	rows, err := s.db.reader.QueryContext(ctx, `SELECT usage.arm_id, COALESCE(arms.name, usage.arm_name), run_id, hour,
			usage.provider, usage.model, source, estimated, reported, context, usage.harness, project, calls, input, cached,
			written, output, reasoning, cost
		FROM usage LEFT JOIN arms ON arms.id = usage.arm_id
		WHERE hour >= ? AND (? = '' OR usage.arm_id = ?)
		ORDER BY hour, usage.arm_id, run_id, usage.model, context`, from, arm, arm)
	if err != nil {
		return nil, fmt.Errorf("read the usage: %w", err)
	}
	defer rows.Close()
	out := []coleo.UsageEntry{}
	for rows.Next() {
		var u coleo.UsageEntry
		var hour string
		if err := rows.Scan(&u.Arm, &u.ArmName, &u.Run, &hour, &u.Provider, &u.Model, &u.Source, &u.Approximate, &u.Reported,
			&u.Context, &u.Harness, &u.Project, &u.Calls, &u.Input, &u.Cached, &u.Written, &u.Output, &u.Reasoning,
			&u.Cost); err != nil {
			return nil, fmt.Errorf("read the usage: %w", err)
		}
		if u.Hour, err = time.Parse(hourLayout, hour); err != nil {
			return nil, fmt.Errorf("read the usage: %w", err)
		}
		out = append(out, u)
	}
	return out, rows.Err()
}

// ThinUsage deletes the rows of the oldest hour, if that hour is older than the bound's Age.
func (s *ServeDB) ThinUsage(ctx context.Context, now time.Time, b Bound) error {
	oldest := now.Add(-b.Age).UTC().Format(hourLayout)
	var hour sql.NullString
	err := s.db.reader.QueryRowContext(ctx, "SELECT MIN(hour) FROM usage WHERE hour < ?", oldest).Scan(&hour)
	if err != nil || !hour.Valid {
		return err
	}
	return s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM usage WHERE hour = ?", hour.String)
		return err
	})
}

// fillUsage creates the rows of usage from the events that are already in serve's log.
func fillUsage(tx *sql.Tx) error {
	p := newProjection(context.Background(), tx)
	for after := int64(0); ; {
		var at []int64
		var shape coleo.Event
		rows, err := tx.Query("SELECT pos, host, epoch, seq, "+columns(eventFields(&shape))+
			" FROM run_events WHERE pos > ? AND kind IN (?, ?) ORDER BY pos LIMIT ?", after, string(coleo.EventUsage),
			string(coleo.EventRunEnd), defaultPage)
		events, err := collectEvents(rows, err, func(e *coleo.Event) []any {
			at = append(at, 0)
			return append([]any{&at[len(at)-1], &e.Host, &e.Epoch, &e.Seq}, cells(eventFields(e))...)
		})
		if err != nil || len(events) == 0 {
			return err
		}
		for i := range events {
			after = at[i]
			if err := p.addUsage(&events[i]); err != nil {
				return err
			}
		}
	}
}
