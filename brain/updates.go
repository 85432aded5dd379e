package brain

import (
	"context"
	"iter"
	"strconv"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// updateRoom is how many updates a subscriber can fall behind. If a subscriber falls
// further behind, its sequence of updates ends. The subscriber can then call Subscribe
// again, with the cursor of the last event that it saw, and read the arms from the
// store.
const updateRoom = 512

// updates sends every update to all subscribers. A slow subscriber never makes the
// sender wait.
type updates struct {
	mu     sync.Mutex
	subs   map[chan update]bool
	closed bool
}

// update is a wire.Update with the position of its event in serve's log.
type update struct {
	wire.Update
	position uint64 // 0 if the update has no event
}

func newUpdates() *updates { return &updates{subs: map[chan update]bool{}} }

func (u *updates) publish(x update) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.subs {
		select {
		case c <- x:
		default:
			delete(u.subs, c)
			close(c)
		}
	}
}

func (u *updates) subscribe() chan update {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := make(chan update, updateRoom)
	if u.closed {
		close(c)
		return c
	}
	u.subs[c] = true
	return c
}

func (u *updates) leave(c chan update) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.subs, c)
}

func (u *updates) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for c := range u.subs {
		delete(u.subs, c)
		close(c)
	}
}

// Subscribe returns a sequence of updates:
//   - each event of serve's log after the given cursor, once, in order, with its own
//     cursor;
//   - the row of each arm that changes after the call of Subscribe.
//
// If the given cursor is empty, the sequence begins with the next new event. This
// differs from Events, where an empty cursor means the beginning of the log. The
// sequence ends when ctx ends, when the reader falls too far behind, or when the store
// cannot be read.
//
// Subscribe returns EInvalid for a bad cursor. A cursor beyond the end of the log is
// bad, because it comes from another store, or from a newer copy of this store.
func (b *Brain) Subscribe(ctx context.Context, after string) (iter.Seq[wire.Update], error) {
	from, err := positionOf(after)
	if err != nil {
		return nil, err
	}
	c := b.updates.subscribe() // before the log's end is read, so that no event is missed
	switch end := b.DB.Head(); {
	case after == "":
		from = end
	case from > end:
		b.updates.leave(c)
		return nil, coleo.Errorf(coleo.EInvalid,
			"the cursor %q is ahead of serve's log: the log was restored or created again; start without a cursor",
			after)
	}
	return func(yield func(wire.Update) bool) {
		defer b.updates.leave(c)
		for {
			page, err := b.DB.Entries(ctx, store.EventFilter{After: from})
			if err != nil && ctx.Err() == nil {
				b.Log.Warn("read serve's log for a subscriber", "after", from, "error", err)
			}
			if err != nil {
				return
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				if from = e.Position; !yield(asUpdate(e).Update) {
					return
				}
			}
		}
		b.passNews(ctx, c, from, yield)
	}, nil
}

// Cursor returns the cursor of the last event in serve's log. A subscription with this
// cursor begins with the next new event.
func (b *Brain) Cursor() string { return cursorOf(b.DB.Head()) }

// passNews yields the published updates. It leaves out the events that the subscriber
// has already got from the log. The parameter had is the position of the last of these
// events.
func (b *Brain) passNews(ctx context.Context, c <-chan update, had uint64, yield func(wire.Update) bool) {
	for {
		select {
		case u, ok := <-c:
			if !ok || (u.Event == nil || u.position > had) && !yield(u.Update) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// news is Subscribe with an empty cursor: the sequence begins with the next new event.
func (b *Brain) news(ctx context.Context) iter.Seq[wire.Update] {
	news, _ := b.Subscribe(ctx, "") // Subscribe returns an error only for a bad cursor
	return news
}

func asUpdate(e store.Entry) update {
	return update{wire.Update{Event: &e.Event, Cursor: cursorOf(e.Position)}, e.Position}
}

// publishLog publishes each event of serve's log after the given position, once and in
// order. After each event it publishes the present row of the event's arm. publishLog
// returns when ctx ends or when the store is closed.
func (b *Brain) publishLog(ctx context.Context, after uint64) {
	for ctx.Err() == nil && b.DB.Wait(ctx, after) == nil {
		page, err := b.DB.Entries(ctx, store.EventFilter{After: after})
		if err != nil {
			b.Log.Warn("publish serve's log", "after", after, "error", err)
			select {
			case <-time.After(followRetry):
			case <-ctx.Done():
			}
			continue
		}
		for _, e := range page {
			after = e.Position
			b.displays.apply(e)
			b.updates.publish(asUpdate(e))
			if e.Kind == coleo.EventRemoved {
				b.publishRemoved(e.Arm)
			} else if e.Arm != "" {
				b.publishArm(ctx, e.Arm)
			}
		}
	}
}

// publishArm publishes the present row of an arm with the arm's health. It reads and
// publishes under a lock, so an older row is never published after a newer row.
func (b *Brain) publishArm(ctx context.Context, id string) {
	b.publishing.Lock()
	defer b.publishing.Unlock()
	// If the row is missing, the arm was removed. publishRemoved publishes the removal.
	if arm, err := b.Arm(ctx, id); err == nil {
		b.updates.publish(update{Update: wire.Update{Arm: &arm}})
		b.displays.changed(id)
	}
}

func (b *Brain) publishRemoved(id string) {
	b.updates.publish(update{Update: wire.Update{Removed: id}})
}

// Events returns the events of all hosts that match the filter f and follow the cursor
// in f. It also returns the cursor for the next call. Callers must not interpret
// cursors. Events returns EInvalid for a bad cursor. It returns ENotFound if f names an
// unknown arm.
func (b *Brain) Events(ctx context.Context, f wire.EventFilter) ([]coleo.Event, string, error) {
	after, err := positionOf(f.After)
	if err != nil {
		return nil, "", err
	}
	if f.Arm != "" {
		arm, err := b.DB.Arm(ctx, f.Arm)
		if err != nil {
			return nil, "", err
		}
		f.Arm = arm.ID
	}
	list, next, err := b.DB.RunEvents(ctx, store.EventFilter{Run: f.Run, Arm: f.Arm, After: after, Limit: f.Limit})
	return list, cursorOf(next), err
}

// cursorOf returns the cursor for a position in serve's log.
func cursorOf(position uint64) string { return strconv.FormatUint(position, 36) }

// positionOf returns the position in serve's log for a cursor. It returns EInvalid if
// the text is not a cursor. It returns 0, the beginning of the log, for the empty
// cursor. Subscribe does not use this 0, because there an empty cursor means the end of
// the log.
func positionOf(cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(cursor, 36, 63)
	if err != nil {
		return 0, coleo.Errorf(coleo.EInvalid, "%q is not a cursor: leave it out to start from the beginning", cursor)
	}
	return n, nil
}
