package host

import (
	"context"
	"time"

	"coleo.dev/store"
)

const (
	// thinEvery is the time between two searches for old events.
	thinEvery = time.Minute
	// thinMost bounds the number of transactions with which one search deletes events.
	// Twenty transactions with 500 events each take about 200 ms. A search begins once
	// a minute.
	thinMost = 20
)

// noteRead notes the position up to which serve has read the log. If serve asks for the
// events after a position, serve has already stored all events up to this position.
func (h *Host) noteRead(seq uint64) {
	for {
		known := h.read.Load()
		if seq <= known || h.read.CompareAndSwap(known, seq) {
			return
		}
	}
}

// retain deletes old events until ctx ends. Each pass deletes a bounded number of
// events.
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

// thinLog deletes old events of arms. It begins with the arm that follows the given arm
// id. It returns the arm id for the next call. It deletes an event only if serve has
// certainly read it.
func (h *Host) thinLog(ctx context.Context, arm string, now time.Time, b store.Bound) (string, error) {
	deleted := false
	for range thinMost {
		next, n, err := h.DB.Thin(ctx, arm, h.read.Load(), now, b)
		if err != nil {
			return arm, err
		}
		deleted = deleted || n > 0
		if n == 0 {
			arm = next // otherwise the same arm may have more old events
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
