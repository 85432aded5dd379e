package host

import (
	"context"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/repeat"
	"coleo.dev/store"
)

// littleRoom is a number of free bytes, several times as much as a holder writes at
// once. If the disk has less room, the host agent asks the holders whether they can
// still write.
const littleRoom = 4 << 20

// fullDisk is a lock. With it, only one goroutine at a time asks the holders whether they can
// write.
type fullDisk struct {
	mu      sync.Mutex
	looking bool
}

// lookBlocked asks the holders in the background whether their arms are blocked. It
// does so only if the disk is almost full, or if an arm is blocked. At other times, the
// host agent asks the holders only before each beat.
func (h *Host) lookBlocked() {
	left, known := store.Room(h.Dir)
	need := known && left < littleRoom
	arms := h.all()
	for _, a := range arms {
		need = need || a.standsStill() != ""
	}
	h.full.mu.Lock()
	defer h.full.mu.Unlock()
	if !need || h.full.looking {
		return
	}
	h.full.looking = true
	h.runs.Go(func() {
		for i, r := range reports(arms) {
			if r.Proof == bus.Proven || r.Proof == bus.Silent {
				arms[i].noteBlocked(h.ctx, r.Blocked)
			}
		}
		h.full.mu.Lock()
		h.full.looking = false
		h.full.mu.Unlock()
	})
}

// standsStill returns the reason why the arm cannot continue, or "" if it can.
func (a *arm) standsStill() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session == nil {
		return ""
	}
	return a.blocked
}

// noteBlocked records the reason why the arm is blocked, or "" if it is no longer
// blocked. An arm is blocked if its journal cannot be written, or if its holder does
// not reply. If the reason is the same as before, noteBlocked writes nothing.
func (a *arm) noteBlocked(ctx context.Context, why string) {
	a.mu.Lock()
	same, id := a.blocked == why, a.record.ID
	a.blocked = why
	a.mu.Unlock()
	if same {
		return
	}
	if err := a.host.append(ctx, event(id, coleo.EventBlocked, coleo.Note{Text: why})); err != nil {
		a.host.Log.Error("record that the arm is blocked", "arm", a.name(), "blocked", why, "error", err)
	}
}

const (
	// thinEvery is the time between two searches for old events.
	thinEvery = time.Minute
	// thinMost is the largest number of transactions in one search for old events. Each transaction
	// deletes at most 500 events. 20 transactions take about 200 ms, once a minute.
	thinMost = 20
)

// noteRead notes that serve has stored the events up to a number. This is certain when serve asks
// for the events after that number.
func (h *Host) noteRead(seq uint64) {
	for {
		known := h.read.Load()
		if seq <= known || h.read.CompareAndSwap(known, seq) {
			return
		}
	}
}

// retain returns the task that deletes old events. Each run of the task deletes a bounded number of
// events.
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
