// Package displays keeps a snapshot of what each arm is doing, to be shown to people. It notifies followers when a
// snapshot changes.
//
// Package display decides how an event changes a snapshot. This package reads the events.
package displays

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"sync"

	"coleo.dev"
	"coleo.dev/display"
	"coleo.dev/store"
)

// These constants limit what is read from the log when the snapshot of an arm is computed again.
const (
	// displayRecent is how many of an arm's newest events are always read. Most runs have fewer events.
	displayRecent = 2_000
	// displayMost is the maximum number of events of the newest run that are read. 50,000 events
	// take less than a second. The snapshot of a longer run is marked as partial.
	displayMost = 50_000
	// displaySeeds is a number of events for each kind in displayKinds. The newest displaySeeds events of a kind before
	// the newest run are read. One event of each kind is not enough, because some events lack a value that a snapshot
	// needs.
	displaySeeds = 10
)

// displayKinds contains the kinds of events that affect a snapshot even if the events are older
// than the newest run.
var displayKinds = []coleo.EventKind{
	coleo.EventSpawned, coleo.EventStopped, coleo.EventState, coleo.EventUnrecognised, coleo.EventRunEnd,
	coleo.EventMode, coleo.EventModel, coleo.EventTurn, coleo.EventUsage, coleo.EventTasks,
	coleo.EventBudget,
}

// Config contains what Snapshots needs.
type Config struct {
	DB      *store.ServeDB
	Log     *slog.Logger
	Find    func(ctx context.Context, idOrName string) (coleo.Arm, error) // returns the named arm, or ENotFound
	CatchUp func(ctx context.Context, host string)                        // reads all new events of a host into DB
}

// Snapshots contains the snapshots of the arms that somebody has asked for. The first request
// computes the snapshot of an arm from the log. After that, NoteLogged keeps the snapshot up to
// date. Snapshots is safe for concurrent use.
type Snapshots struct {
	config Config

	mu        sync.Mutex
	known     map[string]positioned // by arm id
	published uint64                // the position of the last event that was passed to NoteLogged
	followers map[*display.Coalescer]bool
}

// positioned is a snapshot that includes the events of its arm up to the position upTo in the log.
type positioned struct {
	display.Snapshot
	upTo uint64
}

// New returns a Snapshots that does not contain the snapshot of any arm yet.
func New(c Config) *Snapshots {
	return &Snapshots{config: c, known: map[string]positioned{}, followers: map[*display.Coalescer]bool{}}
}

// apply applies an event of serve's log to the snapshot of its arm.
func (d *Snapshots) apply(e store.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.published = max(d.published, e.Position)
	if s, ok := d.known[e.Arm]; ok && e.Position > s.upTo {
		d.known[e.Arm] = positioned{display.Apply(s.Snapshot, e.Event), e.Position}
	}
	if e.Kind == coleo.EventRemoved {
		delete(d.known, e.Arm)
	}
}

// NoteLogged applies an event of serve's log to the snapshot of its arm. It must be called with the events in the
// order of the log. It also notifies the followers that the arm has changed. An event of work, such as a tool call,
// changes no row, so nothing else would notify them.
func (d *Snapshots) NoteLogged(e store.Entry) {
	d.apply(e)
	d.NoteChanged(e.Arm)
}

// NoteChanged notifies the followers that an arm has changed.
func (d *Snapshots) NoteChanged(arm string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for f := range d.followers {
		f.Changed(arm)
	}
}

// Display returns a snapshot of what an arm is doing. It returns ENotFound if there is no such arm.
func (d *Snapshots) Display(ctx context.Context, idOrName string) (display.Snapshot, error) {
	arm, err := d.config.Find(ctx, idOrName)
	if err != nil {
		return display.Snapshot{}, err
	}
	d.config.CatchUp(ctx, arm.AgentID)
	if arm, err = d.config.Find(ctx, arm.ID); err != nil {
		return display.Snapshot{}, err
	}
	s, err := d.snapshot(ctx, arm.ID)
	return s.With(arm), err
}

// Displays returns a sequence of snapshots of the arms that change after the call. If changes of an
// arm follow one another within display.Window, they become one snapshot. No change waits longer
// than display.MaxWait. A slow reader receives fewer snapshots, but always the newest. The sequence
// ends when ctx ends. The caller must read the sequence.
func (d *Snapshots) Displays(ctx context.Context) iter.Seq[display.Snapshot] {
	changes := display.NewCoalescer(display.Window, display.MaxWait, nil)
	d.mu.Lock()
	d.followers[changes] = true
	d.mu.Unlock()
	return func(yield func(display.Snapshot) bool) {
		defer func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			delete(d.followers, changes)
		}()
		yielded := map[string]mark{}
		for {
			arms, err := changes.Next(ctx)
			if err != nil {
				return
			}
			for _, id := range arms {
				if s, ok := d.snapshotIfChanged(ctx, id, yielded); ok && !yield(s) {
					return
				}
			}
		}
	}
}

// mark contains the values that show whether the snapshot of an arm has changed.
type mark struct {
	host, epoch string
	seq         uint64
	state       coleo.State
	rule, model string
	dialog      coleo.Fingerprint
}

