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

// newsBox is the number of messages that can wait for a slow client. If the queue is full, the feed waits. Later
// it reads from the brain's log the events that happened meanwhile.
const newsBox = 256

// news is one message of /ws. Data is an arm, an event, a list of all present arms, or an object
// with the id of a removed arm. To receive the events after this message, a client subscribes with
// the message's Cursor as "after".
type news struct {
	Channel string    `json:"channel"`
	Event   string    `json:"event"`
	Data    any       `json:"data"`
	Cursor  string    `json:"cursor,omitempty"`
	Time    time.Time `json:"timestamp"`
}

// feed is the connection of one client of /ws.
type feed struct {
	*socket
	s      *Server
	others sync.WaitGroup

	mu     sync.Mutex // held while a snapshot of all arms is sent, so that no older update follows the snapshot
	on     map[string]bool
	filter wire.EventFilter // selects the events of wire.ChannelEvents; contains complete ids
	known  map[string]bool  // the ids of the arms that were sent to the client
	source chan iter.Seq[wire.Update]
	begun  bool // whether the client has subscribed, so that its sequence of updates exists
	shows  bool // whether the client's sequence of displays exists
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
		f.post(wire.Control{Type: "pong"})
	case "auth":
		yes := true // always true, because accept has refused every client without a valid token
		f.post(wire.Control{Type: "auth", Success: &yes})
	case "subscribe":
		f.subscribe(c)
	case "unsubscribe":
		f.mu.Lock()
		delete(f.on, c.Channel)
		f.mu.Unlock()
		f.post(wire.Control{Type: "unsubscribed", Channel: c.Channel})
	default:
		f.postError(coleo.Errorf(coleo.EInvalid,
			"there is no message type %q; the types are auth, subscribe, unsubscribe and ping", c.Type))
	}
}

// subscribe begins to send the news of a channel. Only the first subscription of a connection can
// ask for the events after a cursor. Filters apply only to channels with events. A new filter
// replaces the filter of an earlier subscription.
func (f *feed) subscribe(c wire.Control) {
	switch c.Channel {
	case wire.ChannelArms, wire.ChannelEvents, wire.ChannelDisplay, wire.ChannelAll:
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
	if c.Channel == wire.ChannelEvents || c.Channel == wire.ChannelAll {
		f.filter = filter
	}
	f.post(wire.Control{Type: "subscribed", Channel: c.Channel})
	if c.Channel == wire.ChannelArms || c.Channel == wire.ChannelAll {
		f.snapshot()
	}
	if !f.shows && (c.Channel == wire.ChannelDisplay || c.Channel == wire.ChannelAll) {
		f.shows = true
		// Subscribe here and not in the goroutine. The client reads its first snapshots soon, and
		// must receive every change after that.
		displays := f.s.brain.Displays(f.ctx)
		f.others.Go(func() { f.show(displays) })
	}
}

// show sends snapshots of arms until the connection ends. It does not hold the lock while it waits
// for room in the queue. Meanwhile the brain combines new snapshots of the same arm.
func (f *feed) show(displays iter.Seq[display.Snapshot]) {
	for s := range displays {
		f.mu.Lock()
		on := f.on[wire.ChannelDisplay] || f.on[wire.ChannelAll]
		f.mu.Unlock()
		if on {
			f.post(news{Channel: wire.ChannelDisplay, Event: "display.changed", Data: s, Time: f.s.now().UTC()})
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
	f.send(news{Channel: wire.ChannelArms, Event: "arms.snapshot", Data: wire.ArmsReply{Arms: list(arms)}})
}

// follow sends news until the connection ends, or until the brain ends the sequence of updates
// because it cannot read its log.
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
		f.send(news{Channel: wire.ChannelArms, Event: event, Data: u.Arm})
	case u.Removed != "":
		delete(f.known, u.Removed)
		f.send(news{Channel: wire.ChannelArms, Event: "arm.deleted", Data: wire.RemovedArm{ID: u.Removed}})
	case u.Event != nil:
		f.passEvent(u)
	}
}

func (f *feed) passEvent(u wire.Update) {
	event, ok := milestones[u.Event.Kind]
	wanted := (f.on[wire.ChannelEvents] || f.on[wire.ChannelAll]) && f.filter.Matches(u.Event)
	if !ok && !wanted {
		return
	}
	data, err := u.EventJSON()
	if err != nil {
		f.end(err)
		return
	}
	if ok {
		f.send(news{Channel: wire.ChannelArms, Event: event, Data: json.RawMessage(data), Cursor: u.Cursor})
	}
	if wanted {
		f.send(news{Channel: wire.ChannelEvents, Event: string(u.Event.Kind), Data: json.RawMessage(data), Cursor: u.Cursor})
	}
}

// milestones contains the kinds of events that clients of wire.ChannelArms also receive. Each value is
// the name of the event in that channel.
var milestones = map[coleo.EventKind]string{
	coleo.EventSpawned: "arm.spawned",
	coleo.EventStopped: "arm.killed",
}

// send sends a message to the client if the client has subscribed to the message's channel. If the
// client is slow, send waits.
func (f *feed) send(n news) {
	if f.on[n.Channel] || f.on[wire.ChannelAll] {
		n.Time = f.s.now().UTC()
		f.post(n)
	}
}
