package brain

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/brain/feed"
	"coleo.dev/bus"
)

// TestAnEventThatWasMissedIsReadLater has an older host agent, whose Head counts an event that is
// missing in its answer. Serve must still read this event and the later events.
func TestAnEventThatWasMissedIsReadLater(t *testing.T) {
	t.Parallel()
	for what, early := range map[string]bus.Events{
		"and its log goes on":        {Epoch: "e", Head: 2, Checked: true},
		"and it was opened just now": {Epoch: "f", Head: 2, Checked: true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t)
			var asked atomic.Int64
			s.answerWith(bus.OpEvents, func(_ context.Context, data json.RawMessage) (any, error) {
				var o bus.EventsOrder
				err := json.Unmarshal(data, &o)
				list := logOf("e", early.Epoch, early.Epoch)
				switch asked.Add(1) {
				case 1:
					list = list[:1]
				case 2:
					return early, err
				}
				list = list[min(o.After, uint64(len(list))):]
				return bus.Events{Epoch: early.Epoch, Head: 3, Checked: true, List: list}, err
			})
			s.until("all events are there", func() bool {
				s.beat()
				return s.db.Head() == 3
			})
		})
	}
}

// Serve meets a host by the host's first message: a beat, or the message that its log has new events.
// Events that come later are not in the backlog, even if serve reads them together with it.
func TestABacklogEndsAtTheFirstMessageOfAHost(t *testing.T) {
	t.Parallel()
	const id = "another"
	for what, c := range map[string]struct {
		meet    func(b *Brain)
		backlog int
	}{
		"a beat":       {func(b *Brain) { b.roster.TakeBeat(bus.Beat{ID: id, PID: 1, Epoch: "e", Head: 2}) }, 2},
		"the log":      {func(b *Brain) { b.roster.TakeGrowth(bus.Grown{Host: id, Epoch: "e", Head: 3}) }, 3},
		"an empty log": {func(b *Brain) { b.roster.TakeBeat(bus.Beat{ID: id, PID: 1, Epoch: "e"}) }, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t)
			list := logOf("e", "e", "e")
			for i := range list {
				list[i].Host = id
			}
			check(t, s.bus.Host().Serve(t.Context(), id, func(_ context.Context, op bus.Op, _ json.RawMessage) (any, error) {
				if op != bus.OpEvents {
					return nil, coleo.Errorf(coleo.EUnsupported, "no answer to %s", op)
				}
				return bus.Events{Epoch: "e", Head: 3, Checked: true, List: list}, nil
			}))
			c.meet(s.brain)
			s.until("all events are there", func() bool { return s.db.Head() == 3 })
			for i, e := range list {
				in, err := s.brain.InBacklog(t.Context(), e, feed.CursorOf(uint64(i+1)))
				if check(t, err); in != (i < c.backlog) {
					t.Errorf("event %d is in the backlog: %t, want the first %d events", i+1, in, c.backlog)
				}
			}
			if _, err := s.brain.InBacklog(t.Context(), list[0], "no cursor"); coleo.ErrorCode(err) != coleo.EInvalid {
				t.Errorf("a bad cursor: %v", err)
			}
		})
	}
}

// A host is listed as behind from its beat on, until serve has read the events that the beat counts.
func TestAHostIsBehindUntilItsLogIsRead(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	may := make(chan struct{})
	s.answerWith(bus.OpEvents, func(ctx context.Context, _ json.RawMessage) (any, error) {
		select {
		case <-may:
		case <-ctx.Done():
		}
		return bus.Events{Epoch: "e", Head: 2, Checked: true, List: logOf("e", "e")}, nil
	})
	s.brain.roster.TakeBeat(bus.Beat{ID: scriptedHost, PID: 1, Epoch: "e", Head: 2})
	behind := func() bool {
		list, err := s.brain.Hosts(t.Context())
		check(t, err)
		i := slices.IndexFunc(list, func(h coleo.HostInfo) bool { return h.ID == scriptedHost && h.Live })
		return i >= 0 && list[i].Behind
	}
	if !behind() {
		t.Error("the host is not behind, although none of its events is read")
	}
	close(may)
	s.until("the log is read", func() bool { return !behind() })
	if head := s.db.Head(); head != 2 {
		t.Errorf("the host is no longer behind with %d of 2 events", head)
	}
}

// logOf returns the log of a host, with events of the given epochs.
func logOf(epochs ...string) (list []coleo.Event) {
	for i, epoch := range epochs {
		list = append(list, coleo.Event{Host: scriptedHost, Epoch: epoch, Seq: uint64(i + 1), Kind: coleo.EventWitness,
			Time: time.Now()})
	}
	return list
}
