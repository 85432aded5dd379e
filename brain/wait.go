package brain

import (
	"context"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// WaitArm waits until an arm is in one of the states, and returns the arm. If the state is
// waiting_approval, WaitArm also waits until the arm's row contains the dialog. An arm that has
// asked something with one of Coleo's tools also counts as waiting_approval. WaitArm does not trust
// the row alone, because the host agent may already know of a newer state. So WaitArm also waits
// until the host agent has confirmed the row.
//
// WaitArm returns ENotFound if the arm does not exist or is removed. It returns ETimeout if ctx
// ends first. It returns EExited if the arm stops in a state that is not in states.
func (b *Brain) WaitArm(ctx context.Context, idOrName string, states []coleo.State) (coleo.Arm, error) {
	news := b.SubscribeFromNow(ctx) // before the first look at the arm, so that no change is missed
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return arm, err
	}
	if arm, done, err := b.checkWaitDone(ctx, arm, states); done {
		return arm, err
	}
	for u := range news {
		if u.Removed == arm.ID {
			return arm, coleo.Errorf(coleo.ENotFound, "arm %s has been removed", arm.Name)
		}
		if u.Arm == nil || u.Arm.ID != arm.ID {
			continue
		}
		var done bool
		if arm, done, err = b.checkWaitDone(ctx, *u.Arm, states); done {
			return arm, err
		}
	}
	if ctx.Err() == nil && b.ctx.Err() == nil {
		return b.WaitArm(ctx, idOrName, states) // the sequence ended because the store could not be read, so start again
	}
	return arm, coleo.Errorf(coleo.ETimeout, "arm %s is still %s", arm.Name, arm.State)
}

// confirmRetry is the pause between two requests to a host agent to confirm a row. After its start,
// a host agent needs about this long until it can confirm a row.
const confirmRetry = 200 * time.Millisecond

// checkWaitDone returns the arm's present row, and whether WaitArm can return that row. If the row
// is in one of the states, checkWaitDone asks the host agent repeatedly to confirm the row. It
// stops when the host agent has confirmed the row, when the row has another state, or when ctx
// ends.
func (b *Brain) checkWaitDone(ctx context.Context, arm coleo.Arm, states []coleo.State) (coleo.Arm, bool, error) {
	isIn := func(arm coleo.Arm) bool {
		if len(arm.Suspensions) > 0 && slices.Contains(states, coleo.WaitingApproval) {
			return true
		}
		return slices.Contains(states, arm.State) && (arm.State != coleo.WaitingApproval || arm.Dialog != nil)
	}
	for {
		switch {
		case arm.Status == coleo.StatusStopped && !isIn(arm):
			return arm, true, stopped(arm)
		case !isIn(arm):
			return arm, false, nil
		case arm.Status == coleo.StatusStopped:
			return arm, true, nil
		}
		confirmed := b.confirms(ctx, arm)
		row, err := b.Arm(ctx, arm.ID) // confirms may have read new events of the host
		switch {
		case ctx.Err() != nil:
			return arm, true, coleo.Errorf(coleo.ETimeout, "whether arm %s is still %s is not known: %s "+
				"has not confirmed it", arm.Name, arm.State, agentWord(arm.AgentID))
		case err != nil:
			return arm, true, err
		case confirmed && isIn(row) && row.State == arm.State && row.Generation == arm.Generation:
			return row, true, nil
		}
		if arm = row; confirmed {
			continue
		}
		select {
		case <-time.After(confirmRetry):
		case <-ctx.Done():
		}
	}
}

