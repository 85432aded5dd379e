package brain

import (
	"context"
	"iter"
	"slices"
	"sync"

	"coleo.dev"
	"coleo.dev/display"
	"coleo.dev/store"
)

// These constants limit what is read from the log when the snapshot of an arm is created again.
const (
	// displayRecent is how many of the newest events of an arm are always read. Most runs have
	// fewer events.
	displayRecent = 2_000
	// displayMost is the maximum number of events of the newest run that are read. Reading them
	// takes less than a second. The snapshot of a longer run is marked as partial.
	displayMost = 50_000
	// displaySeeds is how many events of each kind from before the newest run are read. One event
	// of each kind is not enough, because some events do not contain what a snapshot needs.
	displaySeeds = 10
)

// displayKinds contains the kinds of events for which a snapshot also uses events from before its
// newest run.
var displayKinds = []coleo.EventKind{
	coleo.EventSpawned, coleo.EventStopped, coleo.EventState, coleo.EventUnrecognised, coleo.EventRunEnd,
	coleo.EventMode, coleo.EventModel, coleo.EventTurn, coleo.EventUsage, coleo.EventTasks,
	coleo.EventBudget,
}

// displays contains the snapshots of the arms that somebody has asked for. The first request
// creates the snapshot of an arm from the log. After that, PublishLog keeps the snapshot up to
// date.
type displays struct {
	mu        sync.Mutex
	known     map[string]shown // by arm id
	published uint64           // the position of the last event that apply got
	followers map[*display.Coalescer]bool
}

// shown is a snapshot together with a position in the log. The snapshot includes the events of its
// arm up to this position.
type shown struct {
	display.Snapshot
	upTo uint64
}

func newDisplays() *displays {
	return &displays{known: map[string]shown{}, followers: map[*display.Coalescer]bool{}}
}

// apply applies an event of serve's log to the snapshot of its arm. The events come in
// the order of the log.
func (d *displays) apply(e store.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.published = max(d.published, e.Position)
	if s, ok := d.known[e.Arm]; ok && e.Position > s.upTo {
		d.known[e.Arm] = shown{display.Apply(s.Snapshot, e.Event), e.Position}
	}
	if e.Kind == coleo.EventRemoved {
		delete(d.known, e.Arm)
	}
}

// noteLogged applies an event of serve's log, and tells the followers that its arm has changed. Events of
// work change no row, so no published row tells the followers of them.
func (b *Brain) noteLogged(e store.Entry) {
	b.displays.apply(e)
	b.displays.changed(e.Arm)
}

// changed tells the followers that an arm has changed.
func (d *displays) changed(arm string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for f := range d.followers {
		f.Changed(arm)
	}
}

// Display returns a snapshot of what an arm is doing. It returns ENotFound if there is no such arm.
func (b *Brain) Display(ctx context.Context, idOrName string) (display.Snapshot, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return display.Snapshot{}, err
	}
	b.catchUp(ctx, arm.AgentID)
	if arm, err = b.Arm(ctx, arm.ID); err != nil {
		return display.Snapshot{}, err
	}
	s, err := b.snapshot(ctx, arm.ID)
	return s.With(arm), err
}

// Displays returns a sequence of snapshots of the arms that change after the call. Changes of an
// arm that follow one another within display.Window become one snapshot. No change waits longer
// than display.MaxWait. A slow reader gets fewer snapshots, but always the newest. The sequence
// ends when ctx ends. The caller must read the sequence.
func (b *Brain) Displays(ctx context.Context) iter.Seq[display.Snapshot] {
	changes := display.NewCoalescer(display.Window, display.MaxWait, nil)
	b.displays.mu.Lock()
	b.displays.followers[changes] = true
	b.displays.mu.Unlock()
	return func(yield func(display.Snapshot) bool) {
		defer func() {
			b.displays.mu.Lock()
			defer b.displays.mu.Unlock()
			delete(b.displays.followers, changes)
		}()
		told := map[string]mark{}
		for {
			arms, err := changes.Next(ctx)
			if err != nil {
				return
			}
			for _, id := range arms {
				if s, ok := b.displayed(ctx, id, told); ok && !yield(s) {
					return
				}
			}
		}
	}
}

// mark contains the values by which two snapshots of an arm are told apart.
type mark struct {
	host, epoch string
	seq         uint64
	state       coleo.State
	rule, model string
	dialog      coleo.Fingerprint
}