// snapshotIfChanged returns the snapshot of an arm. It returns false if the arm was removed, or if the
// snapshot has not changed since it was last yielded.
func (d *Snapshots) snapshotIfChanged(ctx context.Context, id string,
	yielded map[string]mark) (display.Snapshot, bool) {
	arm, err := d.config.Find(ctx, id)
	if err != nil {
		delete(yielded, id)
		return display.Snapshot{}, false
	}
	s, err := d.snapshot(ctx, id)
	if err != nil {
		if ctx.Err() == nil {
			d.config.Log.Warn("make the display of an arm", "arm", arm.Name, "error", err)
		}
		return display.Snapshot{}, false
	}
	s = s.With(arm)
	m := mark{s.Host, s.Epoch, s.Seq, s.State, s.Rule, s.Model, ""}
	if s.Dialog != nil {
		m.dialog = s.Dialog.Fingerprint
	}
	if yielded[id] == m {
		return s, false
	}
	yielded[id] = m
	return s, true
}

// snapshot returns the snapshot of an arm up to the end of serve's log. It reads the log without
// holding the lock, so that NoteLogged never waits until the log has been read.
func (d *Snapshots) snapshot(ctx context.Context, arm string) (display.Snapshot, error) {
	d.mu.Lock()
	s, ok := d.known[arm]
	if ok {
		s.upTo = max(s.upTo, d.published)
	}
	d.mu.Unlock()
	for {
		end := d.config.DB.Head()
		var err error
		if ok {
			s, err = d.bringUpToDate(ctx, s)
		} else {
			s, err = d.rebuild(ctx, arm)
		}
		if err != nil {
			return display.Snapshot{}, err
		}
		ok, s.upTo = true, max(s.upTo, end)
		d.mu.Lock()
		now, there := d.known[arm]
		// false if NoteLogged has ignored later events of the arm, because d.known did not contain the arm
		whole := d.published <= s.upTo
		if whole && now.upTo < s.upTo {
			d.known[arm] = s
		}
		d.mu.Unlock()
		if whole || there {
			return s.Snapshot, nil
		}
	}
}

// bringUpToDate brings the snapshot s up to date: it applies all events of the arm after the position
// s.upTo in the log.
func (d *Snapshots) bringUpToDate(ctx context.Context, s positioned) (positioned, error) {
	if d.config.DB.Head() <= s.upTo {
		return s, nil
	}
	for {
		page, err := d.config.DB.Entries(ctx, store.EventFilter{Arm: s.Arm, After: s.upTo})
		if err != nil || len(page) == 0 {
			return s, err
		}
		for _, e := range page {
			s = positioned{display.Apply(s.Snapshot, e.Event), e.Position}
		}
	}
}

// rebuild computes the snapshot of an arm from the log. It uses the events of the arm's newest run,
// and the newest events before this run.
func (d *Snapshots) rebuild(ctx context.Context, arm string) (positioned, error) {
	s := positioned{Snapshot: display.Snapshot{Arm: arm}}
	recent, err := d.config.DB.Newest(ctx, arm, "", 0, displayRecent)
	if err != nil || len(recent) == 0 {
		return s, err
	}
	first := recent[0].Position
	starts, err := d.config.DB.Newest(ctx, arm, coleo.EventRunStart, 0, 1)
	if err != nil {
		return s, err
	}
	long := len(starts) > 0 && starts[0].Position < first
	if long {
		first = starts[0].Position
	}
	seeds, err := d.eventsBefore(ctx, arm, first)
	if err != nil {
		return s, err
	}
	for _, e := range seeds {
		s.Snapshot = display.Apply(s.Snapshot, e.Event)
	}
	if long {
		if s, err = d.ofLongRun(ctx, s, starts[0], recent[0].Position); err != nil {
			return s, err
		}
	}
	for _, e := range recent {
		s = positioned{display.Apply(s.Snapshot, e.Event), e.Position}
	}
	return s, nil
}

// eventsBefore returns the newest events of an arm before a position. It returns only events of the
// kinds in displayKinds.
func (d *Snapshots) eventsBefore(ctx context.Context, arm string, before uint64) ([]store.Entry, error) {
	var all []store.Entry
	for _, kind := range displayKinds {
		list, err := d.config.DB.Newest(ctx, arm, kind, before, displaySeeds)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(x, y store.Entry) int { return int(int64(x.Position) - int64(y.Position)) })
	return all, nil
}

// ofLongRun applies the events of a run to the snapshot s. The first one is `start`, and the last one is the last
// event before the position `until`. If there are too many events, ofLongRun applies only the first displayMost, and
// marks the snapshot as partial.
func (d *Snapshots) ofLongRun(ctx context.Context, s positioned, start store.Entry, until uint64) (positioned, error) {
	s.upTo = start.Position - 1
	for n := 0; ; {
		page, err := d.config.DB.Entries(ctx, store.EventFilter{Arm: s.Arm, After: s.upTo})
		if err != nil {
			return s, err
		}
		for _, e := range page {
			if e.Position >= until {
				return s, nil
			}
			s = positioned{display.Apply(s.Snapshot, e.Event), e.Position}
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
