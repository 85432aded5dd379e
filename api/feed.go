package api

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/display"
	"coleo.dev/wire"
)

// newsBox is how many messages can wait for a slow client. If there are more messages, the feed
// waits. It later gets the events from the brain's log.
const newsBox = 256

// The channels of /ws.
const (
	channelArms   = "arms"       // the present arms, and then their changes
	channelEvents = "arm-events" // every event in the log of every arm
	// channelDisplay sends a snapshot of an arm each time the arm has changed. A new subscription
	// sends no snapshots at first. A client therefore reads the first snapshots from
	// /api/arms/{id}/display.
	channelDisplay = "display"
	channelAll     = "all"
)

// news is one message of /ws. Data is an arm, an event, all present arms (arms.snapshot), or {"id"}
// of a removed arm. To get the events after a certain event, a client subscribes with that event's
// Cursor as "after".
type news struct {
	Channel string    `json:"channel"`
	Event   string    `json:"event"`
	Data    any       `json:"data"`
	Cursor  string    `json:"cursor,omitempty"`
	Time    time.Time `json:"timestamp"`
}

type removed struct {
	ID string `json:"id"`
}

// feed is one client of /ws.
type feed struct {
	*socket
	s      *Server
	others sync.WaitGroup

	mu     sync.Mutex // held during a snapshot, so that nothing older than the snapshot follows it
	on     map[string]bool
	filter wire.EventFilter // of the events, with whole ids
	known  map[string]bool  // the arms that the client has got, by id
	source chan iter.Seq[wire.Update]
	begun  bool // the client has subscribed, so its sequence of updates exists
	shows  bool // the sequence of displays exists
}

func (s *Server) serveFeed(w http.ResponseWriter, r *http.Request) {
	s.sockets.Add(1)
	defer s.sockets.Done()
	k, err := s.accept(w, r, newsBox)
	if err != nil {
		return
	}
	k.patient = true
	f := &feed{socket: k, s: s, on: map[string]bool{}, known: map[string]bool{},
		source: make(chan iter.Seq[wire.Update], 1)}
	k.run(f.read, f.follow)
	f.others.Wait()
}

func (f *feed) read(_ int, data []byte) {
	c, ok := f.parse(data)
	if !ok {
		return
	}
	switch c.Type {
	case "ping":
		f.post(control{Type: "pong"})
	case "auth":
		yes := true // a client can send this only after it has shown the token
		f.post(control{Type: "auth", Success: &yes})
	case "subscribe":
		f.subscribe(c)
	case "unsubscribe":
		f.mu.Lock()
		delete(f.on, c.Channel)
		f.mu.Unlock()
		f.post(control{Type: "unsubscribed", Channel: c.Channel})
	default:
		f.postError(coleo.Errorf(coleo.EInvalid,
			"there is no message type %q; the types are auth, subscribe, unsubscribe and ping", c.Type))
	}
}

// subscribe begins to send the news of a channel. In the first subscription, a client can ask for
// the events after a cursor. Filters apply only to the channels with events. A new filter replaces
// the filter of an earlier subscription.
func (f *feed) subscribe(c control) {
	switch c.Channel {
	case channelArms, channelEvents, channelDisplay, channelAll:
	default:
		f.postError(coleo.Errorf(coleo.EInvalid,
			"there is no channel %q; the channels are arms, arm-events, display and all", c.Channel))
		return
	}
	filter, err := f.s.brain.WholeFilter(f.ctx, wire.EventFilter{Arm: c.Arm, Run: c.Run, Kinds: c.Kinds})
	if err != nil {
		f.postError(err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.begun:
		source, err := f.s.brain.Subscribe(f.ctx, c.After)
		if err != nil {
			f.postError(err)
			return
		}
		f.begun = true
		f.source <- source
	case c.After != "":
		f.postError(coleo.Errorf(coleo.EInvalid,
			"only the first subscription of a connection can have \"after\": connect again"))
		return
	}
	f.on[c.Channel] = true
	if c.Channel == channelEvents || c.Channel == channelAll {
		f.filter = filter
	}
	f.post(control{Type: "subscribed", Channel: c.Channel})
	if c.Channel == channelArms || c.Channel == channelAll {
		f.snapshot()
	}
	if !f.shows && (c.Channel == channelDisplay || c.Channel == channelAll) {
		f.shows = true
		displays := f.s.brain.Displays(f.ctx) // before the client reads the first ones
		f.others.Go(func() { f.show(displays) })
	}
}

// show sends snapshots of arms until the connection ends. It does not hold the lock while it waits
// for room in the queue. Meanwhile the brain bundles new snapshots.
func (f *feed) show(displays iter.Seq[display.Snapshot]) {
	for s := range displays {
		f.mu.Lock()
		on := f.on[channelDisplay] || f.on[channelAll]
		f.mu.Unlock()
		if on {
			f.post(news{Channel: channelDisplay, Event: "display.changed", Data: s, Time: f.s.now().UTC()})
		}
	}
}

// snapshot sends all present arms to the client. All messages after the snapshot are changes.
func (f *feed) snapshot() {
	arms, err := f.s.brain.Arms(f.ctx, true)
	if err != nil {
		f.postError(err)
		return
	}
	for _, arm := range arms {
		f.known[arm.ID] = true
	}
	f.send(news{Channel: channelArms, Event: "arms.snapshot", Data: armsReply{list(arms)}})
}

// follow sends news until the connection ends, or until the brain ends the sequence of updates. The
// brain ends the sequence if serve's log cannot be read.
func (f *feed) follow(ctx context.Context) error {
	select {
	case source := <-f.source:
		for u := range source {
			f.pass(u)
		}
		return errNoNews
	case <-ctx.Done():
		return nil
	}
}

func (f *feed) pass(u wire.Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case u.Arm != nil:
		event := "arm.updated"
		if !f.known[u.Arm.ID] {
			event = "arm.created"
		}
		f.known[u.Arm.ID] = true
		f.send(news{Channel: channelArms, Event: event, Data: u.Arm})
	case u.Removed != "":
		delete(f.known, u.Removed)
		f.send(news{Channel: channelArms, Event: "arm.deleted", Data: removed{u.Removed}})
	case u.Event != nil:
		f.passEvent(u)
	}
}

func (f *feed) passEvent(u wire.Update) {
	event, ok := milestones[u.Event.Kind]
	wanted := (f.on[channelEvents] || f.on[channelAll]) && f.filter.Matches(u.Event)
	if !ok && !wanted {
		return
	}
	data, err := u.EventJSON()
	if err != nil {
		f.end(err)
		return
	}
	if ok {
		f.send(news{Channel: channelArms, Event: event, Data: json.RawMessage(data), Cursor: u.Cursor})
	}
	if wanted {
		f.send(news{Channel: channelEvents, Event: string(u.Event.Kind), Data: json.RawMessage(data), Cursor: u.Cursor})
	}
}

// milestones lists the kinds of events that clients of the arms channel also receive. Each value is
// the name of the event in that channel.
var milestones = map[coleo.EventKind]string{
	coleo.EventSpawned: "arm.spawned",
	coleo.EventStopped: "arm.killed",
}

// send sends a message to a client that has subscribed to the message's channel. It waits for a
// slow client.
func (f *feed) send(n news) {
	if f.on[n.Channel] || f.on[channelAll] {
		n.Time = f.s.now().UTC()
		f.post(n)
	}
}