// confirms asks the arm's host agent whether the arm's row is up to date. To confirm the row, the
// host agent must have a session of the arm. Serve must also have read the host's log up to the
// position in the host agent's reply. A host agent that is too old for this question confirms every
// row.
func (b *Brain) confirms(ctx context.Context, arm coleo.Arm) bool {
	if arm.AgentID == "" {
		return true // without a host, nobody knows more than the row
	}
	limited, cancel := context.WithTimeout(ctx, bus.SilentAfter)
	defer cancel()
	var pulse bus.Pulse
	if err := b.Bus.Ask(limited, arm.AgentID, bus.OpPulse, bus.PulseOrder{Arm: arm.ID}, &pulse); err != nil {
		return coleo.ErrorCode(err) == coleo.EUnsupported
	}
	held := slices.ContainsFunc(pulse.Arms, func(a bus.ArmPulse) bool {
		// While a holder does not answer, the arm has no session and its state is initializing.
		reads := a.Attached || arm.State == coleo.Initializing
		return a.ID == arm.ID && a.Generation == arm.Generation && reads && !a.Starting
	})
	return held && b.hasRead(limited, arm.AgentID, position{pulse.Epoch, pulse.Head})
}

// hasRead reports whether a host's log has been read up to the given position. If
// necessary, it first reads the log up to that position.
func (b *Brain) hasRead(ctx context.Context, id string, to position) bool {
	for more := true; ; {
		at, err := b.readTo(ctx, id, b.knownHost(id))
		if err == nil && at.epoch == to.epoch && at.seq >= to.seq {
			return true
		}
		if !more {
			return false
		}
		if more, err = b.pull(ctx, id); err != nil {
			return false
		}
	}
}

func stopped(arm coleo.Arm) error {
	return coleo.Errorf(coleo.EExited, "arm %s has stopped: %s; 'coleo arm recover %s' starts it again",
		arm.Name, arm.Rule, arm.Name)
}

// WaitRun waits until a run has ended, and returns the payload of the run_end event. The run of a
// queued prompt gets the prompt's id. So WaitRun can also wait for a run that has not begun.
//
// WaitRun returns ETimeout if ctx ends first. It returns ENotFound if there is no such run, or if
// its prompt was removed from the queue. It returns EPromptLost if nothing proves that a queued
// prompt has arrived.
func (b *Brain) WaitRun(ctx context.Context, run string) (coleo.RunEnd, error) {
	news := b.SubscribeFromNow(ctx)
	ends, _, err := b.DB.RunEvents(ctx, store.EventFilter{Run: run, Kinds: []coleo.EventKind{coleo.EventRunEnd}, Limit: 1})
	if err != nil {
		return coleo.RunEnd{}, err
	}
	if len(ends) > 0 {
		return coleo.DecodeRunEnd(ends[0])
	}
	events, _, err := b.DB.RunEvents(ctx, store.EventFilter{Run: run, Limit: 1})
	if err != nil {
		return coleo.RunEnd{}, err
	}
	if len(events) == 0 {
		if err := b.willRun(ctx, run); err != nil {
			return coleo.RunEnd{}, err
		}
	}
	for u := range news {
		switch e := u.Event; {
		case e == nil:
		case e.Run == run && e.Kind == coleo.EventRunEnd:
			return coleo.DecodeRunEnd(*e)
		case len(events) == 0 && (e.Kind == coleo.EventRemoved ||
			e.Kind == coleo.EventQueue && strings.Contains(string(e.Payload), run)):
			if err := b.willRun(ctx, run); err != nil {
				return coleo.RunEnd{}, err
			}
		}
	}
	if ctx.Err() == nil {
		return b.WaitRun(ctx, run)
	}
	return coleo.RunEnd{}, coleo.Errorf(coleo.ETimeout, "the run has not ended yet")
}

// willRun returns nil if a prompt without a run is in the queue, or is being sent now.
func (b *Brain) willRun(ctx context.Context, prompt string) error {
	c, arm, err := b.DB.LastQueueChange(ctx, prompt)
	if err == nil {
		_, err = b.Arm(ctx, arm) // the queue of a removed arm is gone
	}
	switch {
	case coleo.ErrorCode(err) == coleo.ENotFound:
		return coleo.Errorf(coleo.ENotFound, "no run %q", prompt)
	case err != nil:
		return err
	case c.Step == coleo.QueueRemoved:
		return coleo.Errorf(coleo.ENotFound, "the prompt %s was removed from the queue before it was sent", prompt)
	case c.Step == coleo.QueuePaused:
		return coleo.Errorf(coleo.EPromptLost, "nothing proves that the prompt %s has arrived, and it is not sent again",
			prompt)
	default:
		return nil
	}
}
