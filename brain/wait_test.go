package brain

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// TestARowAloneProvesNoState has an arm whose row still contains the state idle from before. The
// host agent has just attached to the arm again, and its log contains that the arm works. A wait
// for idle must not end.
func TestARowAloneProvesNoState(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.rowsOf(1)
	var head atomic.Uint64 // the end of the host agent's log; 0 while the host agent still attaches to the arm
	s.answerWith(bus.OpPulse, func(context.Context, json.RawMessage) (any, error) {
		return bus.Pulse{Epoch: "e", Head: head.Load(), Arms: []bus.ArmPulse{{ID: "arm-0", Generation: 1,
			Attached: head.Load() > 0, Process: bus.ProcessAlive}}}, nil
	})
	list := []coleo.Event{stateEvent(t, 1, coleo.Processing), stateEvent(t, 2, coleo.Idle)}
	s.answerWith(bus.OpEvents, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.EventsOrder
		err := json.Unmarshal(data, &o)
		to := head.Load()
		return bus.Events{Epoch: "e", Head: to, List: list[min(o.After, to):to], Checked: true}, err
	})
	waited := make(chan coleo.Arm, 1)
	go func() {
		arm, err := s.brain.WaitArm(t.Context(), "arm-0", []coleo.State{coleo.Idle})
		if err != nil {
			t.Error(err)
		}
		waited <- arm
	}()
	head.Store(1)
	s.until("the row says that the arm works", func() bool { return s.row("arm-0").State == coleo.Processing })
	if len(waited) > 0 {
		t.Fatal("the wait for idle ended with the row of before")
	}
	head.Store(2)
	s.beat()
	if arm := <-waited; arm.State != coleo.Idle || arm.UpdatedAt.IsZero() {
		t.Errorf("the wait ended with %+v, want it idle by the log", arm)
	}
}

func stateEvent(t *testing.T, seq uint64, state coleo.State) coleo.Event {
	t.Helper()
	change, err := json.Marshal(coleo.Change{Kind: coleo.ChangeState, Reading: coleo.Reading{State: state, Known: true}})
	check(t, err)
	return coleo.Event{Host: scriptedHost, Epoch: "e", Seq: seq, Arm: "arm-0", Time: time.Now(),
		Kind: coleo.EventState, Payload: change}
}

// The host agent does not know the arm, although serve has a row with the state idle. A wait for idle must not
// end with this row.
func TestAStateThatNobodyConfirmsIsNotReached(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.rowsOf(1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := s.brain.WaitArm(ctx, "arm-0", []coleo.State{coleo.Idle})
	if coleo.ErrorCode(err) != coleo.ETimeout || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("the wait ended with %v, want a time-out that says that the state is not known", err)
	}
}

// TestAQuestionIsWaitedForWithItsDialog starts a wait for a question. The row has a first dialog, but it goes
// away while serve asks the host agent to confirm the row. At that moment, the next dialog is not complete yet.
// The wait must end with the next dialog.
func TestAQuestionIsWaitedForWithItsDialog(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.rowsOf(1)
	asks := func(seq uint64, d *coleo.Dialog) coleo.Event {
		change, err := json.Marshal(coleo.Change{Kind: coleo.ChangeState,
			Reading: coleo.Reading{State: coleo.WaitingApproval, Known: true, Dialog: d}})
		check(t, err)
		e := stateEvent(t, seq, coleo.WaitingApproval)
		e.Payload = change
		return e
	}
	list := []coleo.Event{asks(1, &coleo.Dialog{Title: "first"}), asks(2, nil), asks(3, &coleo.Dialog{Title: "next"})}
	var head atomic.Uint64
	head.Store(1)
	s.answerWith(bus.OpEvents, func(_ context.Context, data json.RawMessage) (any, error) {
		var o bus.EventsOrder
		err := json.Unmarshal(data, &o)
		to := head.Load()
		return bus.Events{Epoch: "e", Head: to, List: list[min(o.After, to):to], Checked: true}, err
	})
	s.beat()
	s.until("the row has the first dialog", func() bool { return s.row("arm-0").Dialog != nil })
	s.answerWith(bus.OpPulse, func(context.Context, json.RawMessage) (any, error) {
		head.CompareAndSwap(1, 2)
		return bus.Pulse{Epoch: "e", Head: head.Load(), Arms: []bus.ArmPulse{{ID: "arm-0", Generation: 1,
			Attached: true, Process: bus.ProcessAlive}}}, nil
	})
	go func() {
		s.until("the first dialog is gone", func() bool { return s.row("arm-0").Dialog == nil })
		head.Store(3)
		s.beat()
	}()
	arm, err := s.brain.WaitArm(t.Context(), "arm-0", []coleo.State{coleo.WaitingApproval})
	if err != nil || arm.Dialog == nil || arm.Dialog.Title != "next" {
		t.Errorf("the wait ended with the dialog %+v, %v; want the next one", arm.Dialog, err)
	}
}
