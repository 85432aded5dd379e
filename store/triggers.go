package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/trigger"
)

const (
	// keptTriggerEntries is the number of entries in the history of one trigger that are kept.
	keptTriggerEntries = 1000
	// keptTriggerRuns is the time for which each run is kept, even if the trigger has more than
	// keptTriggerEntries entries. A request to a webhook is valid for a few minutes. If the same
	// request arrives again in this time, the kept run shows that it was already accepted.
	keptTriggerRuns = time.Hour
)

// triggerRow is the row of a trigger. Its field `settings` contains a copy of the values that are stored as
// JSON.
type triggerRow struct {
	trigger.Trigger
	settings triggerSettings
}

// triggerSettings contains what the user has chosen for a trigger. It is stored as JSON.
type triggerSettings struct {
	Template string            `json:"template"`
	Workdir  string            `json:"workdir"`
	Args     map[string]string `json:"args,omitempty"`
	MaxArms  int               `json:"maxArms"`
	Cron     string            `json:"cron,omitempty"`
	Zone     string            `json:"zone,omitempty"`
	CatchUp  bool              `json:"catchUp,omitempty"`
}

func rowOf(t trigger.Trigger) triggerRow {
	return triggerRow{t, triggerSettings{t.Template, t.Workdir, t.Args, t.MaxArms, t.Cron, t.Zone, t.CatchUp}}
}

func (r *triggerRow) fields() []field {
	return []field{
		{"name", textOf(&r.Name)},
		{"id", textOf(&r.ID)},
		{"kind", textOf(&r.Kind)},
		{"settings", documentOf(&r.settings)},
		{"created_at", moment{&r.Created}},
		{"handled_at", moment{&r.Handled}},
		{"missed", number{p: &r.Missed, kept: true}},
	}
}

// triggerDetail is the part of an entry that is stored as JSON.
type triggerDetail struct {
	Due     time.Time `json:"due,omitzero"`
	CatchUp bool      `json:"catchUp,omitempty"`
	Key     string    `json:"key,omitempty"`
	ByHand  bool      `json:"byHand,omitempty"`
	ArmName string    `json:"armName,omitempty"`
	Run     string    `json:"run,omitempty"`
	Count   int       `json:"count,omitempty"`
	More    bool      `json:"more,omitempty"`
}

type triggerEntryRow struct {
	trigger.Entry
	detail triggerDetail
}

func (r *triggerEntryRow) fields() []field {
	return []field{
		{"trigger_name", textOf(&r.Trigger)},
		{"kind", textOf(&r.Kind)},
		{"ts", moment{&r.Time}},
		{"once", textOf(&r.Once)},
		{"state", textOf(&r.State)},
		{"arm_id", textOf(&r.Arm)},
		{"why", textOf(&r.Why)},
		{"detail", documentOf(&r.detail)},
		{"request", raw{&r.Request}},
	}
}

// AddTrigger stores a new trigger. It returns EConflict if another trigger has this name, or if
// there are too many triggers. The write survives a power failure.
func (s *ServeDB) AddTrigger(ctx context.Context, t trigger.Trigger) error {
	r := rowOf(t)
	err := s.db.write(ctx, intent, func(tx *sql.Tx) error {
		var count int
		if err := tx.QueryRow("SELECT COUNT(*) FROM triggers").Scan(&count); err != nil {
			return err
		}
		if count >= trigger.MostTriggers {
			return coleo.Errorf(coleo.EConflict,
				"there are %d schedules and webhooks already: remove one; nothing was added", count)
		}
		done, err := tx.Exec(insertion("triggers", r.fields())+" ON CONFLICT (name) DO NOTHING", cells(r.fields())...)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return coleo.Errorf(coleo.EConflict,
			"there is a schedule or a webhook called %q already: remove it, or choose another name; nothing was added", t.Name)
	})
	return describeError(err, "store the trigger %s", t.Name)
}

