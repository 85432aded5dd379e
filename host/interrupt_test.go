package host

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/queue"
	"coleo.dev/store"
)

// lateSession is a real session whose turn ends just before an interrupt types its key. In a real
// agent CLI, that moment is too rare for a test.
type lateSession struct {
	coleo.Session
	ended func() // returns when the host agent knows that the turn has ended
}

func (s lateSession) Interrupt(ctx context.Context) (coleo.Interruption, error) {
	s.ended()
	return s.Session.Interrupt(ctx)
}

// An interrupt can come when the turn has just ended. It must then type no key, and the run must count as
// finished.
func TestARunThatEndsBeforeTheKeyOfAnInterruptHasFinished(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.hijack(id, func(session coleo.Session) coleo.Session {
		return lateSession{session, func() { s.awaitState(id, coleo.Idle) }}
	})
	s.prompt(id, "pause 1s\nsay done")
	s.awaitState(id, coleo.Processing)
	if out := must[coleo.Interruption](s, bus.OpInterrupt, bus.ArmOrder{Arm: id}); out.Stopped() {
		t.Fatalf("the interrupt did %+v, want nothing", out)
	}
	s.awaitRuns(id, 1)
	s.prompt(id, "pause 1s\nsay more")
	s.awaitState(id, coleo.Processing)
	must[coleo.Receipt](s, bus.OpPrompt, bus.PromptOrder{Arm: id, Prompt: coleo.Prompt{Text: "say last", Interrupt: true}})
	s.awaitRuns(id, 3)
	for run, end := range s.ends(id) {
		if end.Outcome != coleo.OutcomeFinished {
			t.Errorf("the run %s is %s, want %s", run, end.Outcome, coleo.OutcomeFinished)
		}
	}
}

// Some agent CLIs show an idle screen when SIGHUP kills them, before they end. The idle screen must not make
// the run count as finished.
func TestATurnThatAKillStopsHasNotFinished(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.prompt(id, "leave 2s\npause 10m")
	s.awaitState(id, coleo.Processing)
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	s.awaitRuns(id, 1)
	if !slices.ContainsFunc(payloads[coleo.Change](s, id, coleo.EventState), func(c coleo.Change) bool {
		return c.From == coleo.Processing && c.Reading.State == coleo.Idle
	}) {
		t.Fatal("the agent CLI was not idle before it ended")
	}
	for run, end := range s.ends(id) {
		if end.Outcome == coleo.OutcomeFinished {
			t.Errorf("the run %s ended with %+v", run, end)
		}
	}
}

// slowSession is a real session that accepts the first prompt of the queue only after the queue was
// paused. A real agent CLI is too fast for that.
type slowSession struct {
	coleo.Session
	paused func() // returns when the queue is paused
}

func (s *slowSession) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	s.paused()
	return s.Session.SendPrompt(ctx, p)
}

// An abort can come while a prompt of the queue is being sent. The arm must be idle after the
// abort.
func TestAnAbortStopsThePromptThatIsJustBeingSent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	sending := make(chan struct{})
	a, session := s.hijack(id, func(session coleo.Session) coleo.Session {
		return &slowSession{session, func() {
			close(sending)
			s.until("the queue is paused", func() bool { return s.queue(id, coleo.QueueOrder{}).Paused != "" })
		}}
	})
	s.followUp(id, "pause 10m")
	s.followUp(id, "say later")
	var sent sync.WaitGroup
	sent.Go(func() { a.sendFirst(t.Context(), session) })
	<-sending
	if out := must[coleo.Aborted](s, bus.OpAbort, bus.ArmOrder{Arm: id}); !out.Stopped() {
		t.Errorf("the abort did %+v, want an interrupt of the turn", out)
	}
	sent.Wait()
	s.awaitRuns(id, 1)
	s.awaitState(id, coleo.Idle)
	for _, end := range s.ends(id) {
		if end.Outcome != coleo.OutcomeInterrupted {
			t.Errorf("the run is %s, want %s", end.Outcome, coleo.OutcomeInterrupted)
		}
	}
	if q := s.queue(id, coleo.QueueOrder{}); len(q.Entries) != 1 || q.Paused == "" {
		t.Errorf("the queue is %+v, want one prompt that waits", q)
	}
}

