package host

import (
	"context"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/store"
)

// need says what becomes of a write for which the disk has no room.
type need string

const (
	// intended is about to be done: without room it is refused, and not done.
	intended need = "intended"
	// happened has been done or seen: it is kept in memory and written as soon as
	// there is room.
	happened need = "happened"
	// ending is happened, of what ends or removes an arm: it may use the reserve.
	ending need = "ending"
)

const (
	// owedMost bounds what is kept in memory for a full disk, in writes.
	owedMost = 10_000
	// owedBytes bounds the payloads of its events.
	owedBytes = 32 << 20
	// payEvery is how often room is looked for while something is owed.
	payEvery = time.Second
)

// writing is one transaction: events, and an arm's record or its end with them.
type writing struct {
	events []coleo.Event
	put    *arm   // its record as it is when it is written
	forget string // id of an arm
}

// owed is what has happened and is not written down for lack of room, in order.
type owed struct {
	mu     sync.Mutex // held over each write of this host agent: they keep their order
	list   []writing
	bytes  int
	paying bool // somebody looks for room
}

// write writes down one transaction, behind what is owed. Once it has begun it
// goes on when nobody waits for it any longer: half of what happened would be known.
func (h *Host) write(ctx context.Context, n need, w writing) error {
	if err := ctx.Err(); err != nil && n == intended {
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
	for n == ending && store.NoRoom(err) && h.DB.GiveUpReserve() {
		if err = h.payAll(ctx); err == nil {
			err = h.writeNow(ctx, w)
		}
	}
	if n == intended || !store.NoRoom(err) || len(h.owed.list) >= owedMost || h.owed.bytes >= owedBytes {
		return err
	}
	h.Log.Warn("there is no room to write down what has happened: it is kept in memory", "events", len(w.events), "error", err)
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

// writeNow writes one transaction and tells serve. The caller holds owed.mu.
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

// payAll writes what is owed. The caller holds owed.mu.
func (h *Host) payAll(ctx context.Context) error {
	for len(h.owed.list) > 0 {
		first := h.owed.list[0]
		err := h.writeNow(ctx, first)
		if store.NoRoom(err) {
			return err
		}
		if err != nil { // it would stand in the way of all others for good
			h.Log.Error("write down what has happened", "error", err)
		}
		for _, e := range first.events {
			h.owed.bytes -= len(e.Payload)
		}
		h.owed.list = h.owed.list[1:]
	}
	return nil
}

// payLater looks for room until nothing is owed, or the host agent ends.
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
				h.Log.Error("what has happened could not be written down: the disk is full", "writes", left)
			}
			return
		}
	}
}

// keepReserve makes the reserve for a full disk whole again.
func (h *Host) keepReserve() {
	if err := h.DB.KeepReserve(); err != nil {
		h.Log.Warn("keep a reserve", "error", err)
	}
}
