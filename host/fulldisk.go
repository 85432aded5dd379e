package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/repeat"
	"coleo.dev/store"
	"coleo.dev/store/reserve"
)

// If fewer than littleRoom bytes are free on the disk, the host agent asks the holders whether they
// can still write. A holder writes far less than littleRoom at once.
const littleRoom = 4 << 20

// fullDisk makes sure that only one goroutine at a time asks the holders whether they can write.
type fullDisk struct {
	mu      sync.Mutex
	looking bool
}

// lookBlocked asks each holder in the background whether its arm is blocked. It asks only if the
// disk is almost full, or if an arm was blocked when the host agent last asked. In all other cases,
// it leaves this question to the next beat, the report that the host agent publishes every 30 s.
func (h *Host) lookBlocked() {
	left, known := reserve.FreeBytes(h.Dir)
	need := known && left < littleRoom
	arms := h.allArms()
	for _, a := range arms {
		need = need || a.blockedReason() != ""
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

// blockedReason returns the reason why the arm cannot continue, or "" if it can.
func (a *arm) blockedReason() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session == nil {
		return ""
	}
	return a.blocked
}

// noteBlocked records the reason why the arm is blocked, or "" if it is no longer blocked. An arm
// is blocked if its journal cannot be written, or if its holder does not reply. If the reason has
// not changed, noteBlocked writes nothing.
func (a *arm) noteBlocked(ctx context.Context, why string) {
	a.mu.Lock()
	same, id := a.blocked == why, a.record.ID
	a.blocked = why
	a.mu.Unlock()
	if same {
		return
	}
	if err := a.host.append(ctx, armrecord.Event(id, coleo.EventBlocked, coleo.Note{Text: why})); err != nil {
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

// noteRead records that serve has stored all events up to the given number. Serve proves this when
// it asks for the events after that number.
func (h *Host) noteRead(seq uint64) {
	for {
		known := h.read.Load()
		if seq <= known || h.read.CompareAndSwap(known, seq) {
			return
		}
	}
}

// retain returns the task that deletes old events. Each run deletes a limited number of events.
func (h *Host) retain() repeat.Task {
	arm := ""
	return repeat.Task{ID: "delete old events", Every: thinEvery, Do: func(ctx context.Context) (err error) {
		arm, err = h.thinLog(ctx, arm, h.Now(), store.HostBound)
		return err
	}}
}

// thinLog deletes old events that serve has read. It begins with the arm after the given one, and
// returns the arm id to pass to the next call.
func (h *Host) thinLog(ctx context.Context, arm string, now time.Time, b store.Bound) (string, error) {
	deleted := false
	for range thinMost {
		next, n, err := h.DB.Thin(ctx, arm, h.read.Load(), now, b)
		if err != nil {
			return arm, err
		}
		deleted = deleted || n > 0
		if n == 0 {
			arm = next // nothing was deleted, so this arm has no more old events
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

// A purpose is the reason for a write. It determines what happens to the write on a full disk.
type purpose string

const (
	// intended is for something that has not begun. On a full disk, the write fails, and the caller
	// must not begin.
	intended purpose = "intended"
	// happened is for something that was done or seen. On a full disk, the write waits in memory
	// until the disk has room.
	happened purpose = "happened"
	// ending is like happened, but for the end or the removal of an arm. On a full disk, the write
	// can use the reserve file.
	ending purpose = "ending"
)

const (
	// owedMost is the largest number of writes that wait in memory. It limits the memory of the
	// host agent.
	owedMost = 10_000
	// owedBytes is the largest total size of the event payloads in the waiting writes, in bytes. It
	// also limits the memory.
	owedBytes = 32 << 20
	// retryOwedEvery is the time between two attempts to carry out the waiting writes. It is short,
	// so that the log is complete soon after the disk has room.
	retryOwedEvery = time.Second
)

// diskWrite is one transaction: events, and the update or the removal of an arm's record.
type diskWrite struct {
	events []coleo.Event
	put    *arm              // the arm whose record is written, in its state at the time of the write
	traced *arm              // the arm of whose record only the trace is written, in its state at that time
	cost   []store.Spending  // what model calls have cost; only if `put` or `traced` is set
	forget string            // the id of the arm whose record is removed; empty if none is
	tools  *store.ToolChange // a change of the state of Coleo's tools; only `put` may be set at the same time
}

// owedWrites contains, in order, the writes that wait because the disk is full.
type owedWrites struct {
	mu       sync.Mutex // held during each write of this host agent, to keep the order
	list     []diskWrite
	bytes    int
	retrying bool // the goroutine of retryOwedWrites is running
}

// Host.write carries out the waiting transactions, and then the given one. If ctx ends meanwhile,
// it still completes the given transaction, so that no part of the changes is lost.
func (h *Host) write(ctx context.Context, p purpose, w diskWrite) error {
	if err := ctx.Err(); err != nil && p == intended {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	h.stamp(w.events)
	h.owedWrites.mu.Lock()
	defer h.owedWrites.mu.Unlock()
	err := h.flushOwedWrites(ctx)
	if err == nil {
		err = h.writeNow(ctx, w)
	}
	for p == ending && store.NoRoom(err) && h.DB.GiveUpReserve() {
		if err = h.flushOwedWrites(ctx); err == nil {
			err = h.writeNow(ctx, w)
		}
	}
	if p == intended || !store.NoRoom(err) || len(h.owedWrites.list) >= owedMost || h.owedWrites.bytes >= owedBytes {
		return err
	}
	h.Log.Warn("the disk is full: new events are kept in memory",
		"events", len(w.events), "error", err)
	h.owedWrites.list = append(h.owedWrites.list, w)
	for _, e := range w.events {
		h.owedWrites.bytes += len(e.Payload)
	}
	if !h.owedWrites.retrying {
		h.owedWrites.retrying = true
		h.runs.Go(h.retryOwedWrites)
	}
	return nil
}

// writeNow carries out one transaction, and reports to serve that the log has grown. The caller
// holds owedWrites.mu.
func (h *Host) writeNow(ctx context.Context, w diskWrite) error {
	var err error
	switch {
	case w.put != nil:
		w.put.mu.Lock()
		record := w.put.record
		w.put.mu.Unlock()
		err = h.DB.PutArmWith(ctx, record, w.tools, w.cost, w.events...)
	case w.traced != nil:
		w.traced.mu.Lock()
		id, state := w.traced.record.ID, w.traced.record.Trace
		w.traced.mu.Unlock()
		err = h.DB.AppendWork(ctx, id, state, w.cost, w.events...)
	case w.tools != nil:
		err = h.DB.ChangeTools(ctx, *w.tools, w.events...)
	case w.forget != "":
		if err = h.DB.DeleteArm(ctx, w.forget); coleo.ErrorCode(err) == coleo.ENotFound {
			err = nil
		}
	}
	if err == nil && w.put == nil && w.traced == nil && w.tools == nil {
		_, err = h.DB.Append(ctx, w.events...)
	}
	if err == nil && len(w.events) > 0 {
		h.noteGrowth()
	}
	return err
}

// flushOwedWrites carries out the waiting writes. The caller holds owedWrites.mu.
func (h *Host) flushOwedWrites(ctx context.Context) error {
	for len(h.owedWrites.list) > 0 {
		first := h.owedWrites.list[0]
		err := h.writeNow(ctx, first)
		if store.NoRoom(err) {
			return err
		}
		// The disk has room, so the write has failed for another reason. Give it up, because it would
		// block all later writes forever.
		if err != nil {
			h.Log.Error("record what has happened", "error", err)
		}
		for _, e := range first.events {
			h.owedWrites.bytes -= len(e.Payload)
		}
		h.owedWrites.list = h.owedWrites.list[1:]
	}
	return nil
}

// retryOwedWrites retries the waiting writes until none is left or the host agent ends.
func (h *Host) retryOwedWrites() {
	tick := time.NewTicker(retryOwedEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.ctx.Done():
		}
		h.owedWrites.mu.Lock()
		err := h.flushOwedWrites(context.WithoutCancel(h.ctx))
		h.owedWrites.retrying = err != nil && h.ctx.Err() == nil
		again, left := h.owedWrites.retrying, len(h.owedWrites.list)
		h.owedWrites.mu.Unlock()
		if !again {
			if left > 0 {
				h.Log.Error("what has happened could not be recorded: the disk is full", "writes", left)
			}
			return
		}
	}
}

// keepReserve keeps the reserve file at its full size. On a full disk, the file is given up to make
// room.
func (h *Host) keepReserve() {
	if err := h.DB.KeepReserve(); err != nil {
		h.Log.Warn("keep a reserve", "error", err)
	}
}

// Host.append adds events to the log after something has happened, and reports to serve that the
// log has grown. On a full disk, it returns nil and writes the events later. If the write fails for
// another reason, Host.append returns the error.
func (h *Host) append(ctx context.Context, events ...coleo.Event) error {
	return h.appendAs(ctx, happened, events...)
}

func (h *Host) appendAs(ctx context.Context, p purpose, events ...coleo.Event) error {
	if err := h.write(ctx, p, diskWrite{events: events}); err != nil {
		return fmt.Errorf("write to the event log: %w", err)
	}
	return nil
}

// nothingDone returns the error for a change that was only intended, and whose write has failed.
func nothingDone(err error) error {
	if store.NoRoom(err) {
		return coleo.Errorf(coleo.EUnavailable, "nothing was done, because the disk is full: %w", err)
	}
	return coleo.Errorf(coleo.EUnavailable, "nothing was done, because it could not be recorded: %w", err)
}

func (h *Host) stamp(events []coleo.Event) {
	for i := range events {
		events[i].Host = h.ID
		if events[i].Time.IsZero() {
			events[i].Time = h.Now().UTC()
		}
	}
}

func (h *Host) noteGrowth() {
	_ = h.Bus.Grew(bus.Grown{Host: h.ID, Epoch: h.DB.Epoch(), Head: h.DB.Head()})
}
