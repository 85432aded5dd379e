package host

import (
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/lease"
	"coleo.dev/host/queue"
	"coleo.dev/store"
)

// The tests in this file check what happens while a prompt of the queue is about to be sent. In
// each test, something else happens at an exact moment.

// late is a time after the first timers of the queue, so that no test depends on these timers.
const late = time.Minute

// A person takes the lease, the right to type, while the queue is about to send a prompt. The prompt must wait
// until the lease ends.
func TestAPromptWaitsForALeaseThatIsTakenMeanwhile(t *testing.T) {
	t.Parallel()
	const looks = 3 // how often the queue reads the state of the session before it types
	for what, c := range map[string]struct {
		end func(c *clockedArm, id string)
		at  time.Duration
	}{
		"given back": {func(c *clockedArm, id string) {
			c.sleepUntil(late + time.Second)
			c.wantSent(nil)
			_, err := c.host.lease(c.t.Context(), bus.LeaseOrder{Arm: "arm", ID: id, Release: true})
			c.check(err)
		}, late + time.Second},
		"never given back": {func(*clockedArm, string) {}, late + lease.Time},
	} {
		for look := 1; look <= looks; look++ {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				inBubble(t, t.TempDir(), func(a *clockedArm) {
					a.sleepUntil(late)
					var held coleo.Lease
					n := 0
					a.session.meanwhile(fakeMoments{look: func() {
						if n++; n != look {
							return
						}
						go func() { // takes the lease after the queue has given up its attempt
							var err error
							if held, err = a.lease.Take(a.t.Context(), "", "me", "ada"); err != nil {
								t.Error(err)
							}
						}()
						for !a.lease.Taken() {
							runtime.Gosched()
						}
					}})
					a.check(a.change(t.Context(), func(r *store.ArmRecord) []coleo.Event { // wakes the queue once
						q, err := queue.Add(armrecord.Queue(r), coleo.Queued{ID: "1", Text: "say one"})
						a.check(err)
						return armrecord.SetQueue(r, q, coleo.QueueAdded, "1")
					}))
					synctest.Wait()
					a.wantSent(nil)
					c.end(a, held.ID)
					a.sleepUntil(time.Hour)
					a.wantSent([]string{"say one"}, c.at)
				})
			})
		}
	}
}

// The first prompt of the queue is about to be sent, but is refused because the agent CLI does not take the
// ordered mode. At that moment, a person moves, removes or edits this prompt. The person's order must have its
// effect.
func TestARefusalDoesNotUndoAnOrderAboutTheQueue(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		order coleo.QueueOrder
		want  []string
	}{
		"moved":   {coleo.QueueOrder{Step: coleo.QueueMoved, To: 2}, []string{"say two", "say one"}},
		"removed": {coleo.QueueOrder{Step: coleo.QueueRemoved}, []string{"say two"}},
		"edited": {coleo.QueueOrder{Step: coleo.QueueEdited, Text: "say other"},
			[]string{"say other", "say two"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inBubble(t, t.TempDir(), func(a *clockedArm) {
				a.check(a.change(t.Context(), func(r *store.ArmRecord) []coleo.Event {
					r.Spec.Chosen = &coleo.Chosen{Mode: "plan"}
					return nil
				}))
				first := ""
				a.session.meanwhile(fakeMoments{mode: func() error {
					if first == "" {
						return nil
					}
					o := c.order
					o.ID, first = first, ""
					_, err := a.order(o)
					return errors.Join(err, coleo.Errorf(coleo.EInvalid, "the mode does not come"))
				}})
				_, err := a.order(coleo.QueueOrder{Step: coleo.QueuePaused, Why: "the test adds two prompts"})
				a.check(err)
				first = a.add("say one")
				a.add("say two")
				a.choices.NewSession(true)
				_, err = a.order(coleo.QueueOrder{Step: coleo.QueueResumed})
				a.check(err)
				synctest.Wait()
				for range len(c.want) {
					a.endTurn()
				}
				a.wantSent(c.want, make([]time.Duration, len(c.want))...)
				if q := a.recordNow().Queue; q != nil {
					t.Errorf("the queue is %+v", q)
				}
			})
		})
	}
}

// The agent CLI ends while a prompt is being sent. The next start records what became of the prompt. The
// attempt to send the prompt must not record this again.
func TestTheFateOfAPromptIsRecordedOnce(t *testing.T) {
	t.Parallel()
	for what, cause := range map[string]error{
		"refused": coleo.Errorf(coleo.EExited, "the agent CLI has ended"),
		"arrived": nil,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inBubble(t, t.TempDir(), func(a *clockedArm) {
				startsAgain := func() {
					a.check(a.intend(t.Context(), func(r *store.ArmRecord) []coleo.Event { // does what startWith does
						return armrecord.EndAllRuns(r, coleo.Reading{State: coleo.Dead, Rule: "another generation", Known: true})
					}))
					_, err := a.order(coleo.QueueOrder{Step: coleo.QueueResumed}) // a person resumes the queue
					a.check(err)
				}
				then := fakeMoments{then: startsAgain}
				if cause != nil {
					then = fakeMoments{refuse: func() error {
						startsAgain()
						return cause
					}}
				}
				a.session.meanwhile(then)
				a.add("say one")
				synctest.Wait()
				if fates := a.events(coleo.EventPromptLost, coleo.EventRunStart); len(fates) != 1 {
					t.Errorf("the log has %+v, want that the prompt is lost", fates)
				}
				if r := a.recordNow(); r.Queue != nil || r.Run != nil {
					t.Errorf("a person has resumed the queue, which is %+v; the run is %+v", r.Queue, r.Run)
				}
			})
		})
	}
}

