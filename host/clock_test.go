package host

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/queue"
	"coleo.dev/host/spending"
	"coleo.dev/store"
)

// fakeSession is a session that is always idle, and accepts each prompt at once. It waits for no
// process, so the clock of a synctest bubble can move.
type fakeSession struct {
	coleo.Session
	began time.Time

	mu   sync.Mutex
	sent []string
	at   []time.Duration // the time of each prompt, since the beginning of the test

	other fakeMoments
}

// fakeMoments contains functions that a fake session calls at certain moments. Each can be nil.
type fakeMoments struct {
	look   func()       // at each call of State
	mode   func() error // when a mode is ordered; an error refuses the order
	refuse func() error // before a prompt is typed; an error refuses the prompt
	then   func()       // after a prompt has arrived
}

func (f *fakeSession) meanwhile(what fakeMoments) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.other = what
}

func (f *fakeSession) moments() fakeMoments {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.other
}

func (f *fakeSession) State() coleo.Reading {
	if look := f.moments().look; look != nil {
		look()
	}
	return coleo.Reading{State: coleo.Idle, Rule: "fake", Known: true}
}

func (f *fakeSession) Changes(context.Context, coleo.Cursor) iter.Seq2[coleo.Change, error] {
	return func(func(coleo.Change, error) bool) {}
}

func (f *fakeSession) Modes() []coleo.Mode { return nil }

func (f *fakeSession) SwitchMode(context.Context, string) (coleo.ModeSwitch, error) {
	return coleo.ModeSwitch{}, f.moments().mode()
}

func (f *fakeSession) SendPrompt(_ context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	if refuse := f.moments().refuse; refuse != nil {
		if err := refuse(); err != nil {
			return coleo.Receipt{}, err
		}
	}
	f.mu.Lock()
	f.sent, f.at = append(f.sent, p.Text), append(f.at, time.Since(f.began))
	n := len(f.sent)
	f.mu.Unlock()
	if then := f.moments().then; then != nil {
		then()
	}
	return coleo.Receipt{Text: p.Text, Time: time.Now(), Cursor: coleo.Cursor(2*n - 1), Proof: coleo.ProofReported}, nil
}

func (f *fakeSession) Answer(context.Context, coleo.Receipt) (coleo.Answer, error) {
	return coleo.Answer{}, errors.New("a fake session answers nothing")
}

// clockedArm is an arm with a real database and a fake session. All its timers and times are on the
// clock of a synctest bubble, which moves only when all goroutines wait.
type clockedArm struct {
	*arm
	t       *testing.T
	session *fakeSession
	ahead   atomic.Int64           // by how much the time of day was set forward
	asks    atomic.Pointer[func()] // called when the host agent asks for the time of day; can be nil
}