// An abort finds an empty queue. Just then, a prompt comes back into the queue: the agent CLI has refused it, or
// Coleo asks the model again for a valid answer. The arm must stay idle after the abort.
func TestAnAbortPausesAQueueThatGetsAPromptMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	var a *arm
	a, _ = s.hijack(id, func(session coleo.Session) coleo.Session {
		return lateSession{session, func() {
			s.check(a.change(t.Context(), func(r *store.ArmRecord) []coleo.Event {
				back := coleo.Queued{ID: "again", Text: "pause 10m"}
				return armrecord.SetQueue(r, queue.PutBack(armrecord.Queue(r), back, ""), coleo.QueueAdded, back.ID)
			}))
		}}
	})
	out := must[coleo.Aborted](s, bus.OpAbort, bus.ArmOrder{Arm: id})
	if q := s.queue(id, coleo.QueueOrder{}); len(q.Entries) != 1 || q.Paused == "" || out.Queue == nil ||
		out.Queue.Paused == "" {
		t.Errorf("the queue is %+v, and the abort reports %+v; want a paused queue", q, out.Queue)
	}
}

// stuckSession is a real session that reports work, and on which the test decides what an interrupt does.
type stuckSession struct {
	coleo.Session
	interrupt func() error
}

func (stuckSession) State() coleo.Reading { return coleo.Reading{State: coleo.Processing, Known: true} }

func (s stuckSession) Interrupt(context.Context) (coleo.Interruption, error) {
	return coleo.Interruption{}, s.interrupt()
}

// An interrupt types its key, and the turn goes on. Another prompt arrives, and a second interrupt types nothing. The
// first run must still count as interrupted.
func TestAnInterruptThatTypesNothingKeepsTheMarkOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	n := newNotices(t)
	n.types("r1", "start")
	n.state(coleo.Processing)
	for _, cause := range []coleo.Code{coleo.ETimeout, coleo.EUnrecognised} {
		s := stuckSession{n.session, func() error { return coleo.Errorf(cause, "a test") }}
		if _, err := n.a.interruptHeld(t.Context(), s); coleo.ErrorCode(err) != cause {
			t.Fatalf("%v, want %s", err, cause)
		}
		if cause == coleo.ETimeout {
			n.types("r2", "next")
		}
	}
	n.state(coleo.Idle)
	want := []string{"start begins ", "next begins ", "start is interrupted", "next is finished"}
	if got := n.told(); !slices.Equal(got, want) {
		t.Errorf("the log tells\n%q, want\n%q", got, want)
	}
}

// A prompt is submitted just before the key of an interrupt, and its arrival is proven later. The key has stopped it
// too.
func TestAnInterruptStopsThePromptThatWasSubmittedJustBefore(t *testing.T) {
	t.Parallel()
	n := newNotices(t)
	n.types("r1", "start")
	n.state(coleo.Processing)
	during, after := n.intends("r2", "during"), n.intends("r3", "after")
	pressed := time.Now()
	s := pressedSession{n.session, func() coleo.Interruption {
		n.check(n.a.open(t.Context(), during))
		return coleo.Interruption{Pressed: []string{"ESCAPE"}, Time: pressed}
	}}
	if _, err := n.a.interruptHeld(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	n.check(n.a.open(t.Context(), after))
	n.types("r4", "later")
	n.state(coleo.Idle)
	want := []string{"start begins ", "during begins ", "after begins ", "later begins ",
		"start is interrupted", "during is interrupted", "after is interrupted", "later is finished"}
	if got := n.told(); !slices.Equal(got, want) {
		t.Errorf("the log tells\n%q, want\n%q", got, want)
	}
}

// pressedSession is a session that works, and whose interrupt does what the test says.
type pressedSession struct {
	coleo.Session
	interrupt func() coleo.Interruption
}

func (pressedSession) State() coleo.Reading {
	return coleo.Reading{State: coleo.Processing, Known: true}
}

func (s pressedSession) Interrupt(context.Context) (coleo.Interruption, error) {
	return s.interrupt(), nil
}

// The end of the host agent can cut off an order. Its sender must be told so.
func TestAnOrderSaysThatTheHostAgentEnded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	ctx, end := context.WithCancel(t.Context())
	s.hijack(id, func(session coleo.Session) coleo.Session {
		return stuckSession{session, func() error { end(); return ctx.Err() }}
	})
	order, err := json.Marshal(bus.ArmOrder{Arm: id})
	s.check(err)
	_, err = s.host.carryOut(ctx, bus.OpInterrupt, order)
	if coleo.ErrorCode(err) != coleo.EUnavailable || !strings.Contains(err.Error(), "whether that was done is not known") {
		t.Errorf("the error is %v", err)
	}
}
