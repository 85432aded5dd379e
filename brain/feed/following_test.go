package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// mixedEvents returns the log of a host with a run of each of three arms. First all runs begin,
// then there are 300 events of work for each arm, and then all runs end.
func mixedEvents() (list []coleo.Event) {
	now := time.Now().UTC() // the present time, because old events would be deleted
	add := func(i int, kind coleo.EventKind, payload any) {
		raw, _ := json.Marshal(payload)
		arm := i % 3
		list = append(list, coleo.Event{Host: someHost, Epoch: "e", Seq: uint64(len(list) + 1), Kind: kind,
			Time: now, Arm: fmt.Sprint("arm-", arm), Run: fmt.Sprint("run-", arm), Payload: raw})
	}
	for i := range 3 {
		add(i, coleo.EventRunStart, coleo.Receipt{Text: "do it"})
	}
	kinds := []coleo.EventKind{coleo.EventToolStart, coleo.EventToolProgress, coleo.EventToolEnd, coleo.EventUsage}
	for i := range 900 {
		add(i, kinds[i%len(kinds)], map[string]string{"id": fmt.Sprint(i)})
		list[len(list)-1].Source = coleo.SourceHook
	}
	for i := range 3 {
		add(i, coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle})
	}
	return list
}

// paged returns the events that match a filter, read page by page.
func (s *fed) paged(f wire.EventFilter) (all []string) {
	s.t.Helper()
	for f.Limit = 17; ; {
		page, next, err := s.Events(s.t.Context(), f)
		check(s.t, err)
		if len(page) == 0 {
			return all
		}
		for _, e := range page {
			all = append(all, asText(s.t, wire.Update{Event: &e}))
		}
		f.After = next
	}
}

func asText(t *testing.T, u wire.Update) string {
	t.Helper()
	raw, err := u.EventJSON()
	check(t, err)
	return string(raw)
}

// TestReplayEqualsLive compares three kinds of readers while the log grows: a follower from the
// beginning, a follower that comes back after every few events, and a reader of pages. For each
// filter, all three must receive the same events.
func TestReplayEqualsLive(t *testing.T) {
	t.Parallel()
	s := newFed(t)
	s.rowsOf(3)
	list := mixedEvents()
	check(t, s.db.Project(t.Context(), list[:3])) // so that the runs are known
	filters := []wire.EventFilter{{}, {Arm: "arm-1"}, {Run: "run-2"},
		{Kinds: []coleo.EventKind{coleo.EventToolEnd, coleo.EventRunEnd}},
		{Run: "run-0", Kinds: []coleo.EventKind{coleo.EventRunEnd, coleo.EventUsage, coleo.EventUsage}},
		{Arm: "arm-1", Run: "run-1", Kinds: []coleo.EventKind{coleo.EventRunStart, coleo.EventRunEnd}}}
	live, back := make([][]string, len(filters)), make([][]string, len(filters))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var following sync.WaitGroup
	for i, f := range filters {
		following.Go(func() { live[i] = s.followToEnd(ctx, f, len(list)*2) })
		following.Go(func() { back[i] = s.followToEnd(ctx, f, 5) })
	}
	for at := 3; at < len(list); at += 31 {
		check(t, s.db.Project(t.Context(), list[at:min(at+31, len(list))]))
	}
	following.Wait()
	for i, f := range filters {
		want := s.paged(f)
		if len(want) < 2 {
			t.Fatalf("%+v matches %d events", f, len(want))
		}
		if !slices.Equal(live[i], want) {
			t.Errorf("%+v: live, %d events came, want %d", f, len(live[i]), len(want))
		}
		if !slices.Equal(back[i], want) {
			t.Errorf("%+v: with returns, %d events came, want %d", f, len(back[i]), len(want))
		}
	}
}

// followToEnd follows until it has received everything up to the end of mixedEvents. After each `leave`
// updates, it disconnects, and comes back with its cursor.
func (s *fed) followToEnd(ctx context.Context, f wire.EventFilter, leave int) (all []string) {
	end := uint64(len(mixedEvents()))
	for {
		news, err := s.Follow(ctx, f, time.Hour)
		check(s.t, err)
		n := 0
		for u := range news {
			if f.After = u.Cursor; u.Event != nil {
				all = append(all, asText(s.t, u))
			} else if at, _ := PositionOf(u.Cursor); at == end {
				return all
			}
			if n++; n == leave {
				break
			}
		}
		if ctx.Err() != nil {
			return all
		}
	}
}

