package host

import (
	"context"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/store"
)

// purpose says what a write is for. It decides what happens if the disk is full.
type purpose string

const (
	// intended is for an action that is about to be carried out. If there is no room,
	// the write is refused, and the action is not carried out.
	intended purpose = "intended"
	// happened is for something that was done or seen. If there is no room, the write
	// stays in memory. It is carried out as soon as there is room.
	happened purpose = "happened"
	// ending is like happened, but for the end or removal of an arm. The write may use
	// the reserve.
	ending purpose = "ending"
)

const (
	// owedMost bounds the number of writes in memory while the disk is full.
	owedMost = 10_000
	// owedBytes bounds the total size of the event payloads in these writes.
	owedBytes = 32 << 20
	// payEvery is the time between two attempts to write the pending writes.
	payEvery = time.Second
)

// writing is one transaction. It has events, and the update or the removal of an arm's
// record.
type writing struct {
	events []coleo.Event
	put    *arm   // the arm to store; the write stores the record that the arm then has
	forget string // id of the arm to remove
}

// owed holds, in order, the writes that wait because the disk was full.
type owed struct {
	mu     sync.Mutex // held during each write of this host agent, to keep the order
	list   []writing
	bytes  int
	paying bool // payLater is running
}

// write writes one transaction, after all pending writes. If ctx ends after write has
// begun, write still completes. Otherwise only a part of the changes would be written.
func (h *Host) write(ctx context.Context, p purpose, w writing) error {
	if err := ctx.Err(); err != nil && p == intended {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	h.stamp(w.events)
	h.owed.mu.Lock()
	defer h.owed.mu.Unlock()
	err := h.payAll(ctx)
	if err == nil {
		err = h.writeNow(ctx, w)
	}
	for p == ending && store.NoRoom(err) && h.DB.GiveUpReserve() {
		if err = h.payAll(ctx); err == nil {
			err = h.writeNow(ctx, w)
		}
	}
	if p == intended || !store.NoRoom(err) || len(h.owed.list) >= owedMost || h.owed.bytes >= owedBytes {
		return err
	}
	h.Log.Warn("the disk is full: what has happened is kept in memory",
		"events", len(w.events), "error", err)
	h.owed.list = append(h.owed.list, w)
	for _, e := range w.events {
		h.owed.bytes += len(e.Payload)
	}
	if !h.owed.paying {
		h.owed.paying = true
		h.runs.Go(h.payLater)
	}
	return nil
}

// writeNow writes one transaction and tells serve that the log has grown. The caller
// holds owed.mu.
func (h *Host) writeNow(ctx context.Context, w writing) error {
	var err error
	switch {
	case w.put != nil:
		w.put.mu.Lock()
		record := w.put.record
		w.put.mu.Unlock()
		err = h.DB.PutArm(ctx, record, w.events...)
	case w.forget != "":
		if err = h.DB.DeleteArm(ctx, w.forget); coleo.ErrorCode(err) == coleo.ENotFound {
			err = nil
		}
	}
	if err == nil && w.put == nil {
		_, err = h.DB.Append(ctx, w.events...)
	}
	if err == nil && len(w.events) > 0 {
		h.grew()
	}
	return err
}

// payAll writes the pending writes. The caller holds owed.mu.
func (h *Host) payAll(ctx context.Context) error {
	for len(h.owed.list) > 0 {
		first := h.owed.list[0]
		err := h.writeNow(ctx, first)
		if store.NoRoom(err) {
			return err
		}
		if err != nil { // drop the write: it would block all later writes forever
			h.Log.Error("record what has happened", "error", err)
		}
		for _, e := range first.events {
			h.owed.bytes -= len(e.Payload)
		}
		h.owed.list = h.owed.list[1:]
	}
	return nil
}

// payLater retries the pending writes until none is left or the host agent ends.
func (h *Host) payLater() {
	tick := time.NewTicker(payEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.ctx.Done():
		}
		h.owed.mu.Lock()
		err := h.payAll(context.WithoutCancel(h.ctx))
		h.owed.paying = err != nil && h.ctx.Err() == nil
		again, left := h.owed.paying, len(h.owed.list)
		h.owed.mu.Unlock()
		if !again {
			if left > 0 {
				h.Log.Error("what has happened could not be recorded: the disk is full", "writes", left)
			}
			return
		}
	}
}

// keepReserve restores the reserve for a full disk.
func (h *Host) keepReserve() {
	if err := h.DB.KeepReserve(); err != nil {
		h.Log.Warn("keep a reserve", "error", err)
	}
}
