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
	"coleo.dev/wire"
)

// patience is the time after which a wait in these tests fails. A wait ends as soon as its
// condition is true, so that the limit can be long.
const patience = 3 * time.Minute

const someHost = "h"

// fed is a feed with a real database.
type fed struct {
	*Feed
	t  *testing.T
	db *store.ServeDB

	mu    sync.Mutex
	calls []string // the calls of the functions in Config, in the order in which they were made
}

func (s *fed) call(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
}

// newFed returns a feed that publishes its log until the end of the test.
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
		time.Sleep(time.Millisecond) // the pause between two checks
	}
}

// rowsOf adds n idle arms: arm-0, arm-1 and so on.
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

// sequences returns n numbers in ascending order. The first number is `first`.
func sequences(first, n int) (out []uint64) {
	for i := range n {
		out = append(out, uint64(first+i))
	}
	return out
}

// addEvents adds n events to serve's log. The first event has the number `first`.
func (s *fed) addEvents(first, n int) {
	s.t.Helper()
	var list []coleo.Event
	for _, seq := range sequences(first, n) {
		list = append(list, coleo.Event{Host: someHost, Epoch: "e", Seq: seq, Kind: coleo.EventWitness})
	}
	check(s.t, s.db.Project(s.t.Context(), list))
}

// published returns the updates from the number `*at` on. It then sets `*at` to the number after the last
// update.
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

// TestASubscriberThatComesBackMissesNothing has a reader that leaves and comes back at any time.
// Sometimes the reader is so slow that it must read the log. It must receive every event once.
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
		if returns%2 == 0 { // a pause, so that the reader misses recent updates and must read the log
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

// TestACursorOfAnotherStoreIsRefused is needed because a cursor beyond the end of the log would
// skip events until the log reaches the cursor.
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
		if _, _, err := s.Events(t.Context(), wire.EventFilter{After: cursor}); coleo.ErrorCode(err) != want {
			t.Errorf("a page after %q = %v, want %q", cursor, err, want)
		}
	}
}

// TestTheLastPublishedRowIsTheNewest has several goroutines that change and publish the row of one
// arm. The last row that a subscriber receives must be the row in the store.
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

// A follower may have read the log to its end before PublishLog begins. It receives later events
// only from PublishLog, so PublishLog must also publish events that were logged before its call.
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

// PublishLog must call the functions of Config in this order: Logged, Changed, Published. Logged brings the
// displays of arms up to date before a follower reads the event. Published considers alternatives for parked
// arms, and needs the present rows for this.
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
	for u := range news { // an endless wait ends with the test's time-out
		if u.Event != nil {
			got++
			s.EndFollowing()
		}
	}
	if got != 1 {
		t.Errorf("%d events came before the end, want 1", got)
	}
}

// TestNoRowIsPublishedAfterTheRemovalOfItsArm removes an arm while other goroutines publish the arm's row. The removal
// must be published last, because a follower would otherwise show the arm forever.
func TestNoRowIsPublishedAfterTheRemovalOfItsArm(t *testing.T) {
	t.Parallel()
	s := newFed(t)
	at := s.updates.nextNumber()
	const rounds, publishers = 200, 4
	for range rounds {
		s.rowsOf(1)
		var publishing sync.WaitGroup
		for range publishers {
			publishing.Go(func() { s.PublishArm(t.Context(), "arm-0") })
		}
		check(t, s.db.DeleteArm(t.Context(), "arm-0"))
		s.PublishRemoved("arm-0")
		publishing.Wait()
		all := s.published(&at)
		if all[len(all)-1].Removed != "arm-0" {
			t.Fatalf("the last of %d updates is not the removal of the arm", len(all))
		}
	}
}
