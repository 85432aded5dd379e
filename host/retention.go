package host

import (
	"context"
	"time"

	"coleo.dev/repeat"
	"coleo.dev/store"
)

const (
	// thinEvery is the time between two searches for old events.
	thinEvery = time.Minute
	// thinMost is the maximum number of transactions in one search. Each transaction
	// deletes at most 500 events. 20 transactions take about 200 ms, once a minute.
	thinMost = 20
)

// noteRead notes that serve has stored the events up to number seq. This is certain
// when serve asks for the events after seq.
func (h *Host) noteRead(seq uint64) {
	for {
		known := h.read.Load()
		if seq <= known || h.read.CompareAndSwap(known, seq) {
			return
		}
	}
}

// retain returns the task that deletes old events. Each time, it deletes a bounded number
// of events.
func (h *Host) retain() repeat.Task {
	arm := ""
	return repeat.Task{ID: "delete old events", Every: thinEvery, Do: func(ctx context.Context) (err error) {
		arm, err = h.thinLog(ctx, arm, h.Now(), store.HostBound)
		return err
	}}
}

// thinLog deletes old events that serve has read. It begins with the next arm after the
// given arm id. It returns the arm id for the next call.
func (h *Host) thinLog(ctx context.Context, arm string, now time.Time, b store.Bound) (string, error) {
	deleted := false
	for range thinMost {
		next, n, err := h.DB.Thin(ctx, arm, h.read.Load(), now, b)
		if err != nil {
			return arm, err
		}
		deleted = deleted || n > 0
		if n == 0 {
			arm = next // stay if n is not 0, because this arm can have more old events
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
