package brain

import (
	"context"
	"time"

	"coleo.dev/bus"
	"coleo.dev/store"
)

// followRetry is the pause after an error in reading a host's log.
const followRetry = 2 * time.Second

// followHost updates the store whenever a host's log has grown.
func (b *Brain) followHost(ctx context.Context, id string, grown <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-grown:
		}
		for {
			more, err := b.pull(ctx, id)
			if err != nil && ctx.Err() == nil {
				b.Log.Warn("read the log of a host", "host", id, "error", err)
				select {
				case <-ctx.Done():
				case <-time.After(followRetry):
				}
			}
			if store.NoRoom(err) && ctx.Err() == nil {
				continue // nobody announces that there is room again
			}
			if err != nil || !more {
				break
			}
		}
	}
}

// pull reads one piece of a host's log after the cursor into the store, and reports
// whether there is more. Several goroutines may call it. Only one of them reads at a
// time.
func (b *Brain) pull(ctx context.Context, id string) (bool, error) {
	m := b.member(id)
	m.pulling.Lock()
	defer m.pulling.Unlock()
	from, err := b.readTo(ctx, id, m)
	if err != nil {
		return false, err
	}
	piece, err := b.piece(ctx, id, from)
	if err != nil {
		return false, err
	}
	to := position{epoch: piece.Epoch, seq: piece.Head}
	if len(piece.List) == 0 && from.epoch == piece.Epoch && piece.Head > max(from.seq, piece.Deleted) {
		// An older host agent may write an event while it answers. It announces that
		// event once more.
		return false, nil
	}
	if len(piece.List) > 0 {
		gap, _ := b.DB.Gap(ctx, id) // project returns the error of an unreadable store
		if err := b.project(ctx, piece.List, piece.Deleted); err != nil {
			b.mu.Lock()
			m.head = position{} // readTo takes the position from the store again
			b.mu.Unlock()
			return false, err
		}
		if now, err := b.DB.Gap(ctx, id); err == nil && now > gap {
			b.Log.Warn(
				"the beginning of a host's log is gone: its host agent had deleted old events before this serve read "+
					"them",
				"host", id, "up_to", now)
		}
		last := piece.List[len(piece.List)-1]
		to = position{epoch: last.Epoch, seq: last.Seq}
	}
	b.mu.Lock()
	m.head = to
	b.mu.Unlock()
	return to.seq < piece.Head, nil
}

// readTo returns the position up to which a host's log has been read. At first that is
// the position of the newest event in the store.
func (b *Brain) readTo(ctx context.Context, id string, m *member) (position, error) {
	b.mu.Lock()
	at := m.head
	b.mu.Unlock()
	if at.epoch != "" {
		return at, nil
	}
	epoch, seq, err := b.DB.Cursor(ctx, id)
	return position{epoch, seq}, err
}

// piece asks a host for the events after a position. If the host has lost that position
// or its whole log, the answer starts at the beginning. The store skips events that it
// has already. Each answer is decoded into a new value. Decoding into a used value would
// leave old fields in new events.
func (b *Brain) piece(ctx context.Context, id string, from position) (bus.Events, error) {
	var piece bus.Events
	err := b.askHost(ctx, id, bus.OpEvents, bus.DefaultTimeout,
		bus.EventsOrder{After: from.seq, Epoch: from.epoch}, &piece)
	if err != nil || piece.Checked || from.seq == 0 || piece.Epoch == from.epoch {
		return piece, err
	}
	var whole bus.Events // for an older host agent, which does not look for the position itself
	err = b.askHost(ctx, id, bus.OpEvents, bus.DefaultTimeout, bus.EventsOrder{}, &whole)
	return whole, err
}
