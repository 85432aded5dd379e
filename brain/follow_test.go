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

// One answer of an older host agent contains no events, although its number Head says that the log has one
// more. Serve must still read the missing event and the later events.
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

// The backlog is the events that a host already had when serve first heard from it. The first message is a
// beat, which is the host's sign of life, or the news that its log has grown. An event that was written after
// this message is not in the backlog, even if serve reads it together with the backlog.
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

// A beat says how many events a host's log has. From the beat on, the host is listed as behind, until serve has
// read that many events.
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

// logOf returns the log of a host. It has one event for each of the given epochs.
func logOf(epochs ...string) (list []coleo.Event) {
	for i, epoch := range epochs {
		list = append(list, coleo.Event{Host: scriptedHost, Epoch: epoch, Seq: uint64(i + 1), Kind: coleo.EventWitness,
			Time: time.Now()})
	}
	return list
}
