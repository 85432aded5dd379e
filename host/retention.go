package host

import (
	"context"
	"time"

	"coleo.dev/store"
)

const (
	// thinEvery is the time between two looks for old events.
	thinEvery = time.Minute
	// thinMost bounds the transactions of one look that delete events. With 500 events
	// each, they take about 200 ms of a minute.
	thinMost = 20
)

// noteRead notes the position up to which serve has read the log. When serve asks for the
// events after a position, it has stored all events up to that position.
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

// thinLog deletes old events of the arms whose ids follow arm. It returns the arm to
// continue with. It deletes no event that serve may not have read.
func (h *Host) thinLog(ctx context.Context, arm string, now time.Time, b store.Bound) (string, error) {
	deleted := false
	for range thinMost {
		next, n, err := h.DB.Thin(ctx, arm, h.read.Load(), now, b)
		if err != nil {
			return arm, err
		}
		deleted = deleted || n > 0
		if n == 0 {
			arm = next // otherwise there may be more of the same arm
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
