package feed

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	"coleo.dev"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// Subscribe returns a sequence of updates:
//   - each event of serve's log after the given cursor, once, in order, with its own cursor;
//   - the row of each arm that changes after the call of Subscribe.
//
// If the given cursor is empty, the sequence begins with the next new event. For Events, in
// contrast, an empty cursor means the beginning of the log. The sequence ends when ctx ends, or
// when the store cannot be read. A slow reader receives every event. Instead of each change of an
// arm, it receives the present rows of all arms.
//
// Subscribe returns EInvalid for a bad cursor, as Events does.
func (d *Feed) Subscribe(ctx context.Context, after string) (iter.Seq[wire.Update], error) {
	if after == "" {
		after = wire.Now
	}
	f, err := d.newFollower(ctx, wire.EventFilter{After: after})
	if err != nil {
		return nil, err
	}
	f.rows = true
	return f.follow, nil
}

// Follow returns a sequence of the events that match a filter. It contains each event once and in order, with
// the event's own cursor. When the sequence has yielded all events so far, it yields an update with only a
// cursor. Such an update means that the reader has received every event up to the cursor. While the sequence
// waits for new events, it yields another one after each interval. The sequence ends when ctx ends, or when
// the store cannot be read. Even a slow reader receives every event, because the sequence reads older events
// from serve's log.
//
// Follow returns the errors of Events.
func (d *Feed) Follow(ctx context.Context, filter wire.EventFilter, interval time.Duration) (iter.Seq[wire.Update],
	error) {
	f, err := d.newFollower(ctx, filter)
	if err != nil {
		return nil, err
	}
	f.beat = interval
	return f.follow, nil
}

// follower is one reader of the updates. It takes recent updates from memory. If it needs older
// updates, it reads serve's log.
type follower struct {
	feed   *Feed
	ctx    context.Context
	filter wire.EventFilter // contains complete ids
	at     uint64           // the number of the update that the follower takes next
	had    uint64           // the position up to which the reader has received serve's log
	rows   bool             // whether the reader also receives the rows of arms
	rowsAt uint64           // the number of the update up to which the reader has received the rows
	beat   time.Duration    // the interval of updates that have only a cursor; 0 if there are none
}

func (d *Feed) newFollower(ctx context.Context, filter wire.EventFilter) (*follower, error) {
	at := d.updates.nextNumber() // the number is taken before the end of the log is read, so that no event is missed
	f, after, err := d.wholeFilter(ctx, filter)
	if err != nil {
		return nil, err
	}
	return &follower{feed: d, ctx: ctx, filter: f, at: at, had: after}, nil
}

// follow yields updates until the reader or ctx ends.
func (f *follower) follow(yield func(wire.Update) bool) {
	f.feed.updates.follow()
	defer f.feed.updates.leave()
	if !f.readLog(yield) {
		return
	}
	for f.ctx.Err() == nil {
		list, more, kept := f.feed.updates.from(f.at)
		switch {
		case !kept:
			missed := f.at
			f.at = f.feed.updates.nextNumber()
			if !f.readLog(yield) || !f.readRows(missed, yield) {
				return
			}
		case len(list) > 0:
			for _, u := range list {
				if !f.pass(u, yield) {
					return
				}
			}
		case more == nil || !f.waitForMore(more, yield):
			return
		}
	}
}

// pass yields an update. It yields nothing if the reader has already received the update or does not want it.
func (f *follower) pass(u update, yield func(wire.Update) bool) bool {
	number := f.at
	f.at++
	if u.Event == nil {
		old := number < f.rowsAt && u.Arm != nil
		return !f.rows || old || yield(u.Update)
	}
	if u.position <= f.had {
		return true
	}
	f.had = u.position
	return !f.filter.Matches(u.Event) || yield(u.Update)
}

// readLog yields the events of serve's log that the reader has not received yet.
func (f *follower) readLog(yield func(wire.Update) bool) bool {
	for {
		end := f.feed.config.DB.Head()
		page, err := f.feed.config.DB.Entries(f.ctx, store.EventFilter{Run: f.filter.Run, Arm: f.filter.Arm,
			Kinds: f.filter.Kinds, After: f.had})
		if err != nil {
			if f.ctx.Err() == nil {
				f.feed.config.Log.Warn("read serve's log for a follower", "after", f.had, "error", err)
			}
			return false
		}
		for _, e := range page {
			if f.had = e.Position; !yield(asUpdate(e).Update) {
				return false
			}
		}
		if len(page) == 0 {
			f.had = max(f.had, end) // the log has no further matching event up to the position `end`
			return true
		}
	}
}

// readRows yields the removals that the reader has missed, and the present rows of all arms.
// firstMissed is the number of the first change that the reader has missed.
func (f *follower) readRows(firstMissed uint64, yield func(wire.Update) bool) bool {
	if !f.rows {
		return true
	}
	// the lock keeps rows from being published between nextNumber and the reading of all rows
	f.feed.publishing.Lock()
	f.rowsAt = f.feed.updates.nextNumber()
	arms, err := f.feed.config.Arms(f.ctx, true)
	f.feed.publishing.Unlock()
	if err != nil {
		return false
	}
	for _, id := range f.feed.updates.removedSince(firstMissed) {
		if !yield(wire.Update{Removed: id}) {
			return false
		}
	}
	for i := range arms {
		if !yield(wire.Update{Arm: &arms[i]}) {
			return false
		}
	}
	return true
}

