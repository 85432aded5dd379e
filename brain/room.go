package brain

import (
	"context"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// tidyEvery is between two looks after the database: whether it has its reserve.
const tidyEvery = 30 * time.Second

// tidy looks after the database until ctx ends.
func (b *Brain) tidy(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		if err := b.DB.KeepReserve(); err != nil {
			b.Log.Warn("keep a reserve", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// project writes events into the store. On a full disk those that end or remove an
// arm may use the reserve.
func (b *Brain) project(ctx context.Context, events []coleo.Event) error {
	err := b.DB.Project(ctx, events)
	ends := slices.ContainsFunc(events, func(e coleo.Event) bool {
		return e.Kind == coleo.EventStopped || e.Kind == coleo.EventRemoved
	})
	for ends && store.NoRoom(err) && b.DB.GiveUpReserve() {
		err = b.DB.Project(ctx, events)
	}
	return err
}

// forget deletes an arm's row. On a full disk it may use the reserve.
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

// isOver tells whether an arm has stopped: by its row, or by its host agent's word,
// which a full disk may have kept out of the row.
func (b *Brain) isOver(ctx context.Context, arm coleo.Arm) bool {
	if arm.Status == coleo.StatusStopped || arm.AgentID == "" {
		return arm.Status == coleo.StatusStopped
	}
	var r bus.ArmReport
	err := b.ask(ctx, arm, bus.OpReport, bus.DefaultTimeout, onArm(arm), &r)
	return err == nil && !r.Attached && r.Proof == bus.Gone && r.Process == bus.ProcessDead && r.Generation >= arm.Generation
}
