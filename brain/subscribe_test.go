package brain

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"coleo.dev/bus"
	"coleo.dev/wire"
)

// sequences returns the numbers 1 to n.
func sequences(n int) (out []uint64) {
	for i := range n {
		out = append(out, uint64(i+1))
	}
	return out
}

// TestEachEventIsPublishedOnce has a host that no longer has the event at serve's cursor, so the
// host sends its log from the beginning. Two goroutines read the log. Subscribers must receive no
// event twice.
func TestEachEventIsPublishedOnce(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	const all = 40
	list := logOf(slices.Repeat([]string{"e"}, all)...)
	s.answerWith(bus.OpEvents, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.EventsOrder
		err := json.Unmarshal(data, &o)
		end := min(o.After+10, all)
		// each answer begins at the beginning of the log
		return bus.Events{Epoch: "e", Head: all, Checked: true, List: list[:end]}, err
	})
	news, err := s.brain.Subscribe(t.Context(), "")
	check(t, err)
	var reading sync.WaitGroup
	for range 2 {
		reading.Go(func() {
			for s.db.Head() < all {
				s.brain.roster.CatchUp(t.Context(), scriptedHost)
			}
		})
	}
	var got []uint64
	for u := range news {
		if u.Event != nil {
			got = append(got, u.Event.Seq)
		}
		if u.Event != nil && u.Event.Seq == all {
			break
		}
	}
	reading.Wait()
	if want := sequences(all); !slices.Equal(got, want) {
		t.Errorf("published events %d, want each of %d once", got, all)
	}
}

// watched returns a function. Each call of this function returns the updates that were published
// since the call before.
func (s *scripted) watched() func() []wire.Update {
	s.t.Helper()
	news, err := s.brain.Subscribe(s.t.Context(), "")
	check(s.t, err)
	next, stop := iter.Pull(news)
	s.t.Cleanup(stop)
	calls := 0
	return func() (all []wire.Update) {
		s.t.Helper()
		calls++
		end := fmt.Sprint("end-", calls)
		s.brain.PublishRemoved(end)
		for {
			u, ok := next()
			switch {
			case !ok:
				s.t.Fatal("the updates have ended")
			case u.Removed == end:
				return all
			}
			all = append(all, u)
		}
	}
}
