package host

import (
	"context"
	"time"

	"coleo.dev/store"
)

const (
	// thinEvery is between two looks for old events.
	thinEvery = time.Minute
	// thinMost is how many transactions delete events in one look: with 500 events
	// in each, some 200 ms of a minute.
	thinMost = 20
)

// noteRead notes how far serve has the log, by what it asked for. It asks for what
// is behind events that it has written down.
func (h *Host) noteRead(seq uint64) {
	for {
		known := h.read.Load()
		if seq <= known || h.read.CompareAndSwap(known, seq) {
			return
		}
	}
}

// retain deletes old events until ctx ends, a bounded number at a time.
func (h *Host) retain(ctx context.Context) {
	tick := time.NewTicker(thinEvery)
	defer tick.Stop()
	for arm := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var err error
		if arm, err = h.thinLog(ctx, arm, h.Now(), store.HostBound); err != nil && ctx.Err() == nil {
			h.Log.Warn("delete old events", "error", err)
		}
	}
}

// thinLog deletes old events of the arms behind one, by id, and returns the arm to go
// on from. It deletes none that serve may not have read.
func (h *Host) thinLog(ctx context.Context, arm string, now time.Time, b store.Bound) (string, error) {
	deleted := false
	for range thinMost {
		next, n, err := h.DB.Thin(ctx, arm, h.read.Load(), now, b)
		if err != nil {
			return arm, err
		}
		deleted = deleted || n > 0
		if n == 0 {
			arm = next // else there may be more of it
		}
		if next == "" {
			break
		}
	}
	if !deleted {
		return arm, nil
	}
	return arm, h.DB.Vacuum(ctx)
}
