package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/armname"
	"coleo.dev/sqlite"
	"coleo.dev/trace"
)

// ArmRecord contains what a host agent knows about one of its arms. It says how to start the arm, how to find
// the running arm again, and what the arm's last state was.
type ArmRecord struct {
	ID         string
	Name       string // the name of the arm, which no other arm of this host has
	Harness    string
	Spec       coleo.SpawnConfig // stored without Environ
	Desired    coleo.Desired
	Generation int
	Handle     *coleo.Handle // the handle of the arm's newest session; nil before the first start

	Status coleo.Status
	State  coleo.State
	Rule   string

	LastActivity  time.Time
	LastOutput    time.Time
	LastHeartbeat time.Time

	Workdir   string
	Provider  string
	Model     string
	CreatedAt time.Time

	// Run is the newest open run, or nil if no run is open.
	Run     *coleo.Receipt
	Earlier []coleo.Receipt // the older open runs, oldest first

	// Intended contains two sorts of prompts: those that are about to be typed, and those whose
	// arrival is unknown because a dialog hides it. Only the fields ID, Time, Text, Compact and
	// Unsettled are used. ID is the id of the run that the prompt will begin.
	Intended []coleo.Receipt

	// Trace contains the positions up to which the sources of the arm's work have been read.
	Trace trace.State

	// Queue contains the prompts that wait until the arm is idle. It is nil if the queue is empty and
	// has no other state to store, such as a pause.
	Queue *coleo.Queue
}

func recordFields(r *ArmRecord) []field {
	return []field{
		{"id", textOf(&r.ID)},
		{"name", textOf(&r.Name)},
		{"harness", textOf(&r.Harness)},
		{"spec", documentOf(&r.Spec)},
		{"desired", textOf(&r.Desired)},
		{"generation", number{p: &r.Generation, kept: true}},
		{"handle", documentOf(&r.Handle)},
		{"status", textOf(&r.Status)},
		{"state", textOf(&r.State)},
		{"rule", textOf(&r.Rule)},
		{"last_activity_at", moment{&r.LastActivity}},
		{"last_output_at", moment{&r.LastOutput}},
		{"last_heartbeat", moment{&r.LastHeartbeat}},
		{"workdir", textOf(&r.Workdir)},
		{"provider", textOf(&r.Provider)},
		{"model", textOf(&r.Model)},
		{"created_at", moment{&r.CreatedAt}},
		{"run", documentOf(&r.Run)},
		{"earlier", documentOf(&r.Earlier)},
		{"intended", documentOf(&r.Intended)},
		{"trace", documentOf(&r.Trace)},
		{"queue", documentOf(&r.Queue)},
	}
}

func recordCells(r *ArmRecord) []any { return cells(recordFields(r)) }

// PutArm stores the record of an arm. If an arm with the same id exists, PutArm replaces its
// record. In the same transaction, PutArm appends the events that led to the change, so that the
// record and the log always agree.
//
// After PutArm has returned, the change survives a power failure, because a record contains
// intents, such as the desired state or the generation. To store only observations, use Observe.
// PutArm returns EConflict if another arm has the same name, and EInvalid for a bad record.
func (h *HostDB) PutArm(ctx context.Context, r ArmRecord, events ...coleo.Event) error {
	return h.PutArmWith(ctx, r, nil, nil, events...)
}

// PutArmWith does the same as PutArm. In the same transaction, it also writes the change c that a
// tool has made, unless c is nil, and adds amounts to accounts.
func (h *HostDB) PutArmWith(ctx context.Context, r ArmRecord, c *ToolChange, cost []Spending,
	events ...coleo.Event) error {
	if err := checkRecord(r); err != nil {
		return err
	}
	_, err := h.append(ctx, intent, events, func(tx *sql.Tx) error {
		_, err := tx.Exec(upsertStatement("arms", recordFields(&r)), recordCells(&r)...)
		if err == nil && c != nil {
			err = c.write(tx)
		}
		if err == nil {
			err = addSpending(tx, cost)
		}
		return err
	})
	if sqlite.Taken(err) {
		return nameTaken(r.Name)
	}
	if err != nil {
		return fmt.Errorf("write arm %s: %w", r.Name, err)
	}
	return nil
}

func checkRecord(r ArmRecord) error {
	if r.Desired != coleo.DesiredRunning && r.Desired != coleo.DesiredStopped {
		return coleo.Errorf(coleo.EInvalid, "arm %q: an arm is meant to be running or stopped, not %q", r.Name,
			r.Desired)
	}
	return checkArm(r.ID, r.Name, r.Harness, r.Status)
}

// Observed contains observations of an arm. Observe ignores fields with the zero value.
type Observed struct {
	Status        coleo.Status
	State         coleo.State
	Rule          string
	LastActivity  time.Time
	LastOutput    time.Time
	LastHeartbeat time.Time
}