// A parked arm will continue with the prompt "say forgotten", which its agent CLI has forgotten. Before it
// continues, it is parked again, because its budget is spent. When a person then makes it continue, it must
// receive that prompt.
func TestABudgetDoesNotMakeAnArmForgetItsPrompt(t *testing.T) {
	t.Parallel()
	for what, until := range map[string]time.Duration{"while it waits": time.Hour, "when it continues": time.Second} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inBubble(t, t.TempDir(), func(a *clockedArm) {
				a.session.meanwhile(fakeMoments{refuse: func() error { return coleo.Errorf(coleo.EBusy, "not now") }})
				a.park(until)
				a.check(a.change(t.Context(), func(r *store.ArmRecord) []coleo.Event {
					q, p := armrecord.Queue(r), *r.Queue.Parked
					p.Prompt = "say forgotten"
					q.Parked, r.Queue = &p, &q
					return nil
				}))
				a.sleepUntil(late)
				budget := coleo.Parked{Limit: coleo.Limit{Kind: coleo.LimitBudget, Text: "spent"}, Try: 1}
				_, err := meteredArm{a.arm}.Park(t.Context(), budget, nil)
				a.check(err)
				a.session.meanwhile(fakeMoments{})
				a.sleepUntil(2 * time.Hour)
				a.wantSent(nil)
				for _, e := range a.events(coleo.EventParked) {
					if strings.Contains(string(e.Payload), "forgotten") {
						t.Errorf("the log has the prompt: %s", e.Payload)
					}
				}
				_, err = a.order(coleo.QueueOrder{Step: coleo.QueueContinued})
				a.check(err)
				synctest.Wait()
				a.wantSent([]string{"say forgotten"}, 2*time.Hour)
			})
		})
	}
}

// At the moment when a parked arm continues by itself, a person also continues it. The arm must continue only
// once.
func TestAParkedArmContinuesOnceIfAPersonContinuesItAtItsWakeTime(t *testing.T) {
	t.Parallel()
	inBubble(t, t.TempDir(), func(a *clockedArm) {
		const wake = late + 7*time.Second
		a.park(wake)
		a.sleepUntil(wake - time.Nanosecond)
		due := make(chan struct{})
		asks := func() {
			a.asks.Store(nil)
			close(due)
		}
		a.writing.Lock() // holds up the write of the person's order
		a.asks.Store(&asks)
		<-due // the arm's timer has fired, and the arm is still parked
		a.mu.Lock()
		events, err := a.obeyParked(&a.record, &coleo.QueueOrder{Step: coleo.QueueContinued})
		a.mu.Unlock()
		a.check(err)
		a.check(a.host.append(t.Context(), events...))
		a.writing.Unlock()
		a.sleepUntil(time.Hour)
		a.wantSent([]string{coleo.ContinuePrompt}, wake)
		var steps []coleo.ParkStep
		for _, e := range a.events(coleo.EventParked) {
			var c coleo.ParkChange
			a.check(json.Unmarshal(e.Payload, &c))
			steps = append(steps, c.Step)
		}
		if !slices.Equal(steps, []coleo.ParkStep{coleo.ParkBegun, coleo.ParkContinued}) {
			t.Errorf("the log tells %q", steps)
		}
	})
}

// A parked arm continues with a prompt at its wake time, but the prompt is lost. The log must say so, and no
// prompt may be sent again.
func TestAPromptThatIsLostAtTheWakeTimeIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for what, cause := range map[string]error{
		"told by the session": &coleo.Error{Code: coleo.EPromptLost, Message: "lost", Screen: &coleo.Screen{}},
		"not answered":        coleo.Errorf(coleo.EUnavailable, "no answer"),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inBubble(t, t.TempDir(), func(a *clockedArm) {
				const wake = late + 7*time.Second
				a.park(wake)
				a.add("say one")
				tries := 0
				a.session.meanwhile(fakeMoments{refuse: func() error {
					tries++
					return cause
				}})
				a.sleepUntil(7 * 24 * time.Hour)
				q := armrecord.Queue(ptr(a.recordNow()))
				if tries != 1 || q.Paused == "" || q.ByHand || q.Parked != nil || len(q.Entries) != 1 {
					t.Errorf("after %d tries the queue is %+v", tries, q)
				}
				want := 1
				if what == "told by the session" {
					want = 0 // the host agent leaves it to the session to record this loss, and the fake session records none
				}
				if lost := a.events(coleo.EventPromptLost); len(lost) != want {
					t.Errorf("%d prompts are called lost, want %d", len(lost), want)
				}
				a.session.meanwhile(fakeMoments{})
				_, err := a.order(coleo.QueueOrder{Step: coleo.QueueResumed})
				a.check(err)
				a.sleepUntil(8 * 24 * time.Hour)
				a.wantSent([]string{"say one"}, 7*24*time.Hour)
			})
		})
	}
}

func ptr[T any](v T) *T { return &v }
