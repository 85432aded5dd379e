package brain

import (
	"context"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/repeat"
	"coleo.dev/store"
)

// tidyEvery is the time between two passes of tidy. Each pass fills up the reserve file
// and deletes old rows.
const tidyEvery = 30 * time.Second

// maintenanceTask returns the task that maintains the database.
func (b *Brain) maintenanceTask() repeat.Task {
	arm, runsOf := "", ""
	return repeat.Task{ID: "maintain the database", Every: tidyEvery, Immediate: true,
		Do: func(ctx context.Context) error {
			err := b.DB.KeepReserve()
			if err == nil {
				arm, err = b.thin(ctx, arm, store.ServeBound, store.AuditBound)
				runsOf, err = b.thinRuns(ctx, runsOf, err)
			}
			return err
		}}
}

// thinMost is the largest number of transactions in which one call of thin deletes
// events. Each transaction deletes at most 500 rows. 20 such transactions take about
// 200 ms together.
const thinMost = 20

// thin deletes old records of commands and old events. For the events, it begins with the arm whose
// id follows the given arm id. It returns the arm id for the next call.
func (b *Brain) thin(ctx context.Context, arm string, events, commands store.Bound) (string, error) {
	deleted, err := b.DB.ThinAudit(ctx, b.Now(), commands)
	for range thinMost {
		if err != nil {
			return arm, err
		}
		var next string
		var n int
		if next, n, err = b.DB.Thin(ctx, arm, b.Now(), events); n == 0 && err == nil {
			arm = next // stay if n is not 0, because this arm can have more old events
		}
		if deleted += n; next == "" {
			break
		}
	}
	if deleted == 0 || err != nil {
		return arm, err
	}
	return arm, b.DB.Vacuum(ctx)
}

// thinRuns deletes old usage. It also deletes old runs of the arm whose id follows the given arm
// id. It returns the arm id for the next call. If the caller passes the error of an earlier step,
// thinRuns does nothing and returns this error.
func (b *Brain) thinRuns(ctx context.Context, arm string, err error) (string, error) {
	if err != nil {
		return arm, err
	}
	if err := b.DB.ThinUsage(ctx, b.Now(), store.UsageBound); err != nil {
		return arm, err
	}
	next, n, err := b.DB.ThinRuns(ctx, arm, b.Now(), store.RunBound)
	if n > 0 || err != nil {
		return arm, err // this arm can have more old runs
	}
	return next, nil
}

// project writes events into the store. If the disk is full and one of the events ends or removes
// an arm, project uses the reserve file.
func (b *Brain) project(ctx context.Context, events []coleo.Event, deleted uint64) error {
	err := b.DB.ProjectPast(ctx, events, deleted)
	ends := slices.ContainsFunc(events, func(e coleo.Event) bool {
		return e.Kind == coleo.EventStopped || e.Kind == coleo.EventRemoved
	})
	for ends && store.NoRoom(err) && b.DB.GiveUpReserve() {
		err = b.DB.ProjectPast(ctx, events, deleted)
	}
	return err
}

// forget deletes an arm's row from the store. If the disk is full, forget uses the
// reserve file.
func (b *Brain) forget(ctx context.Context, id string) error {
	err := b.DB.DeleteArm(ctx, id)
	for store.NoRoom(err) && b.DB.GiveUpReserve() {
		err = b.DB.DeleteArm(ctx, id)
	}
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return nil
	}
	return err
}

// isOver reports whether an arm has stopped. If the row does not say so, isOver asks the arm's host
// agent. The row can be out of date because the disk was full.
func (b *Brain) isOver(ctx context.Context, arm coleo.Arm) bool {
	if arm.Status == coleo.StatusStopped || arm.AgentID == "" {
		return arm.Status == coleo.StatusStopped
	}
	var r bus.ArmReport
	err := b.askAboutArm(ctx, arm, bus.OpReport, bus.DefaultTimeout, onArm(arm), &r)
	return err == nil && !r.Attached && r.Proof == bus.Gone && r.Process == bus.ProcessDead &&
		r.Generation >= arm.Generation
}
