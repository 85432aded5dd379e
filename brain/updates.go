package brain

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"sync"

	"coleo.dev"
	"coleo.dev/store"
)

// updateRoom is how many updates a subscriber may fall behind before it is cut off. It
// then subscribes again and reads from the store what it missed.
const updateRoom = 512

// updates sends every change to all subscribers. A slow subscriber does not slow down the
// sender.
type updates struct {
	mu     sync.Mutex
	subs   map[chan coleo.Update]bool
	closed bool
}

func newUpdates() *updates { return &updates{subs: map[chan coleo.Update]bool{}} }

func (u *updates) publish(x coleo.Update) {
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

func (u *updates) subscribe() chan coleo.Update {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := make(chan coleo.Update, updateRoom)
	if u.closed {
		close(c)
		return c
	}
	u.subs[c] = true
	return c
}

func (u *updates) leave(c chan coleo.Update) {
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

// Subscribe returns the changes from now on. The sequence ends when ctx ends, or when the
// reader falls too far behind.
func (b *Brain) Subscribe(ctx context.Context) iter.Seq[coleo.Update] {
	c := b.updates.subscribe()
	return func(yield func(coleo.Update) bool) {
		defer b.updates.leave(c)
		for {
			select {
			case u, ok := <-c:
				if !ok || !yield(u) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// WaitArm waits until the arm is in one of the states, and returns it. For
// waiting_approval it also waits for the dialog. It returns ENotFound if there is no such
// arm or the arm is removed. It returns ETimeout when ctx ends, and EExited when the arm
// stops although states does not include that.
func (b *Brain) WaitArm(ctx context.Context, idOrName string, states []coleo.State) (coleo.Arm, error) {
	news := b.Subscribe(ctx) // subscribes before the first look, so that nothing is missed
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return arm, err
	}
	reached := func() bool {
		return slices.Contains(states, arm.State) && (arm.State != coleo.WaitingApproval || arm.Dialog != nil)
	}
	if reached() {
		return arm, nil
	}
	if arm.Status == coleo.StatusStopped {
		return arm, stopped(arm)
	}
	for u := range news {
		if u.Removed == arm.ID {
			return arm, coleo.Errorf(coleo.ENotFound, "arm %s has been removed", arm.Name)
		}
		if u.Arm == nil || u.Arm.ID != arm.ID {
			continue
		}
		if arm = *u.Arm; reached() {
			return arm, nil
		}
		if arm.Status == coleo.StatusStopped {
			return arm, stopped(arm)
		}
	}
	if ctx.Err() == nil {
		return b.WaitArm(ctx, idOrName, states) // this subscriber was cut off because it was slow
	}
	return arm, coleo.Errorf(coleo.ETimeout, "arm %s is still %s", arm.Name, arm.State)
}

func stopped(arm coleo.Arm) error {
	return coleo.Errorf(coleo.EExited, "arm %s has stopped: %s; 'coleo arm recover %s' starts it again",
		arm.Name, arm.Rule, arm.Name)
}

// WaitRun waits for the end of a run and returns it. It returns ETimeout when ctx ends
// first, and ENotFound for an unknown run.
func (b *Brain) WaitRun(ctx context.Context, run string) (coleo.RunEnd, error) {
	news := b.Subscribe(ctx)
	ends, _, err := b.DB.RunEvents(ctx, store.EventFilter{Run: run, Kind: coleo.EventRunEnd, Limit: 1})
	if err != nil {
		return coleo.RunEnd{}, err
	}
	if len(ends) > 0 {
		return coleo.DecodeRunEnd(ends[0])
	}
	events, _, err := b.DB.RunEvents(ctx, store.EventFilter{Run: run, Limit: 1})
	if err != nil {
		return coleo.RunEnd{}, err
	}
	if len(events) == 0 {
		return coleo.RunEnd{}, coleo.Errorf(coleo.ENotFound, "no run %q", run)
	}
	for u := range news {
		if u.Event != nil && u.Event.Run == run && u.Event.Kind == coleo.EventRunEnd {
			return coleo.DecodeRunEnd(*u.Event)
		}
	}
	if ctx.Err() == nil {
		return b.WaitRun(ctx, run)
	}
	return coleo.RunEnd{}, coleo.Errorf(coleo.ETimeout, "the run has not ended yet")
}

// Events returns the events of all hosts after an opaque cursor, and the next cursor. It
// returns EInvalid for a bad cursor, and ENotFound if the filter names an unknown arm.
func (b *Brain) Events(ctx context.Context, f coleo.EventFilter) ([]coleo.Event, string, error) {
	var after uint64
	if f.After != "" {
		n, err := strconv.ParseUint(f.After, 36, 64)
		if err != nil {
			return nil, "", coleo.Errorf(coleo.EInvalid, "%q is no cursor: leave it out to begin at the beginning", f.After)
		}
		after = n
	}
	if f.Arm != "" {
		arm, err := b.DB.Arm(ctx, f.Arm)
		if err != nil {
			return nil, "", err
		}
		f.Arm = arm.ID
	}
	list, next, err := b.DB.RunEvents(ctx, store.EventFilter{Run: f.Run, Arm: f.Arm, After: after, Limit: f.Limit})
	return list, strconv.FormatUint(next, 36), err
}
