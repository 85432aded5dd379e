// Package feed publishes each event of serve's log, and each change of an arm's row, to many followers. A
// slow follower delays nobody, and a follower that comes back misses nothing.
//
// Package feed does not read the logs of hosts. Its caller writes their events into serve's log.
package feed

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// retryAfter is the pause after serve's log could not be read.
const retryAfter = 2 * time.Second

// Config contains what a Feed needs.
type Config struct {
	DB   *store.ServeDB
	Log  *slog.Logger
	Arm  func(ctx context.Context, idOrName string) (coleo.Arm, error)   // returns an arm with its health
	Arms func(ctx context.Context, includeAll bool) ([]coleo.Arm, error) // returns all arms with their health
	// Logged is called with each event of serve's log, in order, before the event is published.
	Logged func(e store.Entry)
	// Changed is called after the row of an arm was published.
	Changed func(arm string)
	// Published is called after the events of a page of serve's log, and the rows of their arms, were
	// published.
	Published func(ctx context.Context, page []store.Entry)
}

// Feed publishes events and rows to followers. It is safe for concurrent use.
type Feed struct {
	config     Config
	updates    *updates
	publishing sync.Mutex // held while an arm's row is read and published, and while a removal is published

	// `from` is the end of serve's log when this feed was created. PublishLog publishes the events after this position.
	// A follower reads older events from the log.
	from uint64
}

// New returns a feed that publishes the events that are logged after this call. It publishes them
// when PublishLog is called.
func New(c Config) *Feed {
	d := &Feed{config: c, updates: newUpdates()}
	if c.DB != nil { // DB is nil only in tests of single methods
		d.from = c.DB.Head()
	}
	return d
}

// EndFollowing ends the sequences of all followers.
func (d *Feed) EndFollowing() { d.updates.end() }

// PublishLog publishes each event that was logged since the call of New, once and in order. It
// reads the log in pages. After the events of each page, it publishes the present rows of the arms
// in these events. PublishLog returns when ctx ends or when the store is closed.
func (d *Feed) PublishLog(ctx context.Context) {
	for after := d.from; ctx.Err() == nil && d.config.DB.Wait(ctx, after) == nil; {
		page, err := d.config.DB.Entries(ctx, store.EventFilter{After: after})
		if err != nil {
			d.config.Log.Warn("publish serve's log", "after", after, "error", err)
			select {
			case <-time.After(retryAfter):
			case <-ctx.Done():
			}
			continue
		}
		list := make([]update, len(page))
		for i, e := range page {
			after, list[i] = e.Position, asUpdate(e).encodedOnce()
			d.config.Logged(e)
		}
		d.updates.publish(list...)
		d.publishRowsOf(ctx, page)
		d.config.Published(ctx, page)
	}
}

// publishRowsOf publishes the present rows of the arms that have events on a page of serve's log.
// It ignores events about work that change no row.
func (d *Feed) publishRowsOf(ctx context.Context, page []store.Entry) {
	var changed []string
	for _, e := range page {
		switch {
		case e.Kind == coleo.EventRemoved:
			changed = slices.DeleteFunc(changed, func(id string) bool { return id == e.Arm })
			d.PublishRemoved(e.Arm)
		case e.Arm != "" && e.Kind.ChangesArm() && !slices.Contains(changed, e.Arm):
			changed = append(changed, e.Arm)
		}
	}
	d.PublishArms(ctx, changed)
}

// PublishArm publishes the present row of an arm with the arm's health. It reads and publishes the
// row under one lock, so that it never publishes an older row after a newer row.
func (d *Feed) PublishArm(ctx context.Context, id string) {
	d.publishing.Lock()
	defer d.publishing.Unlock()
	// An error means that the arm was removed, and PublishRemoved publishes the removal.
	if arm, err := d.config.Arm(ctx, id); err == nil {
		d.updates.publish(update{Update: wire.Update{Arm: &arm}})
		d.config.Changed(id)
	}
}

// PublishRemoved publishes that the arm with the given id was removed. The caller must have deleted the arm's row. The
// lock keeps PublishArm from publishing a row that it has read before the removal.
func (d *Feed) PublishRemoved(id string) {
	d.publishing.Lock()
	defer d.publishing.Unlock()
	d.updates.publish(update{Update: wire.Update{Removed: id}})
}

// PublishArms publishes the rows of some arms with their health.
func (d *Feed) PublishArms(ctx context.Context, ids []string) {
	for _, id := range ids {
		d.PublishArm(ctx, id)
	}
}

// PublishArmsOf publishes the rows of all arms of a host agent with their health.
func (d *Feed) PublishArmsOf(ctx context.Context, id string) {
	list, err := d.config.DB.Arms(ctx, true)
	if err != nil {
		// The store cannot be read, so the sequences of the followers end too. Each subscriber reads the rows when it
		// subscribes again.
		return
	}
	for _, arm := range list {
		if arm.AgentID == id {
			d.PublishArm(ctx, arm.ID)
		}
	}
}