// describeError adds a description of the failed action to an error, unless the error is already meant for
// users.
func describeError(err error, format string, args ...any) error {
	if err == nil || errors.As(err, new(*coleo.Error)) {
		return err
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// RemoveTrigger removes a trigger, and ends its runs that have not begun. The entries of the
// trigger stay in the history. RemoveTrigger returns ENotFound if there is no such trigger. The
// write survives a power failure.
func (s *ServeDB) RemoveTrigger(ctx context.Context, name string) error {
	err := s.db.write(ctx, intent, func(tx *sql.Tx) error {
		done, err := tx.Exec("DELETE FROM triggers WHERE name = ?", name)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, coleo.Errorf(coleo.ENotFound, "there is no schedule or webhook called %q", name))
		}
		_, err = tx.Exec(`UPDATE trigger_history SET state = ?, why = 'the trigger was removed', request = NULL
			WHERE trigger_name = ? AND state = ?`, string(trigger.RunFailed), name, string(trigger.RunAccepted))
		return err
	})
	return describeError(err, "remove the trigger %s", name)
}

// liveArms is an SQL expression for the number of live arms of the trigger with the name t.name. It
// also counts arms whose start is about to be ordered.
const liveArms = `(SELECT COUNT(*) FROM trigger_history e LEFT JOIN arms a ON a.id = e.arm_id
	WHERE e.trigger_name = t.name
	AND (e.state IN ('accepted', 'starting') OR e.state = 'started' AND a.status <> 'stopped'))`

// Triggers returns all triggers, sorted by name, each with the number of its live arms.
func (s *ServeDB) Triggers(ctx context.Context) ([]trigger.Trigger, error) {
	var shape triggerRow
	rows, err := s.db.reader.QueryContext(ctx, "SELECT "+columns(shape.fields())+", "+liveArms+
		" FROM triggers t ORDER BY name")
	list, err := collect(rows, err, func(r *triggerRow) []any {
		return append(cells(r.fields()), number{p: &r.Live})
	})
	if err != nil {
		return nil, fmt.Errorf("read the triggers: %w", err)
	}
	out := make([]trigger.Trigger, len(list))
	for i, r := range list {
		t, s := r.Trigger, r.settings
		t.Template, t.Workdir, t.Args, t.MaxArms = s.Template, s.Workdir, s.Args, s.MaxArms
		t.Cron, t.Zone, t.CatchUp = s.Cron, s.Zone, s.CatchUp
		out[i] = t
	}
	return out, nil
}

// AddTriggerEntries stores entries of a trigger in the history. It also stores the time `handled`, up
// to which a schedule was carried out, and adds `missed` to the number of missed times. It skips a
// run if an earlier run has the same field Once. The result `all` is true if it has stored all
// entries. If the trigger was removed, AddTriggerEntries returns ENotFound and stores nothing. The
// write survives a power failure.
func (s *ServeDB) AddTriggerEntries(ctx context.Context, t trigger.Trigger, handled time.Time, missed int,
	entries ...trigger.Entry) (all bool, err error) {
	all = true
	err = s.db.write(ctx, intent, func(tx *sql.Tx) error {
		done, err := tx.Exec("UPDATE triggers SET handled_at = ?, missed = missed + ? WHERE id = ?",
			moment{&handled}, missed, t.ID)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, coleo.Errorf(coleo.ENotFound, "there is no schedule or webhook called %q", t.Name))
		}
		for _, e := range entries {
			added, err := addTriggerEntry(tx, e)
			if all = all && added; err != nil {
				return err
			}
		}
		return nil
	})
	return all, describeError(err, "store what has happened to the trigger %s", t.Name)
}

func addTriggerEntry(tx *sql.Tx, e trigger.Entry) (added bool, err error) {
	r := triggerEntryRow{e, triggerDetail{e.Due, e.CatchUp, e.Key, e.ByHand, e.ArmName, e.Run, e.Count, e.More}}
	done, err := tx.Exec(insertion("trigger_history", r.fields())+" ON CONFLICT (once) DO NOTHING", cells(r.fields())...)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	if err != nil || n == 0 {
		return false, err
	}
	// The run of a webhook request must stay while a copy of the request is valid, so that the copy
	// is refused. The entry of an existing arm must stay, because liveArms counts it.
	oldest := e.Time.Add(-keptTriggerRuns)
	_, err = tx.Exec(`DELETE FROM trigger_history WHERE trigger_name IS ?1 AND id <= (SELECT id FROM trigger_history
		WHERE trigger_name IS ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
		AND (state IS NULL OR state NOT IN ('accepted', 'starting')) AND (once IS NULL OR ts < ?3)
		AND (arm_id IS NULL OR NOT EXISTS (SELECT 1 FROM arms WHERE arms.id = arm_id))`,
		textOf(&e.Trigger), keptTriggerEntries, moment{&oldest})
	return true, err
}

