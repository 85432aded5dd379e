// Package upkeep keeps serve's database small. It deletes old events, commands, runs and usage. It
// also fills up the reserve file, which provides room on a full disk.
//
// Package store decides what is old.
package upkeep

import (
	"context"
	"time"

	"coleo.dev/repeat"
	"coleo.dev/store"
)

// every is the interval at which Task maintains the database.
const every = 30 * time.Second

// Task returns the task that maintains a database. Each run fills up the reserve file, and deletes old
// rows.
func Task(db *store.ServeDB, now func() time.Time) repeat.Task {
	k := keeper{db, now}
	arm, runsOf := "", ""
	return repeat.Task{ID: "maintain the database", Every: every, Immediate: true,
		Do: func(ctx context.Context) error {
			if err := k.db.KeepReserve(); err != nil {
				return err
			}
			var err error
			if arm, err = k.thin(ctx, arm, store.ServeBound, store.AuditBound); err != nil {
				return err
			}
			runsOf, err = k.thinRuns(ctx, runsOf)
			return err
		}}
}

// keeper deletes old rows of a database.
type keeper struct {
	db  *store.ServeDB
	now func() time.Time
}

// thinMost is the largest number of transactions in which one call of thin deletes events. Each
// transaction deletes at most 500 rows, and 20 transactions take about 200 ms.
const thinMost = 20

// thin deletes old events, and old records of commands. It deletes the events of one or more arms, beginning
// with the first arm whose id is higher than `arm`. It returns the value of `arm` for the next call.
func (k keeper) thin(ctx context.Context, arm string, events, commands store.Bound) (string, error) {
	deleted, err := k.db.ThinAudit(ctx, k.now(), commands)
	for range thinMost {
		if err != nil {
			return arm, err
		}
		var next string
		var n int
		if next, n, err = k.db.Thin(ctx, arm, k.now(), events); n == 0 && err == nil {
			// the arm has no more old events, so go on with the next arm
			arm = next
		}
		if deleted += n; next == "" {
			break
		}
	}
	if deleted == 0 || err != nil {
		return arm, err
	}
	return arm, k.db.Vacuum(ctx)
}

// thinRuns deletes old usage. It also deletes old runs of one arm: the first arm whose id is higher than
// `arm`. It returns the value of `arm` for the next call.
func (k keeper) thinRuns(ctx context.Context, arm string) (string, error) {
	if err := k.db.ThinUsage(ctx, k.now(), store.UsageBound); err != nil {
		return arm, err
	}
	next, n, err := k.db.ThinRuns(ctx, arm, k.now(), store.RunBound)
	if n > 0 || err != nil {
		return arm, err // the next call gets the same value, because the arm can have more old runs
	}
	return next, nil
}
