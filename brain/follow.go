package brain

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// followRetry is how long a host whose log cannot be read is left alone, unless
// it says something.
const followRetry = 2 * time.Second

// followHost brings the store up to date whenever a host's log has grown.
func (b *Brain) followHost(id string, grown <-chan struct{}) {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-grown:
		}
		for {
			more, err := b.pull(b.ctx, id)
			if err != nil && b.ctx.Err() == nil {
				b.Log.Warn("read the log of a host", "host", id, "error", err)
				select {
				case <-b.ctx.Done():
				case <-time.After(followRetry):
				}
			}
			if err != nil || !more {
				break
			}
		}
	}
}

// pull reads one piece of a host's log behind the cursor into the store, and
// tells whether there is more. It may be called from several goroutines: what
// is there already is skipped.
func (b *Brain) pull(ctx context.Context, id string) (bool, error) {
	epoch, after, err := b.DB.Cursor(ctx, id)
	if err != nil {
		return false, err
	}
	var piece bus.Events
	if err := b.Bus.Ask(ctx, id, bus.OpEvents, bus.EventsOrder{After: after}, &piece); err != nil {
		return false, err
	}
	if piece.Epoch != epoch && after > 0 { // the host has lost its log and begun a new one
		if err := b.Bus.Ask(ctx, id, bus.OpEvents, bus.EventsOrder{}, &piece); err != nil {
			return false, err
		}
	}
	if len(piece.List) == 0 {
		return false, nil
	}
	if err := b.DB.Project(ctx, piece.List); err != nil {
		return false, err
	}
	for _, e := range piece.List {
		b.tell(ctx, e)
	}
	return piece.List[len(piece.List)-1].Seq < piece.Head, nil
}

// tell publishes an event, and the arm's row as it stands now.
func (b *Brain) tell(ctx context.Context, e coleo.Event) {
	b.updates.publish(coleo.Update{Event: &e})
	if e.Kind == coleo.EventRemoved {
		b.updates.publish(coleo.Update{Removed: e.Arm})
	} else if arm, err := b.Arm(ctx, e.Arm); err == nil {
		b.updates.publish(coleo.Update{Arm: &arm})
	}
}
