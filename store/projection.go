package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"

	"coleo.dev"
)

// projection writes one batch of events into serve.db. Its statements are valid until the end of
// its transaction.
type projection struct {
	ctx   context.Context
	tx    *sql.Tx
	arms  map[string]*rowChange
	runs  map[string]*runRow
	hosts map[string]*hostProgress
	last  uint64 // the position of the last added event

	insertEvent, readRow, saveRow *sql.Stmt // the statements of ServeDB with the same names, for this transaction

	deleted uint64 // the highest number of an event that the host may have deleted
}

// hostProgress is the position of the last projected event in a host's log.
type hostProgress struct {
	epoch string
	seq   uint64

	// the number of the last event of the host's backlog (see MeetHost); 0 if the whole backlog was projected
	backlog    uint64
	backlogEnd uint64 // the position in serve's log of the last event of the backlog that was projected
}

// rowChange contains the row of an arm before and after a batch. An empty ID means that the arm has
// no row.
type rowChange struct {
	before, after coleo.Arm
}

// add stores one event, and applies it to the row of the event's arm. If the event is already
// stored, add does nothing.
func (p *projection) add(e *coleo.Event) error {
	fresh, err := p.acceptNew(e)
	if err != nil || !fresh {
		return err
	}
	if err := p.insert(e); err != nil {
		return err
	}
	p.hosts[e.Host].passBacklog(e.Seq, p.last)
	if e.Arm != "" && e.Kind.ChangesArm() {
		arm, err := p.arm(e.Arm)
		if err != nil {
			return err
		}
		arm.after = Apply(arm.after, *e)
	}
	if err := p.addUsage(e); err != nil {
		return err
	}
	return p.addToRun(e)
}

// passBacklog updates the backlog's fields after the event with the number `seq` was stored at a
// position of serve's log.
func (r *hostProgress) passBacklog(seq, position uint64) {
	if seq <= r.backlog {
		r.backlogEnd = position
	}
	if seq >= r.backlog {
		r.backlog = 0
	}
}

// addToRun applies an event to the row of the event's run. It must be called after the event was
// applied to the row of the event's arm.
func (p *projection) addToRun(e *coleo.Event) error {
	if e.Run == "" {
		return nil
	}
	run, err := p.run(e.Run)
	if err != nil {
		return err
	}
	if run.Run = ApplyRun(run.Run, *e); run.first == 0 {
		run.first = int64(p.last)
	}
	run.last = int64(p.last)
	if run.ArmName != "" && run.Harness != "" || e.Kind.IsWork() && run.Events > 1 {
		return nil
	}
	arm, err := p.arm(e.Arm)
	if err != nil {
		return err
	}
	// if the arm's name in the row is its id, the real name is not known yet
	if run.ArmName == "" && arm.after.Name != arm.after.ID {
		run.ArmName = arm.after.Name
	}
	if run.Harness == "" {
		run.Harness = arm.after.Harness
	}
	return nil
}

func (p *projection) run(id string) (*runRow, error) {
	if run, ok := p.runs[id]; ok {
		return run, nil
	}
	row, err := scanRun(p.readRow.QueryRow(id), id)
	p.runs[id] = &row
	return &row, err
}

// acceptNew reports whether an event is new. For a new event, it moves the host's cursor to the
// event. If serve's log lacks events before the new event, there are two cases:
//
//   - The host has deleted them: acceptNew records a gap, and accepts the event.
//   - The host may still have them: acceptNew returns EConflict.
//
// A new epoch does not prove that events are missing. The epoch changes each time the host opens its
// database. If the database was restored from a copy, the log also continues at a lower number.
// Therefore acceptNew accepts the first event of an epoch if serve has stored the event with the
// number before it.
func (p *projection) acceptNew(e *coleo.Event) (bool, error) {
	at, err := p.progressOf(e.Host)
	if err != nil {
		return false, err
	}
	same := at.epoch == e.Epoch
	switch {
	case same && e.Seq <= at.seq:
		return false, nil
	case same && e.Seq == at.seq+1:
	case p.isStored(e):
		return false, nil
	case e.Seq > 1 && e.Seq-1 <= p.deleted && (same || !p.precedes(e)):
		if err := p.keepGap(e); err != nil {
			return false, err
		}
	case e.Seq > 1 && (same || !p.precedes(e)):
		return false, coleo.Errorf(coleo.EConflict, "events before event %d of host %s (epoch %s) are missing",
			e.Seq, e.Host, e.Epoch)
	}
	at.epoch, at.seq = e.Epoch, e.Seq
	return true, nil
}

// keepGap records that events before the event e are missing, because the host deleted them before
// serve read them.
func (p *projection) keepGap(e *coleo.Event) error {
	_, err := p.tx.Exec(`INSERT INTO gaps (host, deleted) VALUES (?1, ?2)
		ON CONFLICT (host) DO UPDATE SET deleted = MAX(deleted, excluded.deleted)`, e.Host, int64(e.Seq-1))
	if err != nil {
		return fmt.Errorf("write down what is gone of the log of host %s: %w", e.Host, err)
	}
	return nil
}