// Observe stores observations of an arm. It does not wait until the observations are on
// the disk. It returns ENotFound if there is no such arm.
func (h *HostDB) Observe(ctx context.Context, id string, o Observed) error {
	return h.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		done, err := tx.Exec(`UPDATE arms SET
				status = COALESCE(?, status), state = COALESCE(?, state), rule = COALESCE(?, rule),
				last_activity_at = COALESCE(?, last_activity_at),
				last_output_at = COALESCE(?, last_output_at),
				last_heartbeat = COALESCE(?, last_heartbeat)
			WHERE id = ?`,
			textOf(&o.Status), textOf(&o.State), textOf(&o.Rule),
			moment{&o.LastActivity}, moment{&o.LastOutput}, moment{&o.LastHeartbeat}, id)
		return oneRow(done, err, id)
	})
}

// AppendWork appends events of work. In the same transaction, it adds the cost of the work, and
// stores how far the sources of the work have been read. AppendWork does not wait for the disk. If
// a power failure undoes the write, the sources are read again. AppendWork returns ENotFound if
// there is no such arm.
func (h *HostDB) AppendWork(ctx context.Context, arm string, t trace.State, cost []Spending,
	events ...coleo.Event) error {
	_, err := h.append(ctx, ordinary, events, func(tx *sql.Tx) error {
		if err := addSpending(tx, cost); err != nil {
			return err
		}
		done, err := tx.Exec("UPDATE arms SET trace = ? WHERE id = ?", documentOf(&t), arm)
		return oneRow(done, err, arm)
	})
	return err
}

// Arm returns the arm with the given id, or else the arm with the given name. If there is no such
// arm, Arm returns ENotFound.
func (h *HostDB) Arm(ctx context.Context, idOrName string) (ArmRecord, error) {
	var r ArmRecord
	err := h.db.reader.QueryRowContext(ctx, "SELECT "+columns(recordFields(&r))+" FROM arms "+byIDOrName, idOrName).
		Scan(recordCells(&r)...)
	if err != nil {
		return ArmRecord{}, readingArm(err, idOrName)
	}
	return r, nil
}

// Arms returns all arms of this host, sorted by name.
func (h *HostDB) Arms(ctx context.Context) ([]ArmRecord, error) {
	var shape ArmRecord
	rows, err := h.db.reader.QueryContext(ctx, "SELECT "+columns(recordFields(&shape))+" FROM arms ORDER BY name")
	list, err := collect(rows, err, recordCells)
	if err != nil {
		return nil, fmt.Errorf("read the arms: %w", err)
	}
	return list, nil
}

// DeleteArm deletes the record of an arm, and everything that the arm's model has stored with
// Coleo's tools. The arm's events stay in the log. DeleteArm returns ENotFound if there is no such
// arm.
func (h *HostDB) DeleteArm(ctx context.Context, id string) error {
	return h.db.write(ctx, intent, func(tx *sql.Tx) error {
		if err := forgetTools(tx, id); err != nil {
			return err
		}
		done, err := tx.Exec("DELETE FROM arms WHERE id = ?", id)
		return oneRow(done, err, id)
	})
}

// byIDOrName selects one arm by its id or by its name. If both match different arms, byIDOrName
// selects the arm with the id.
const byIDOrName = "WHERE id = ?1 OR name = ?1 ORDER BY id = ?1 DESC LIMIT 1"

func noArm(what string) error {
	return coleo.Errorf(coleo.ENotFound, "no arm called %q", what)
}

func nameTaken(name string) error {
	return coleo.Errorf(coleo.EConflict, "an arm called %q exists already", name)
}

func readingArm(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return noArm(what)
	}
	return fmt.Errorf("read arm %s: %w", what, err)
}

// oneRow returns ENotFound if the statement has not changed a row.
func oneRow(done sql.Result, err error, id string) error {
	if err != nil {
		return fmt.Errorf("write arm %s: %w", id, err)
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		return noArm(id)
	}
	return err
}

// checkArm returns EInvalid for a row that the database would reject, because SQLite's own error
// message is less clear.
func checkArm(id, name, harness string, status coleo.Status) error {
	if err := armname.Check(name); err != nil {
		return err
	}
	switch {
	case id == "":
		return coleo.Errorf(coleo.EInvalid, "arm %q has no id", name)
	case harness == "":
		return coleo.Errorf(coleo.EInvalid, "arm %q has no harness", name)
	}
	switch status { // the database also allows "running", but Coleo never sets this status
	case coleo.StatusStarting, coleo.StatusRunning, coleo.StatusIdle, coleo.StatusBusy, coleo.StatusPaused,
		coleo.StatusError, coleo.StatusStopped, coleo.StatusPlanningBlocked:
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "arm %q: there is no status %q", name, status)
}
