package host

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/lease"
)

func TestALeaseKeepsOthersFromTyping(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	held := must[coleo.Lease](s, bus.OpLease, bus.LeaseOrder{Arm: id, Holder: "grace"})
	if held.ID == "" || held.Holder != "grace" || time.Until(held.Until) > lease.Time {
		t.Fatalf("lease = %+v, want one of grace for %s at most", held, lease.Time)
	}
	if r := must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}); r.Lease.Holder != "grace" {
		t.Errorf("the report names %+v, want grace", r.Lease)
	}
	for op, order := range map[bus.Op]any{
		bus.OpLease:     bus.LeaseOrder{Arm: id, Holder: "linus"},
		bus.OpPrompt:    promptOrder(id, "say no"),
		bus.OpRespond:   bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.ChoiceApprove}},
		bus.OpInterrupt: bus.ArmOrder{Arm: id},
		bus.OpInput:     bus.InputOrder{Arm: id, Lease: "another", Data: []byte("no")},
		bus.OpResize:    bus.ResizeOrder{Arm: id, Cols: 100, Rows: 30},
	} {
		s.refused(coleo.EBusy, op, order)
	}
	s.refused(coleo.EBusy, bus.OpLease, bus.LeaseOrder{Arm: id, ID: "another", Release: true})
	must[any](s, bus.OpInput, bus.InputOrder{Arm: id, Lease: held.ID, Data: []byte("x\x15")})
	mine := promptOrder(id, "say mine")
	mine.Lease = held.ID
	must[coleo.Receipt](s, bus.OpPrompt, mine)
	s.awaitState(id, coleo.Idle)
	if got := s.prompted("ada"); !slices.Equal(got, []string{"say mine"}) {
		t.Errorf("the agent CLI was prompted %q, want the prompt of the lease's holder alone", got)
	}
}

func TestALeaseIsRenewedGivenBackAndLapses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	a, err := s.host.arm(id)
	s.check(err)
	ages := func(left time.Duration) { // sets the time until the end of the lease
		a.lease.EndAt(time.Now().Add(left))
	}
	first := must[coleo.Lease](s, bus.OpLease, bus.LeaseOrder{Arm: id, Holder: "grace"})
	ages(lease.Time / 2)
	for what, renew := range map[string]func(){
		"a renewal": func() {
			again := must[coleo.Lease](s, bus.OpLease, bus.LeaseOrder{Arm: id, ID: first.ID, Holder: "grace"})
			if again.ID != first.ID {
				t.Errorf("a renewal gives %q, want %q", again.ID, first.ID)
			}
		},
		"a key": func() { must[any](s, bus.OpInput, bus.InputOrder{Arm: id, Lease: first.ID, Data: []byte("x\x15")}) },
		"a size": func() { // the size stays the same, because the agent CLI would redraw for a new size some time later
			must[any](s, bus.OpResize, bus.ResizeOrder{Arm: id, Lease: first.ID, Cols: 120, Rows: 40})
		},
	} {
		ages(lease.Time / 2)
		renew()
		if left := time.Until(must[bus.ArmReport](s, bus.OpReport,
			bus.ArmOrder{Arm: id}).Lease.Until); left < lease.Time*3/4 {
			t.Errorf("%s leaves %s of the lease", what, left)
		}
	}
	ages(0)
	s.refused(coleo.EBusy, bus.OpInput, bus.InputOrder{Arm: id, Lease: first.ID, Data: []byte("no")})
	second := must[coleo.Lease](s, bus.OpLease, bus.LeaseOrder{Arm: id, Holder: "linus"})
	s.refused(coleo.EBusy, bus.OpLease, bus.LeaseOrder{Arm: id, ID: first.ID, Holder: "grace"})
	if back := must[coleo.Lease](s, bus.OpLease, bus.LeaseOrder{Arm: id, ID: second.ID, Release: true}); back.ID != "" {
		t.Errorf("after it was given back the lease is %+v", back)
	}
	s.refused(coleo.EBusy, bus.OpInput, bus.InputOrder{Arm: id, Lease: second.ID, Data: []byte("no")})
	s.prompt(id, "say free")
	s.awaitState(id, coleo.Idle)
}

func TestOfThoseWhoAskAtOnceOneGetsTheLease(t *testing.T) {
	t.Parallel()
	const many, rounds = 8, 2000
	h := &Host{arms: map[string]*arm{"a": {}}}
	for range rounds {
		var asking sync.WaitGroup
		start, got := make(chan struct{}), make(chan coleo.Lease, many)
		for range many {
			asking.Go(func() {
				<-start
				if l, err := h.lease(t.Context(), bus.LeaseOrder{Arm: "a", Holder: "somebody"}); err == nil {
					got <- l.(coleo.Lease)
				}
			})
		}
		close(start)
		asking.Wait()
		if n := len(got); n != 1 {
			t.Fatalf("%d of %d got the lease, want one", n, many)
		}
		if _, err := h.lease(t.Context(), bus.LeaseOrder{Arm: "a", ID: (<-got).ID, Release: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// typingSession is a real session that begins to type a prompt, and goes on typing until the test ends it.
type typingSession struct {
	coleo.Session
	begun, end chan struct{}
}

func (s typingSession) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	close(s.begun)
	<-s.end
	return s.Session.SendPrompt(ctx, p)
}

// A person takes the lease while a prompt is being typed. The person's keys must not mix with the
// prompt.
func TestALeaseWaitsForThePromptThatIsTyped(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(*stage, *arm, coleo.Session) error{
		"a prompt": func(s *stage, a *arm, _ coleo.Session) error {
			return s.ask(bus.OpPrompt, promptOrder(a.record.ID, "say one"), nil)
		},
		"a prompt of the queue": func(s *stage, a *arm, session coleo.Session) error {
			s.followUp(a.record.ID, "say one")
			a.sendFirst(s.t.Context(), session)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			id := s.arm("ada")
			slow := typingSession{begun: make(chan struct{}), end: make(chan struct{})}
			end := sync.OnceFunc(func() { close(slow.end) })
			defer end() // so that the session ends even if the test fails
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session {
				slow.Session = real
				return slow
			})
			sent, taken := make(chan error, 1), make(chan error, 1)
			go func() { sent <- send(s, a, session) }()
			<-slow.begun
			go func() { taken <- s.ask(bus.OpLease, bus.LeaseOrder{Arm: id, Holder: "grace"}, nil) }()
			s.until("the person waits for the keyboard", func() bool { return a.lease.Taken() })
			select {
			case err := <-taken:
				t.Fatalf("the person got the keyboard while a prompt is typed: %v", err)
			default:
			}
			s.refused(coleo.EBusy, bus.OpInterrupt, bus.ArmOrder{Arm: id})
			end()
			if err := <-taken; err != nil {
				t.Errorf("after the prompt was typed: %v", err)
			}
			s.awaitRuns(id, 1)
			if err := <-sent; err != nil {
				t.Error(err)
			}
		})
	}
}