// inBubble calls the function `do` in a synctest bubble, with an arm whose database is in the folder `dir`.
func inBubble(t *testing.T, dir string, do func(c *clockedArm)) {
	t.Helper()
	conn := bustest.New(t).Host() // outside of the bubble, because it reads from a socket
	synctest.Test(t, func(t *testing.T) {
		db, err := store.OpenHost(filepath.Join(dir, "host.db"))
		if err != nil {
			t.Fatal(err)
		}
		c := &clockedArm{t: t, session: &fakeSession{began: time.Now()}}
		h := New(Config{ID: hostID, Dir: dir, DB: db, Bus: conn, Log: slog.New(slog.DiscardHandler), Now: func() time.Time {
			if asks := c.asks.Load(); asks != nil {
				(*asks)()
			}
			return time.Now().Add(time.Duration(c.ahead.Load()))
		}})
		h.ledger = spending.New(nil, nil, coleo.Budgets{})
		h.ctx, h.end = context.WithCancel(t.Context())
		c.arm = h.newArm(store.ArmRecord{ID: "arm", Name: "ada", Harness: "fake", Desired: coleo.DesiredRunning,
			Status: coleo.StatusIdle, State: coleo.Idle, Workdir: dir})
		h.arms["arm"] = c.arm
		nudge := make(chan struct{}, 1)
		c.arm.session, c.reading, c.sending = c.session, c.session.State(), queueSending{nudge: nudge, changes: 1}
		h.runs.Go(func() { c.sendQueue(h.ctx, c.session, nudge) })
		do(c)
		h.end()
		h.runs.Wait()
		h.diffs.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (c *clockedArm) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// sleepUntil moves the clock to the given time since the beginning, and waits until all goroutines
// wait again.
func (c *clockedArm) sleepUntil(since time.Duration) {
	time.Sleep(since - time.Since(c.session.began))
	synctest.Wait()
}

// park parks the arm until the given time since the beginning.
func (c *clockedArm) park(until time.Duration) {
	c.t.Helper()
	p := coleo.Parked{Limit: coleo.Limit{Kind: coleo.LimitRate, Text: "429", Seen: time.Now()}, Run: "run", Try: 1,
		Wake: c.session.began.Add(until)}
	c.check(c.change(c.t.Context(), func(r *store.ArmRecord) []coleo.Event {
		return armrecord.SetParked(r, queue.Park(armrecord.Queue(r), p), coleo.ParkChange{Step: coleo.ParkBegun, Parked: p})
	}))
}

// add adds a prompt to the queue and returns its id.
func (c *clockedArm) add(text string) string {
	c.t.Helper()
	out, err := c.order(coleo.QueueOrder{Step: coleo.QueueAdded, Text: text})
	c.check(err)
	return out.ID
}

// order gives an order about the queue.
func (c *clockedArm) order(o coleo.QueueOrder) (coleo.QueueReport, error) {
	out, err := c.host.queue(c.t.Context(), bus.QueueOrder{Arm: "arm", QueueOrder: o})
	report, _ := out.(coleo.QueueReport)
	return report, err
}

// events returns the events of the given kinds in the log.
func (c *clockedArm) events(kinds ...coleo.EventKind) (out []coleo.Event) {
	c.t.Helper()
	all, err := c.host.DB.Events(c.t.Context(), 0, 0)
	c.check(err)
	for _, e := range all {
		if slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

// endTurn makes the session report the end of the turn that the last prompt has begun.
func (c *clockedArm) endTurn() {
	c.t.Helper()
	c.session.mu.Lock()
	n := len(c.session.sent)
	c.session.mu.Unlock()
	err := c.note(c.t.Context(), c.session, coleo.Change{Kind: coleo.ChangeState, Time: time.Now(),
		Cursor: coleo.Cursor(2 * n), Reading: c.session.State()})
	if !store.NoRoom(err) {
		c.check(err)
	}
	c.allowRetry()
	synctest.Wait()
}

// wantSent checks which prompts were sent, and the times since the beginning.
func (c *clockedArm) wantSent(texts []string, at ...time.Duration) {
	c.t.Helper()
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	if !slices.Equal(c.session.sent, texts) || !slices.Equal(c.session.at, at) {
		c.t.Errorf("after %s, %q were sent at %v; want %q at %v", time.Since(c.session.began), c.session.sent,
			c.session.at, texts, at)
	}
}

// A parked arm continues at its wake time. In this test only the arm's own timer can notice this time, because
// nothing else happens.
func TestAParkedArmWakesByItsTimerAtItsWakeTime(t *testing.T) {
	t.Parallel()
	on := []string{coleo.ContinuePrompt}
	t.Run("at its time", func(t *testing.T) {
		t.Parallel()
		inBubble(t, t.TempDir(), func(c *clockedArm) {
			const wake = 47*time.Minute + 7*time.Second
			c.park(wake)
			c.sleepUntil(wake - time.Nanosecond)
			c.wantSent(nil)
			c.sleepUntil(wake)
			c.wantSent(on, wake)
			c.endTurn()
			c.sleepUntil(7 * 24 * time.Hour)
			c.wantSent(on, wake)
		})
	})
	t.Run("after the laptop has slept", func(t *testing.T) {
		t.Parallel()
		inBubble(t, t.TempDir(), func(c *clockedArm) {
			const wake, slept = 6 * 24 * time.Hour, time.Hour
			c.park(wake)
			c.sleepUntil(slept)
			c.ahead.Store(int64(wake))
			c.sleepUntil(slept + maxWake)
			c.wantSent(on, slept+maxWake)
		})
	})
	t.Run("as soon as nobody types by hand any more", func(t *testing.T) {
		t.Parallel()
		inBubble(t, t.TempDir(), func(c *clockedArm) {
			const wake, renewed = 5 * time.Minute, 7 * time.Second
			c.park(wake)
			lease, err := c.lease.Take(t.Context(), "", "me", "ada")
			c.check(err)
			for at := renewed; at <= 2*wake; at += renewed {
				c.sleepUntil(at)
				c.check(c.lease.Renew(lease.ID, "ada"))
			}
			c.wantSent(nil)
			end := c.lease.Now().Until.Sub(c.session.began)
			c.sleepUntil(end)
			c.wantSent(on, end)
		})
	})
}
