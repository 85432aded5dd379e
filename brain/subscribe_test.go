package brain

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
	"coleo.dev/store"
)

// sequences returns the numbers of n events from a first one on.
func sequences(first, n int) (out []uint64) {
	for i := range n {
		out = append(out, uint64(first+i))
	}
	return out
}

// addEvents adds n events to serve's log.
func (s *scripted) addEvents(first, n int) {
	s.t.Helper()
	var list []coleo.Event
	for _, seq := range sequences(first, n) {
		list = append(list, coleo.Event{Host: scriptedHost, Epoch: "e", Seq: seq, Kind: coleo.EventWitness})
	}
	check(s.t, s.db.Project(s.t.Context(), list))
}

// published returns the updates from number at on, and moves at behind them.
func (s *scripted) published(at *uint64) (all []update) {
	s.t.Helper()
	for {
		list, _, kept := s.brain.updates.from(*at)
		if !kept {
			s.t.Fatal("more was published than is kept")
		}
		if len(list) == 0 {
			return all
		}
		all, *at = append(all, list...), *at+uint64(len(list))
	}
}

// TestEachEventIsPublishedOnce: a host that no longer has the event at serve's cursor sends
// its log from the beginning, and two goroutines read it. Subscribers see no event twice.
func TestEachEventIsPublishedOnce(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	const all = 40
	list := logOf(slices.Repeat([]string{"e"}, all)...)
	s.answerWith(bus.OpEvents, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.EventsOrder
		err := json.Unmarshal(data, &o)
		end := min(o.After+10, all)
		return bus.Events{Epoch: "e", Head: all, Checked: true, List: list[:end]}, err // always from the beginning
	})
	news, err := s.brain.Subscribe(t.Context(), "")
	check(t, err)
	var reading sync.WaitGroup
	for range 2 {
		reading.Go(func() {
			for s.db.Head() < all {
				_, _ = s.brain.pull(t.Context(), scriptedHost)
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
	if want := sequences(1, all); !slices.Equal(got, want) {
		t.Errorf("published events %d, want each of %d once", got, all)
	}
}

// TestASubscriberThatComesBackMissesNothing: a reader that leaves at any time, or is so
// slow that it has to read the log, continues without a gap and without a repetition.
func TestASubscriberThatComesBackMissesNothing(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	const all = 2 * recentMost
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s.addEvents(1, 1)
	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		for at, n := 2, 0; at <= all; at += n {
			n = min(1+at%97, all+1-at)
			s.addEvents(at, n)
		}
	})
	cursor, got := cursorOf(0), []uint64{}
	for returns := 0; len(got) < all; returns++ {
		news, err := s.brain.Subscribe(t.Context(), cursor)
		check(t, err)
		leave := len(got) + 1 + r.IntN(all/4)
		if returns%2 == 0 { // so slow that it falls behind the recent updates, if there is enough to come
			s.until("much has been published, or everything", func() bool {
				return s.db.Head() == all || s.db.Head() > uint64(len(got)+recentMost)
			})
		}
		for u := range news {
			if u.Event == nil {
				continue
			}
			got, cursor = append(got, u.Event.Seq), u.Cursor
			if len(got) == leave || len(got) == all {
				break
			}
		}
	}
	if want := sequences(1, all); !slices.Equal(got, want) {
		t.Errorf("%d events came, want %d, each once and in order", len(got), all)
	}
}

// TestACursorOfAnotherStoreIsRefused: waiting for the log to reach it would skip events.
func TestACursorOfAnotherStoreIsRefused(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.addEvents(1, 3)
	for cursor, want := range map[string]coleo.Code{
		"":          "",
		cursorOf(0): "", cursorOf(3): "",
		cursorOf(4): coleo.EInvalid, "!": coleo.EInvalid, "-1": coleo.EInvalid, fmt.Sprint(1 << 62): coleo.EInvalid,
	} {
		if _, err := s.brain.Subscribe(t.Context(), cursor); coleo.ErrorCode(err) != want {
			t.Errorf("a subscription after %q = %v, want %q", cursor, err, want)
		}
	}
}

// TestTheLastPublishedRowIsTheNewest: several goroutines publish rows of one arm. What a
// subscriber sees last is what the store has.
func TestTheLastPublishedRowIsTheNewest(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.rowsOf(1)
	at := s.brain.updates.nextNumber()
	const rounds, writers = 200, 4
	for range rounds {
		var writing sync.WaitGroup
		for range writers {
			writing.Go(func() {
				_, err := s.db.UpdateArm(t.Context(), "arm-0",
					func(row *coleo.Arm) error { row.ContextBudget++; return nil })
				check(t, err)
				s.brain.publishArm(t.Context(), "arm-0")
			})
		}
		writing.Wait()
		last := 0
		for _, u := range s.published(&at) {
			if u.Arm != nil {
				last = u.Arm.ContextBudget
			}
		}
		if now := s.row("arm-0").ContextBudget; last != now {
			t.Fatalf("the last row published has %d, the store has %d", last, now)
		}
	}
}

// A follower may have read the log to its end before Run begins. It gets what is logged after
// that from memory, so Run must publish it.
func TestWhatIsLoggedBeforeRunIsPublished(t *testing.T) {
	t.Parallel()
	db, err := store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	check(t, err)
	t.Cleanup(func() { db.Close() })
	b := New(Config{DB: db, Bus: bustest.New(t).Serve(), Log: slog.New(slog.DiscardHandler), Now: time.Now})
	check(t, db.Project(t.Context(), []coleo.Event{{Host: "h", Epoch: "e", Seq: 1, Kind: coleo.EventWitness,
		Time: time.Now()}}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	for b.updates.nextNumber() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond) // between two looks
	}
	if ctx.Err() != nil {
		t.Error("the event was not published")
	}
	cancel()
	check(t, <-ended)
}
