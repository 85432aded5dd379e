// Package waits waits until an arm has a state, or until a run has ended.
//
// Package waits follows the published events and rows, and gives no order to a host.
package waits

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// Config contains what Waits needs.
type Config struct {
	DB   *store.ServeDB
	Find func(ctx context.Context, idOrName string) (coleo.Arm, error) // returns the named arm, or ENotFound
	// Subscribe returns the updates that are published after the call, until ctx or serve ends.
	Subscribe func(ctx context.Context) iter.Seq[wire.Update]
	// Confirms asks the arm's host agent whether the arm's row is up to date. It may read new events
	// of the host into the DB.
	Confirms func(ctx context.Context, arm coleo.Arm) bool
	// Ended reports whether serve is ending.
	Ended func() bool
	// HostWord returns a name of the host of an arm, for a message about this arm.
	HostWord func(host string) string
}

// Waits waits for states and for the ends of runs. It has no state, and is safe for concurrent use.
type Waits struct{ config Config }

// New returns a Waits for the arms that c.Find finds.
func New(c Config) *Waits { return &Waits{c} }

// WaitArm waits until an arm is in one of the states, and returns the arm. If the state is
// waiting_approval, WaitArm also waits until the arm's row contains the dialog. An arm that waits
// for the answer to a request of its model also counts as waiting_approval. The host agent may know
// of a newer state than the row. So WaitArm also waits until the host agent has confirmed the row.
//
// WaitArm returns ENotFound if the arm does not exist or is removed. It returns ETimeout if ctx
// ends first. It returns EExited if the arm stops in a state that is not in states.
func (w *Waits) WaitArm(ctx context.Context, idOrName string, states []coleo.State) (coleo.Arm, error) {
	news := w.config.Subscribe(ctx) // Subscribe is called before the arm is first read, so that no change is missed
	arm, err := w.config.Find(ctx, idOrName)
	if err != nil {
		return arm, err
	}
	if arm, done, err := w.checkWaitDone(ctx, arm, states); done {
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
		if arm, done, err = w.checkWaitDone(ctx, *u.Arm, states); done {
			return arm, err
		}
	}
	if ctx.Err() == nil && !w.config.Ended() {
		return w.WaitArm(ctx, idOrName, states) // the sequence ended because the store could not be read, so start again
	}
	return arm, coleo.Errorf(coleo.ETimeout, "arm %s is still %s", arm.Name, arm.State)
}

// confirmRetry is the pause between two requests to a host agent to confirm a row. A host agent
// that has just started needs about this long until it can confirm a row.
const confirmRetry = 200 * time.Millisecond

// checkWaitDone returns the arm's present row, and whether WaitArm can return that row. If the row
// is in one of the states, checkWaitDone asks the host agent again and again to confirm the row. It
// stops when the host agent has confirmed the row, when the row has another state, or when ctx
// ends.
func (w *Waits) checkWaitDone(ctx context.Context, arm coleo.Arm, states []coleo.State) (coleo.Arm, bool, error) {
	isIn := func(arm coleo.Arm) bool {
		if len(arm.Suspensions) > 0 && slices.Contains(states, coleo.WaitingApproval) {
			return true
		}
		return slices.Contains(states, arm.State) && (arm.State != coleo.WaitingApproval || arm.Dialog != nil)
	}
	for {
		switch {
		case arm.Status == coleo.StatusStopped && !isIn(arm):
			return arm, true, stoppedError(arm)
		case !isIn(arm):
			return arm, false, nil
		case arm.Status == coleo.StatusStopped:
			return arm, true, nil
		}
		confirmed := w.config.Confirms(ctx, arm)
		// read the row again, because Confirms may have read new events of the host
		row, err := w.config.Find(ctx, arm.ID)
		switch {
		case ctx.Err() != nil:
			return arm, true, coleo.Errorf(coleo.ETimeout, "whether arm %s is still %s is not known: %s "+
				"has not confirmed it", arm.Name, arm.State, w.config.HostWord(arm.AgentID))
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

func stoppedError(arm coleo.Arm) error {
	return coleo.Errorf(coleo.EExited, "arm %s has stopped: %s; 'coleo arm recover %s' starts it again",
		arm.Name, arm.Rule, arm.Name)
}

// WaitRun waits until a run has ended, and returns the payload of the run_end event. It can also
// wait for a run that has not begun, because the run of a queued prompt gets the prompt's id.
//
// WaitRun returns ETimeout if ctx ends first. It returns ENotFound if there is no such run, or if
// its prompt was removed from the queue. It returns EPromptLost if nothing proves that a queued
// prompt has arrived.
func (w *Waits) WaitRun(ctx context.Context, run string) (coleo.RunEnd, error) {
	news := w.config.Subscribe(ctx)
	ends, _, err := w.config.DB.RunEvents(ctx, store.EventFilter{Run: run,
		Kinds: []coleo.EventKind{coleo.EventRunEnd}, Limit: 1})
	if err != nil {
		return coleo.RunEnd{}, err
	}
	if len(ends) > 0 {
		return coleo.DecodeRunEnd(ends[0])
	}
	events, _, err := w.config.DB.RunEvents(ctx, store.EventFilter{Run: run, Limit: 1})
	if err != nil {
		return coleo.RunEnd{}, err
	}
	if len(events) == 0 {
		if err := w.willRun(ctx, run); err != nil {
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
			if err := w.willRun(ctx, run); err != nil {
				return coleo.RunEnd{}, err
			}
		}
	}
	if ctx.Err() == nil {
		return w.WaitRun(ctx, run)
	}
	return coleo.RunEnd{}, coleo.Errorf(coleo.ETimeout, "the run has not ended yet")
}

// willRun returns nil if a prompt that has no run yet is in a queue, or is being sent now.
func (w *Waits) willRun(ctx context.Context, prompt string) error {
	c, arm, err := w.config.DB.LastQueueChange(ctx, prompt)
	if err == nil {
		// check that the arm exists, because the queue of a removed arm is lost
		_, err = w.config.Find(ctx, arm)
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
