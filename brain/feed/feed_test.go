package feed

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/store"
)

// patience bounds every wait of these tests. A wait ends as soon as the state is there.
const patience = 3 * time.Minute

const someHost = "h"

// fed is a feed of a real database. Its log is published until the end of the test.
type fed struct {
	*Feed
	t  *testing.T
	db *store.ServeDB

	mu    sync.Mutex
	calls []string // the calls of the functions in Config, in order
}

func (s *fed) call(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
}

// newFed returns a feed that publishes its log.
func newFed(t *testing.T) *fed {
	t.Helper()
	s := openFed(t)
	ctx, cancel := context.WithCancel(t.Context())
	var publishing sync.WaitGroup
	publishing.Go(func() { s.PublishLog(ctx) })
	t.Cleanup(func() { cancel(); publishing.Wait() })
	return s
}

// openFed returns a feed that does not publish its log yet.
func openFed(t *testing.T) *fed {
	t.Helper()
	s := &fed{t: t}
	var err error
	s.db, err = store.OpenServe(filepath.Join(t.TempDir(), "serve.db"))
	check(t, err)
	t.Cleanup(func() { check(t, s.db.Close()) })
	s.Feed = New(Config{DB: s.db, Log: slog.New(slog.DiscardHandler), Arm: s.db.Arm, Arms: s.db.Arms,
		Logged:    func(e store.Entry) { s.call(fmt.Sprint("logged ", e.Position)) },
		Changed:   func(arm string) { s.call("changed " + arm) },
		Published: func(_ context.Context, page []store.Entry) { s.call(fmt.Sprint("published ", len(page))) }})
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *fed) until(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited %s until %s", patience, what)
		}
		time.Sleep(time.Millisecond) // between two looks
	}
}

// rowsOf adds idle arms: arm-0, arm-1 and so on.
func (s *fed) rowsOf(n int) {
	s.t.Helper()
	for i := range n {
		check(s.t, s.db.CreateArm(s.t.Context(), coleo.Arm{ID: fmt.Sprint("arm-", i), Name: fmt.Sprint("name-", i),
			Harness: "h", AgentID: someHost, Status: coleo.StatusIdle, State: coleo.Idle, Generation: 1, Workdir: "/w"}))
	}
}

func (s *fed) row(idOrName string) coleo.Arm {
	s.t.Helper()
	arm, err := s.db.Arm(s.t.Context(), idOrName)
	check(s.t, err)
	return arm
}

// sequences returns the numbers of n events from a first one on.
func sequences(first, n int) (out []uint64) {
	for i := range n {
		out = append(out, uint64(first+i))
	}
	return out
}

// addEvents adds n events to serve's log.
func (s *fed) addEvents(first, n int) {
	s.t.Helper()
	var list []coleo.Event
	for _, seq := range sequences(first, n) {
		list = append(list, coleo.Event{Host: someHost, Epoch: "e", Seq: seq, Kind: coleo.EventWitness})
	}
	check(s.t, s.db.Project(s.t.Context(), list))
}

// published returns the updates from number at on, and moves at behind them.
func (s *fed) published(at *uint64) (all []update) {
	s.t.Helper()
	for {
		list, _, kept := s.updates.from(*at)
		if !kept {
			s.t.Fatal("more was published than is kept")
		}
		if len(list) == 0 {
			return all
		}
		all, *at = append(all, list...), *at+uint64(len(list))
	}
}

// TestASubscriberThatComesBackMissesNothing: a reader that leaves at any time, or is so
// slow that it has to read the log, continues without a gap and without a repetition.
func TestASubscriberThatComesBackMissesNothing(t *testing.T) {
	t.Parallel()
	s := newFed(t)
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
	cursor, got := CursorOf(0), []uint64{}
	for returns := 0; len(got) < all; returns++ {
		news, err := s.Subscribe(t.Context(), cursor)
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
	s := newFed(t)
	s.addEvents(1, 3)
	for cursor, want := range map[string]coleo.Code{
		"":          "",
		CursorOf(0): "", CursorOf(3): "",
		CursorOf(4): coleo.EInvalid, "!": coleo.EInvalid, "-1": coleo.EInvalid, fmt.Sprint(1 << 62): coleo.EInvalid,
	} {
		if _, err := s.Subscribe(t.Context(), cursor); coleo.ErrorCode(err) != want {
			t.Errorf("a subscription after %q = %v, want %q", cursor, err, want)
		}
	}
}

// TestTheLastPublishedRowIsTheNewest: several goroutines publish rows of one arm. What a
// subscriber sees last is what the store has.
func TestTheLastPublishedRowIsTheNewest(t *testing.T) {
	t.Parallel()
	s := newFed(t)
	s.rowsOf(1)
	at := s.updates.nextNumber()
	const rounds, writers = 200, 4
	for range rounds {
		var writing sync.WaitGroup
		for range writers {
			writing.Go(func() {
				_, err := s.db.UpdateArm(t.Context(), "arm-0",
					func(row *coleo.Arm) error { row.ContextBudget++; return nil })
				check(t, err)
				s.PublishArm(t.Context(), "arm-0")
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

// A follower may have read the log to its end before PublishLog begins. It gets what is logged after
// that from memory, so PublishLog must publish it.
func TestWhatIsLoggedBeforePublishLogIsPublished(t *testing.T) {
	t.Parallel()
	s := openFed(t)
	s.addEvents(1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var publishing sync.WaitGroup
	publishing.Go(func() { s.PublishLog(ctx) })
	s.until("the event is published", func() bool { return s.updates.nextNumber() == 1 })
	cancel()
	publishing.Wait()
}

// The pictures of arms contain an event before its followers read it. Alternatives are considered with
// the present rows.
func TestTheCallerIsToldInOrder(t *testing.T) {
	t.Parallel()
	s := openFed(t)
	s.rowsOf(1)
	check(t, s.db.Project(t.Context(), []coleo.Event{
		{Host: someHost, Epoch: "e", Seq: 1, Arm: "arm-0", Kind: coleo.EventParked, Time: time.Now()},
		{Host: someHost, Epoch: "e", Seq: 2, Arm: "arm-0", Kind: coleo.EventWitness, Time: time.Now()}}))
	ctx, cancel := context.WithCancel(t.Context())
	s.config.Published = func(_ context.Context, page []store.Entry) {
		s.call(fmt.Sprint("published ", len(page)))
		cancel()
	}
	s.PublishLog(ctx)
	if want := []string{"logged 1", "logged 2", "changed arm-0", "published 2"}; !slices.Equal(s.calls, want) {
		t.Errorf("the calls are %q, want %q", s.calls, want)
	}
}

func TestTheEndOfTheFeedEndsItsFollowers(t *testing.T) {
	t.Parallel()
	s := newFed(t)
	news, err := s.Subscribe(t.Context(), "")
	check(t, err)
	s.addEvents(1, 1)
	got := 0
	for u := range news { // the test's time-out ends a wait for ever
		if u.Event != nil {
			got++
			s.EndFollowing()
		}
	}
	if got != 1 {
		t.Errorf("%d events came before the end, want 1", got)
	}
}