// precedes reports whether the host's event with the number e.Seq-1 is stored, no matter in which
// epoch.
func (p *projection) precedes(e *coleo.Event) bool {
	var found bool
	err := p.tx.QueryRow(`WITH RECURSIVE epochs (epoch) AS (
		SELECT MIN(epoch) FROM run_events WHERE host = ?1
		UNION ALL
		SELECT (SELECT MIN(epoch) FROM run_events WHERE host = ?1 AND epoch > epochs.epoch) FROM epochs
			WHERE epochs.epoch IS NOT NULL)
		SELECT EXISTS (SELECT 1 FROM epochs JOIN run_events AS r ON r.host = ?1 AND r.epoch = epochs.epoch AND r.seq = ?2)`,
		e.Host, int64(e.Seq-1)).Scan(&found)
	return err == nil && found
}

func (p *projection) progressOf(host string) (*hostProgress, error) {
	if at, ok := p.hosts[host]; ok {
		return at, nil
	}
	epoch, seq, err := readCursor(p.ctx, p.tx, host)
	if err != nil {
		return nil, fmt.Errorf("read the cursor of host %s: %w", host, err)
	}
	at := &hostProgress{epoch: epoch, seq: seq}
	err = p.tx.QueryRow("SELECT head, pos FROM backlogs WHERE host = ?", host).Scan(&at.backlog, &at.backlogEnd)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read the backlog of host %s: %w", host, err)
	}
	p.hosts[host] = at
	return at, nil
}

// isStored asks the database whether serve's log contains an event. If the event and its host's cursor
// have the same epoch, the caller can compare the event's number with the cursor instead.
func (p *projection) isStored(e *coleo.Event) bool {
	var one int
	return p.tx.QueryRow("SELECT 1 FROM run_events WHERE host = ? AND epoch = ? AND seq = ?",
		e.Host, e.Epoch, int64(e.Seq)).Scan(&one) == nil
}

// serveInsertion is the statement that adds an event to serve's log.
var serveInsertion = insertion("run_events", append(eventFields(&coleo.Event{}), field{name: "host"},
	field{name: "epoch"}, field{name: "seq"}))

func (p *projection) insert(e *coleo.Event) error {
	done, err := p.insertEvent.Exec(append(cells(eventFields(e)), e.Host, e.Epoch, int64(e.Seq))...)
	if err != nil {
		return fmt.Errorf("event %d of host %s: %w", e.Seq, e.Host, err)
	}
	pos, err := done.LastInsertId()
	p.last = uint64(pos)
	return err
}

func (p *projection) arm(id string) (*rowChange, error) {
	if arm, ok := p.arms[id]; ok {
		return arm, nil
	}
	row, err := readArm(p.ctx, p.tx, "WHERE id = ?", id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read arm %s: %w", id, err)
	}
	arm := &rowChange{before: row, after: row}
	p.arms[id] = arm
	return arm, nil
}

// save writes the changed rows of the batch, and the new cursors.
func (p *projection) save() error {
	for host, at := range p.hosts {
		_, err := p.tx.Exec(`INSERT INTO cursors (host, epoch, seq) VALUES (?, ?, ?)
			ON CONFLICT (host) DO UPDATE SET epoch = excluded.epoch, seq = excluded.seq`, host, at.epoch, int64(at.seq))
		if err != nil {
			return fmt.Errorf("write the cursor of host %s: %w", host, err)
		}
		_, err = p.tx.Exec("UPDATE backlogs SET head = ?1, pos = ?2 WHERE host = ?3 AND (head <> ?1 OR pos <> ?2)",
			int64(at.backlog), int64(at.backlogEnd), host)
		if err != nil {
			return fmt.Errorf("write the backlog of host %s: %w", host, err)
		}
	}
	for id, arm := range p.arms {
		if err := p.saveArm(arm); err != nil {
			return fmt.Errorf("write arm %s: %w", id, err)
		}
	}
	return p.saveRuns()
}

func (p *projection) saveRuns() error {
	for _, run := range p.runs {
		if _, err := p.saveRow.Exec(cells(runFields(run))...); err != nil {
			return fmt.Errorf("write run %s: %w", run.ID, err)
		}
	}
	clear(p.runs)
	return nil
}

// newProjection returns an empty projection for a transaction.
func newProjection(ctx context.Context, tx *sql.Tx) *projection {
	return &projection{ctx: context.WithoutCancel(ctx), tx: tx, arms: map[string]*rowChange{},
		runs: map[string]*runRow{}, hosts: map[string]*hostProgress{}}
}

func (p *projection) saveArm(arm *rowChange) error {
	var err error
	switch {
	case reflect.DeepEqual(arm.after, arm.before):
		return nil
	case arm.after.ID == "":
		_, err = p.tx.Exec("DELETE FROM arms WHERE id = ?", arm.before.ID)
		return err
	case arm.after.AgentID != arm.before.AgentID:
		if err := setHostname(p.tx, &arm.after); err != nil {
			return err
		}
	}
	if arm.before.ID != "" {
		return updateArm(p.tx, &arm.after)
	}
	// If another arm has the name, write no row. An error would keep serve from storing the log's
	// later events. The arm's next start creates the row, if the name is free then.
	_, err = p.tx.Exec(insertion("arms", armFields(&arm.after))+" ON CONFLICT DO NOTHING", armCells(&arm.after)...)
	return err
}

// setHostname sets arm.Host to the name of the machine on which the arm's host agent runs.
func setHostname(tx *sql.Tx, arm *coleo.Arm) error {
	err := tx.QueryRow("SELECT COALESCE(hostname, '') FROM hosts WHERE id = ?", arm.AgentID).Scan(&arm.Host)
	if errors.Is(err, sql.ErrNoRows) {
		arm.Host, err = "", nil
	}
	return err
}
