package roster

import (
	"context"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// followRetry is how long the brain waits before it tries again to read a host's log, if the disk was full. After
// any other error, the brain waits until the log grows.
const followRetry = 2 * time.Second

// followHost reads a host's new events into the store each time the host's log has received new
// events.
func (r *Roster) followHost(ctx context.Context, id string, grown <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-grown:
		}
		for {
			more, err := r.pull(ctx, id)
			if err == nil && more {
				continue
			}
			if err == nil || ctx.Err() != nil {
				break
			}
			r.Log.Warn("read the log of a host", "host", id, "error", err)
			signaled := false // whether a message has just shown that the host agent can be asked again
			select {
			case <-ctx.Done():
			case <-grown:
				signaled = true
			case <-time.After(followRetry):
			}
			// Without a signal, stop, and wait until the log grows again. One exception: after NoRoom, try again, because
			// nothing signals that the disk has room.
			if !signaled && !store.NoRoom(err) {
				break
			}
		}
	}
}

// pull reads the next piece of a host's log into the store. It returns true if the log contains
// more events after this piece. If several goroutines call pull for the same host, one of them
// reads at a time.
func (r *Roster) pull(ctx context.Context, id string) (bool, error) {
	h := r.host(id)
	h.pulling.Lock()
	defer h.pulling.Unlock()
	from, err := r.readTo(ctx, id, h)
	if err != nil {
		return false, err
	}
	piece, err := r.fetchEvents(ctx, id, from)
	if err != nil {
		return false, err
	}
	if from.epoch == "" {
		if err := r.DB.MeetHost(ctx, id, piece.Head); err != nil {
			return false, err
		}
	}
	to := position{epoch: piece.Epoch, seq: piece.Head}
	if len(piece.List) == 0 && from.epoch == piece.Epoch && piece.Head > max(from.seq, piece.Deleted) {
		// An older host agent can count an event in Head before the event is in List. The host
		// agent announces this event again later.
		return false, nil
	}
	if len(piece.List) > 0 {
		gap, _ := r.DB.Gap(ctx, id) // ignore the error, because project fails too if the store is unreadable
		if err := r.project(ctx, piece.List, piece.Deleted); err != nil {
			r.mu.Lock()
			// forget the position, so that readTo reads it from the store again
			h.head = position{}
			r.mu.Unlock()
			return false, err
		}
		if now, err := r.DB.Gap(ctx, id); err == nil && now > gap {
			r.Log.Warn(
				"the beginning of a host's log is gone: its host agent had deleted "+
					"old events before this serve read them",
				"host", id, "up_to", now)
		}
		last := piece.List[len(piece.List)-1]
		to = position{epoch: last.Epoch, seq: last.Seq}
	}
	r.mu.Lock()
	h.head = to
	r.mu.Unlock()
	return to.seq < piece.Head, nil
}

// readTo returns the position up to which serve has read a host's log. If this process has read
// nothing of the log yet, the position comes from the store.
func (r *Roster) readTo(ctx context.Context, id string, h *knownHost) (position, error) {
	r.mu.Lock()
	at := h.head
	r.mu.Unlock()
	if at.epoch != "" {
		return at, nil
	}
	epoch, seq, err := r.DB.Cursor(ctx, id)
	return position{epoch, seq}, err
}

// fetchEvents asks a host for the events after a position. If the host's log does not contain this
// position, the reply begins with the first event of the log. The store skips the events that it
// already contains.
//
// Each reply is decoded into a new variable, because otherwise fields of old events would remain in
// the new events.
func (r *Roster) fetchEvents(ctx context.Context, id string, from position) (bus.Events, error) {
	var piece bus.Events
	err := r.Ask(ctx, id, bus.OpEvents, bus.DefaultTimeout,
		bus.EventsOrder{After: from.seq, Epoch: from.epoch}, &piece)
	if err != nil || piece.Checked || from.seq == 0 || piece.Epoch == from.epoch {
		return piece, err
	}
	// an older host agent ignores the epoch in the order, so ask it again for all of its events
	var whole bus.Events
	err = r.Ask(ctx, id, bus.OpEvents, bus.DefaultTimeout, bus.EventsOrder{}, &whole)
	return whole, err
}

// project writes events into the store. On a full disk, it first frees the reserve file if one of the events ends
// or removes an arm. The reserve file keeps some room for this case.
func (r *Roster) project(ctx context.Context, events []coleo.Event, deleted uint64) error {
	err := r.DB.ProjectPast(ctx, events, deleted)
	ends := slices.ContainsFunc(events, func(e coleo.Event) bool {
		return e.Kind == coleo.EventStopped || e.Kind == coleo.EventRemoved
	})
	for ends && store.NoRoom(err) && r.DB.GiveUpReserve() {
		err = r.DB.ProjectPast(ctx, events, deleted)
	}
	return err
}

// Confirms reports whether the arm's row is up to date, according to the arm's host agent. The host
// agent must have a session of the arm. Serve must also have read the host's log up to the position
// in the host agent's reply. A host agent that is too old for this question confirms every row.
func (r *Roster) Confirms(ctx context.Context, arm coleo.Arm) bool {
	if arm.AgentID == "" {
		return true // no host knows this arm, so it has no events, and its row is up to date
	}
	limited, cancel := context.WithTimeout(ctx, bus.SilentAfter)
	defer cancel()
	var pulse bus.Pulse
	if err := r.Bus.Ask(limited, arm.AgentID, bus.OpPulse, bus.PulseOrder{Arm: arm.ID}, &pulse); err != nil {
		return coleo.ErrorCode(err) == coleo.EUnsupported
	}
	held := slices.ContainsFunc(pulse.Arms, func(a bus.ArmPulse) bool {
		// While a holder does not answer, the arm has no session and its state is initializing.
		reads := a.Attached || arm.State == coleo.Initializing
		return a.ID == arm.ID && a.Generation == arm.Generation && reads && !a.Starting
	})
	return held && r.hasRead(limited, arm.AgentID, position{pulse.Epoch, pulse.Head})
}

// hasRead reports whether a host's log has been read up to the given position. If
// necessary, it first reads the log up to that position.
func (r *Roster) hasRead(ctx context.Context, id string, to position) bool {
	for more := true; ; {
		at, err := r.readTo(ctx, id, r.host(id))
		if err == nil && at.epoch == to.epoch && at.seq >= to.seq {
			return true
		}
		if !more {
			return false
		}
		if more, err = r.pull(ctx, id); err != nil {
			return false
		}
	}
}

// CatchUp reads all new events of a host into the store before it returns. It stops at the first
// error.
func (r *Roster) CatchUp(ctx context.Context, host string) {
	for more := host != ""; more; {
		var err error
		if more, err = r.pull(ctx, host); err != nil {
			return // the goroutine that follows the host tries again, and logs the error
		}
	}
}