// AddRefused stores that requests to a webhook were refused. It also accepts the name of a webhook
// that does not exist.
func (s *ServeDB) AddRefused(ctx context.Context, e trigger.Entry) error {
	err := s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		_, err := addTriggerEntry(tx, e)
		return err
	})
	return describeError(err, "store refused requests to the webhook %s", e.Trigger)
}

// SetTriggerRun changes the state of a run. If the new state is RunAccepted, but the trigger was removed, the run
// fails instead. SetTriggerRun returns EConflict if the state of the run is not oldState. The write survives a
// power failure.
func (s *ServeDB) SetTriggerRun(ctx context.Context, id int64, oldState, newState trigger.RunState, why string) error {
	err := s.db.write(ctx, intent, func(tx *sql.Tx) error {
		if newState == trigger.RunAccepted { // the trigger may have been removed since the start began
			var exists bool
			err := tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM triggers t JOIN trigger_history e ON e.trigger_name = t.name
				WHERE e.id = ?)`, id).Scan(&exists)
			if err != nil {
				return err
			}
			if !exists {
				newState, why = trigger.RunFailed, "the trigger was removed"
			}
		}
		done, err := tx.Exec(`UPDATE trigger_history SET state = ?1, why = ?2,
			request = CASE WHEN ?1 IN ('accepted', 'starting') THEN request END WHERE id = ?3 AND state = ?4`,
			string(newState), textOf(&why), id, string(oldState))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, coleo.Errorf(coleo.EConflict, "the run %d of a trigger is not %s", id, oldState))
		}
		return nil
	})
	return describeError(err, "store that the run %d of a trigger is %s", id, newState)
}

// OpenTriggerRuns returns the runs that have not ended, oldest first.
func (s *ServeDB) OpenTriggerRuns(ctx context.Context) ([]trigger.Entry, error) {
	return s.triggerHistory(ctx, "WHERE state IN ('accepted', 'starting') ORDER BY id")
}

// TriggerRun returns the run whose field Once has the given value, or ENotFound if there is none.
func (s *ServeDB) TriggerRun(ctx context.Context, once string) (trigger.Entry, error) {
	list, err := s.triggerHistory(ctx, "WHERE once = ?", once)
	if err != nil || len(list) == 0 {
		return trigger.Entry{}, errors.Join(err, coleo.Errorf(coleo.ENotFound, "there is no such run of a trigger"))
	}
	return list[0], nil
}

// TriggerHistory returns the newest entries of a trigger, newest first. If the name is empty, it
// returns entries of all triggers. If beforeID is not 0, it returns only entries with lower ids.
func (s *ServeDB) TriggerHistory(ctx context.Context, name string, beforeID int64, limit int) ([]trigger.Entry, error) {
	return s.triggerHistory(ctx, "WHERE (?1 = '' OR trigger_name = ?1) AND (?2 = 0 OR id < ?2) ORDER BY id DESC LIMIT ?3",
		name, beforeID, rowLimit(limit))
}

func (s *ServeDB) triggerHistory(ctx context.Context, which string, args ...any) ([]trigger.Entry, error) {
	var shape triggerEntryRow
	query := "SELECT id, " + columns(shape.fields()) + " FROM trigger_history " + which
	rows, err := s.db.reader.QueryContext(ctx, query, args...)
	list, err := collect(rows, err, func(r *triggerEntryRow) []any {
		return append([]any{&r.ID}, cells(r.fields())...)
	})
	if err != nil {
		return nil, fmt.Errorf("read the entries of triggers: %w", err)
	}
	out := make([]trigger.Entry, len(list))
	for i, r := range list {
		e, d := r.Entry, r.detail
		e.Due, e.CatchUp, e.Key, e.ByHand, e.ArmName, e.Run, e.Count, e.More = d.Due, d.CatchUp, d.Key, d.ByHand, d.ArmName,
			d.Run, d.Count, d.More
		out[i] = e
	}
	return out, nil
}