// displayed returns the snapshot of an arm. It returns false if the arm is gone, or if the snapshot
// has not changed since it was last yielded.
func (b *Brain) displayed(ctx context.Context, id string, told map[string]mark) (display.Snapshot, bool) {
	arm, err := b.Arm(ctx, id)
	if err != nil {
		delete(told, id)
		return display.Snapshot{}, false
	}
	s, err := b.snapshot(ctx, id)
	if err != nil {
		if ctx.Err() == nil {
			b.Log.Warn("make the display of an arm", "arm", arm.Name, "error", err)
		}
		return display.Snapshot{}, false
	}
	s = s.With(arm)
	m := mark{s.Host, s.Epoch, s.Seq, s.State, s.Rule, s.Model, ""}
	if s.Dialog != nil {
		m.dialog = s.Dialog.Fingerprint
	}
	if told[id] == m {
		return s, false
	}
	told[id] = m
	return s, true
}

// snapshot returns the snapshot of an arm up to the end of serve's log. It reads the log without
// holding the lock, so it never delays PublishLog.
func (b *Brain) snapshot(ctx context.Context, arm string) (display.Snapshot, error) {
	d := b.displays
	d.mu.Lock()
	s, ok := d.known[arm]
	if ok {
		s.upTo = max(s.upTo, d.published)
	}
	d.mu.Unlock()
	for {
		end := b.DB.Head()
		var err error
		if ok {
			s, err = b.continued(ctx, s)
		} else {
			s, err = b.rebuilt(ctx, arm)
		}
		if err != nil {
			return display.Snapshot{}, err
		}
		ok, s.upTo = true, max(s.upTo, end)
		d.mu.Lock()
		now, there := d.known[arm]
		whole := d.published <= s.upTo // otherwise apply has left out events, because the arm was unknown
		if whole && now.upTo < s.upTo {
			d.known[arm] = s
		}
		d.mu.Unlock()
		if whole || there {
			return s.Snapshot, nil
		}
	}
}

// continued applies the events that follow the snapshot's last event in the log.
func (b *Brain) continued(ctx context.Context, s shown) (shown, error) {
	if b.DB.Head() <= s.upTo {
		return s, nil
	}
	for {
		page, err := b.DB.Entries(ctx, store.EventFilter{Arm: s.Arm, After: s.upTo})
		if err != nil || len(page) == 0 {
			return s, err
		}
		for _, e := range page {
			s = shown{display.Apply(s.Snapshot, e.Event), e.Position}
		}
	}
}

// rebuilt creates the snapshot of an arm from the log. It uses the events of the arm's newest run,
// and the newest events before this run.
func (b *Brain) rebuilt(ctx context.Context, arm string) (shown, error) {
	s := shown{Snapshot: display.Snapshot{Arm: arm}}
	recent, err := b.DB.Newest(ctx, arm, "", 0, displayRecent)
	if err != nil || len(recent) == 0 {
		return s, err
	}
	first := recent[0].Position
	starts, err := b.DB.Newest(ctx, arm, coleo.EventRunStart, 0, 1)
	if err != nil {
		return s, err
	}
	long := len(starts) > 0 && starts[0].Position < first
	if long {
		first = starts[0].Position
	}
	seeds, err := b.eventsBefore(ctx, arm, first)
	if err != nil {
		return s, err
	}
	for _, e := range seeds {
		s.Snapshot = display.Apply(s.Snapshot, e.Event)
	}
	if long {
		if s, err = b.ofLongRun(ctx, s, starts[0], recent[0].Position); err != nil {
			return s, err
		}
	}
	for _, e := range recent {
		s = shown{display.Apply(s.Snapshot, e.Event), e.Position}
	}
	return s, nil
}

// eventsBefore returns the newest events of an arm before a position. It returns only events of the
// kinds in displayKinds.
func (b *Brain) eventsBefore(ctx context.Context, arm string, before uint64) ([]store.Entry, error) {
	var all []store.Entry
	for _, kind := range displayKinds {
		list, err := b.DB.Newest(ctx, arm, kind, before, displaySeeds)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(x, y store.Entry) int { return int(int64(x.Position) - int64(y.Position)) })
	return all, nil
}

// ofLongRun applies the events from the start of a run up to a position. If there are too many
// events, it applies only the first ones, and marks the snapshot as partial.
func (b *Brain) ofLongRun(ctx context.Context, s shown, start store.Entry, until uint64) (shown, error) {
	s.upTo = start.Position - 1
	for n := 0; ; {
		page, err := b.DB.Entries(ctx, store.EventFilter{Arm: s.Arm, After: s.upTo})
		if err != nil {
			return s, err
		}
		for _, e := range page {
			if e.Position >= until {
				return s, nil
			}
			s = shown{display.Apply(s.Snapshot, e.Event), e.Position}
			n++
		}
		if len(page) == 0 {
			return s, nil
		}
		if n >= displayMost {
			s.Partial = true
			return s, nil
		}
	}
}