// TestR7ASlowFollowerReadsTheLogAndGetsTheRowsOfAllArms has a follower that stops while the brain
// publishes more updates than it keeps. After that, the follower must receive each event, and the
// newest row of each arm.
func TestR7ASlowFollowerReadsTheLogAndGetsTheRowsOfAllArms(t *testing.T) {
	t.Parallel()
	s := newFed(t)
	s.rowsOf(2)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // ends the wait if an event is lost
	defer stop()
	news, err := s.Subscribe(ctx, "")
	check(t, err)
	s.PublishArm(t.Context(), "arm-0") // the first update, which does not come from the log
	const all = 2*recentMost + 5
	var got []uint64
	rows, removed, begun := map[string]int{}, 0, false
	for u := range news {
		if !begun {
			begun = true
			for at := 1; at <= all; at += 500 {
				s.addEvents(at, min(500, all+1-at))
			}
			_, err := s.db.UpdateArm(t.Context(), "arm-0", func(row *coleo.Arm) error { row.ContextBudget = 77; return nil })
			check(t, err)
			check(t, s.db.DeleteArm(t.Context(), "arm-1"))
			s.PublishRemoved("arm-1")
			s.until("everything is published", func() bool { return s.updates.nextNumber() >= all })
		}
		switch {
		case u.Event != nil:
			got = append(got, u.Event.Seq)
		case u.Arm != nil:
			rows[u.Arm.ID] = u.Arm.ContextBudget
		case u.Removed == "arm-1":
			removed++
		}
		if len(got) == all && rows["arm-0"] == 77 {
			break
		}
	}
	if want := sequences(1, all); !slices.Equal(got, want) {
		t.Errorf("%d events came, want %d, each once and in order", len(got), all)
	}
	if removed == 0 {
		t.Error("the follower was not told that arm-1 was removed")
	}
	s.updates.mu.Lock()
	defer s.updates.mu.Unlock()
	if n := len(s.updates.list); n > recentMost {
		t.Errorf("%d updates are kept in memory, want at most %d", n, recentMost)
	}
}

// TestFollowersAreWokenAtABoundedRate checks that many small publications rarely wake many
// followers, but that the last publication does wake them.
func TestFollowersAreWokenAtABoundedRate(t *testing.T) {
	t.Parallel()
	u := newUpdates()
	const followers, publications = 2000, 500 // with so many followers, a wake-up is due every 100 ms
	for range followers {
		u.follow()
	}
	begin, wakes := time.Now(), 0
	at, _, _ := u.from(0)
	for range publications {
		_, more, _ := u.from(uint64(len(at)))
		u.publish(update{Update: wire.Update{Removed: "x"}})
		select {
		case <-more:
			wakes++
		default:
		}
	}
	if most := 2 + int(time.Since(begin)/(followers*wakeCost)); wakes > most {
		t.Errorf("%d publications woke the followers %d times, want at most %d", publications, wakes, most)
	}
	_, more, _ := u.from(publications)
	u.mu.Lock()
	waking := u.waking
	u.mu.Unlock()
	if waking {
		<-more // an endless wait ends with the test's time-out
	}
}

func TestFiltersOfUnknownThingsAreRefused(t *testing.T) {
	t.Parallel()
	s := newFed(t)
	check(t, s.db.Project(t.Context(), mixedEvents()))
	for _, c := range []struct {
		f    wire.EventFilter
		want coleo.Code
	}{
		{wire.EventFilter{Arm: "nobody"}, coleo.ENotFound},
		{wire.EventFilter{Run: "nothing"}, coleo.ENotFound},
		{wire.EventFilter{Run: "run-"}, coleo.EInvalid}, // the beginning of three ids
		{wire.EventFilter{Kinds: []coleo.EventKind{"state", "weather"}}, coleo.EInvalid},
		{wire.EventFilter{After: "!"}, coleo.EInvalid},
		{wire.EventFilter{After: wire.Now}, ""},
	} {
		if _, _, err := s.Events(t.Context(), c.f); coleo.ErrorCode(err) != c.want {
			t.Errorf("events by %+v: %v, want %q", c.f, err, c.want)
		}
		if _, err := s.Follow(t.Context(), c.f, time.Hour); coleo.ErrorCode(err) != c.want {
			t.Errorf("follow by %+v: %v, want %q", c.f, err, c.want)
		}
	}
	if page, next, err := s.Events(t.Context(), wire.EventFilter{After: wire.Now}); err != nil || len(page) != 0 ||
		next != s.Cursor() {
		t.Errorf("events from now on: %d, next %s (%v)", len(page), next, err)
	}
}