// waitForMore waits for more updates. If f.beat is 0, it yields nothing meanwhile. Otherwise it yields the
// reader's cursor at once, and again after each interval f.beat.
func (f *follower) waitForMore(more <-chan struct{}, yield func(wire.Update) bool) bool {
	if f.beat == 0 {
		select {
		case <-more:
			return true
		case <-f.ctx.Done():
			return false
		}
	}
	beat := time.NewTimer(f.beat)
	defer beat.Stop()
	for {
		if !yield(wire.Update{Cursor: CursorOf(f.had)}) {
			return false
		}
		select {
		case <-more:
			return true
		case <-f.ctx.Done():
			return false
		case <-beat.C:
			beat.Reset(f.beat)
		}
	}
}

// Cursor returns the cursor of the last event in serve's log. A subscription with this
// cursor begins with the next new event.
func (d *Feed) Cursor() string { return CursorOf(d.config.DB.Head()) }

// SubscribeFromNow returns the same sequence as Subscribe with an empty cursor. It begins with the
// next new event.
func (d *Feed) SubscribeFromNow(ctx context.Context) iter.Seq[wire.Update] {
	news, _ := d.Subscribe(ctx, "") // ignore the error, because Subscribe returns one only for a bad cursor
	return news
}

// Events returns the events of all hosts that match a filter and follow the filter's cursor. It
// also returns the cursor for the next call. Callers must not interpret cursors. Events returns
// EInvalid for a bad cursor and for an unknown kind. A cursor beyond the end of the log is bad, because it comes from
// another store, or from a newer copy of this store. Events returns ENotFound if the filter names an unknown arm or
// run.
func (d *Feed) Events(ctx context.Context, f wire.EventFilter) ([]coleo.Event, string, error) {
	whole, after, err := d.wholeFilter(ctx, f)
	if err != nil {
		return nil, "", err
	}
	list, next, err := d.config.DB.RunEvents(ctx, store.EventFilter{Run: whole.Run, Arm: whole.Arm, Kinds: whole.Kinds,
		After: after, Limit: f.Limit})
	return list, CursorOf(next), err
}

// WholeFilter returns a filter with the complete ids of its arm and its run. It returns the errors
// of Events.
func (d *Feed) WholeFilter(ctx context.Context, f wire.EventFilter) (wire.EventFilter, error) {
	f, _, err := d.wholeFilter(ctx, f)
	return f, err
}

// wholeFilter returns a filter with complete ids and without repeated kinds. It also returns the
// position of the filter's cursor.
func (d *Feed) wholeFilter(ctx context.Context, f wire.EventFilter) (wire.EventFilter, uint64, error) {
	after, err := PositionOf(f.After)
	if err != nil {
		return f, 0, err
	}
	end := d.config.DB.Head()
	if after > end {
		return f, 0, coleo.Errorf(coleo.EInvalid,
			"the cursor %q is ahead of serve's log: the log was restored or created again; start without a cursor", f.After)
	}
	if f.After == wire.Now {
		after = end
	}
	if f.Arm != "" {
		arm, err := d.config.DB.Arm(ctx, f.Arm)
		if err != nil {
			return f, 0, err
		}
		f.Arm = arm.ID
	}
	if f.Run != "" {
		run, err := d.config.DB.Run(ctx, f.Run)
		if err != nil {
			return f, 0, err
		}
		f.Run = run.ID
	}
	kinds := slices.Clone(f.Kinds)
	for i, name := range kinds {
		kind, known := coleo.KindNamed(string(name))
		if !known {
			return f, 0, coleo.Errorf(coleo.EInvalid, "no event has the kind %q: docs/api.md lists the kinds", name)
		}
		kinds[i] = kind
	}
	f.Kinds = slices.Compact(slices.Sorted(slices.Values(kinds)))
	return f, after, nil
}

// InBacklog reports whether an event is older than serve's first contact with the event's host. A new
// serve.db receives all such events, and callers use InBacklog to ignore them. `cursor` is the cursor that a
// follower has received together with the event. InBacklog returns EInvalid for a bad cursor.
func (d *Feed) InBacklog(ctx context.Context, e coleo.Event, cursor string) (bool, error) {
	position, err := PositionOf(cursor)
	if err != nil {
		return false, err
	}
	return d.config.DB.InBacklog(ctx, e.Host, position)
}

// CursorOf returns the cursor for a position in serve's log.
func CursorOf(position uint64) string { return strconv.FormatUint(position, 36) }

// PositionOf returns the position in serve's log for which a cursor stands. It returns EInvalid if
// the text is not a cursor. For the empty cursor and for wire.Now, it returns 0, which is the
// beginning of the log.
func PositionOf(cursor string) (uint64, error) {
	if cursor == "" || cursor == wire.Now {
		return 0, nil
	}
	n, err := strconv.ParseUint(cursor, 36, 63)
	if err != nil {
		return 0, coleo.Errorf(coleo.EInvalid, "%q is not a cursor: leave it out to start from the beginning", cursor)
	}
	return n, nil
}
