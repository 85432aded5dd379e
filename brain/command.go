package brain

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// Bounds of commands to a host agent.
const (
	spawnTimeout  = 60 * time.Second // spec section 9
	promptTimeout = 90 * time.Second // the first prompt of an agent CLI may take 30 s to start
	// promptPerKB is what each 1,000 bytes of a prompt may take besides: an agent
	// CLI may stand still when it reads, shows and begins with a long one.
	promptPerKB = 6 * time.Second
	killTimeout = 30 * time.Second
)

// ask sends a command about an arm to the host agent that holds it.
func (b *Brain) ask(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error {
	if arm.AgentID == "" {
		return coleo.Errorf(coleo.EExited, "arm %s has never run: 'coleo arm spawn -n %s' starts it", arm.Name, arm.Name)
	}
	return b.askHost(ctx, arm.AgentID, op, limit, in, out)
}

// askHost sends a command to a host agent. One that is known to be away is sent
// nothing.
func (b *Brain) askHost(ctx context.Context, host string, op bus.Op, limit time.Duration, in, out any) error {
	if why := b.away(host); why != "" {
		return unsent{coleo.Errorf(coleo.EUnavailable, "nothing was done: %q cannot reach the arm, because %s", op, why)}
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := b.Bus.Ask(limited, host, op, in, out)
	if bus.Unreachable(err) {
		b.lose(ctx, host, notConnected(host))
	}
	return err
}

// unsent is the error for a command that no host agent was sent.
type unsent struct{ because *coleo.Error }

// Error says that nothing was done.
func (u unsent) Error() string { return u.because.Message }

// Unwrap returns the error with its code.
func (u unsent) Unwrap() error { return u.because }

// commanded carries out a command on one arm and brings the store up to date.
func (b *Brain) commanded(ctx context.Context, idOrName string, op bus.Op, limit time.Duration, in func(coleo.Arm) any, out any) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return err
	}
	if op.Types() {
		if err := b.permit(ctx, arm); err != nil {
			return err
		}
	}
	err = b.ask(ctx, arm, op, limit, in(arm), out)
	b.catchUp(ctx, arm.AgentID)
	return err
}

// catchUp reads what a host has written, so that who asks next sees it.
func (b *Brain) catchUp(ctx context.Context, host string) {
	for more := host != ""; more; {
		var err error
		if more, err = b.pull(ctx, host); err != nil {
			return // its follower tries again and says so
		}
	}
}

func onArm(arm coleo.Arm) any { return bus.ArmOrder{Arm: arm.ID} }

// Prompt sends a prompt to an arm. The receipt's ID is the run that it opens.
func (b *Brain) Prompt(ctx context.Context, idOrName string, p coleo.Prompt, lease string) (coleo.Receipt, error) {
	var r coleo.Receipt
	err := b.commanded(ctx, idOrName, bus.OpPrompt, PromptTime(p.Text), func(arm coleo.Arm) any {
		return bus.PromptOrder{Arm: arm.ID, Prompt: p, Lease: lease}
	}, &r)
	return r, refused(err)
}

// PromptTime is how long the delivery of a prompt may take.
func PromptTime(text string) time.Duration {
	return promptTimeout + time.Duration(len(text)/1000)*promptPerKB
}

// refused marks the error of a prompt that was not delivered. It leaves errors
// alone that do not tell: then the error says that it is not known.
func refused(err error) error {
	var e *coleo.Error
	if !errors.As(err, &e) || bus.Unanswered(err) {
		return err
	}
	known := errors.As(err, new(unsent)) || bus.Unreachable(err)
	switch e.Code {
	case coleo.EPromptLost, coleo.ETimeout, coleo.EExited, coleo.EInternal, coleo.EUnavailable:
		if !known {
			return err
		}
	case coleo.EConflict, coleo.EInvalid, coleo.ENotFound, coleo.EUnauthorized, coleo.EForbidden,
		coleo.ENotInstalled, coleo.EBlocked, coleo.EBusy, coleo.EUnrecognised, coleo.EStale, coleo.EUnproven, coleo.EUnsupported,
		coleo.ETurnAsks, coleo.ETurnFailed, coleo.ETurnInterrupted:
	}
	marked := *e
	marked.Delivered = new(bool)
	return &marked
}

// Respond answers a dialog; without a fingerprint, the one that is open.
func (b *Brain) Respond(ctx context.Context, idOrName string, dialog coleo.Fingerprint, d coleo.Decision, lease string) error {
	return b.commanded(ctx, idOrName, bus.OpRespond, promptTimeout, func(arm coleo.Arm) any {
		return bus.RespondOrder{Arm: arm.ID, Dialog: dialog, Decision: d, Lease: lease}
	}, nil)
}

// Interrupt stops an arm's running turn.
func (b *Brain) Interrupt(ctx context.Context, idOrName string) error {
	return b.commanded(ctx, idOrName, bus.OpInterrupt, promptTimeout, onArm, nil)
}

// Kill ends an arm's whole process tree and returns its row when it is gone.
func (b *Brain) Kill(ctx context.Context, idOrName string) (coleo.Arm, error) {
	if err := b.commanded(ctx, idOrName, bus.OpKill, killTimeout, onArm, nil); err != nil {
		return coleo.Arm{}, err
	}
	return b.Arm(ctx, idOrName)
}

// Remove forgets a stopped arm, its journal included.
func (b *Brain) Remove(ctx context.Context, idOrName string) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return err
	}
	if !b.isOver(ctx, arm) {
		return coleo.Errorf(coleo.EConflict, "arm %s is %s: kill it first", arm.Name, arm.Status)
	}
	if arm.AgentID != "" {
		err := b.ask(ctx, arm, bus.OpRemove, killTimeout, onArm(arm), nil)
		if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
			return err
		}
		b.catchUp(ctx, arm.AgentID)
	}
	if err := b.forget(ctx, arm.ID); err != nil {
		return err
	}
	b.updates.publish(coleo.Update{Removed: arm.ID})
	return b.DB.SetConfig(ctx, generationKey(arm.ID), "")
}

// Explain returns the evidence behind an arm's reading.
func (b *Brain) Explain(ctx context.Context, idOrName string) (coleo.Explanation, error) {
	var x coleo.Explanation
	err := b.look(ctx, idOrName, bus.OpExplain, &x)
	return x, err
}

// Usage returns what an arm's conversation has taken so far.
func (b *Brain) Usage(ctx context.Context, idOrName string) (coleo.Usage, error) {
	var u coleo.Usage
	err := b.look(ctx, idOrName, bus.OpUsage, &u)
	return u, err
}

// Screen returns what an arm's terminal shows, or showed at a time that is not
// zero, with up to so many lines that have scrolled away.
func (b *Brain) Screen(ctx context.Context, idOrName string, at time.Time, history int) (coleo.Screen, error) {
	var s coleo.Screen
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return s, err
	}
	err = b.ask(ctx, arm, bus.OpScreen, bus.DefaultTimeout, bus.ScreenOrder{Arm: arm.ID, At: at, History: history}, &s)
	b.catchUp(ctx, arm.AgentID) // a host agent writes down what it sees when it looks
	return s, err
}

// Record returns the piece of a recording of an arm's generation, 0 for the
// last, that begins at an offset.
func (b *Brain) Record(ctx context.Context, idOrName string, generation int, from int64) (coleo.Recording, error) {
	var r coleo.Recording
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return r, err
	}
	err = b.ask(ctx, arm, bus.OpRecord, bus.DefaultTimeout, bus.RecordOrder{Arm: arm.ID, Generation: generation, From: from}, &r)
	return r, err
}

func (b *Brain) look(ctx context.Context, idOrName string, op bus.Op, out any) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return err
	}
	err = b.ask(ctx, arm, op, bus.DefaultTimeout, onArm(arm), out)
	b.catchUp(ctx, arm.AgentID) // a host agent writes down what it sees when it looks
	return err
}

// Output returns a piece of terminal output from an offset on (below 0:
// counted from the end), waiting for some up to wait.
func (b *Brain) Output(ctx context.Context, idOrName string, from int64, wait time.Duration) (coleo.Output, error) {
	var out coleo.Output
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return out, err
	}
	err = b.ask(ctx, arm, bus.OpOutput, wait+bus.DefaultTimeout, bus.OutputOrder{Arm: arm.ID, From: from, Wait: wait}, &out)
	return out, err
}

// Input types raw keys by hand, under a lease.
func (b *Brain) Input(ctx context.Context, idOrName, lease string, data []byte) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return err
	}
	if err := b.permit(ctx, arm); err != nil {
		return err
	}
	return b.ask(ctx, arm, bus.OpInput, bus.DefaultTimeout, bus.InputOrder{Arm: arm.ID, Lease: lease, Data: data}, nil)
}

// Resize gives an arm's terminal another size, in cells, under a lease.
func (b *Brain) Resize(ctx context.Context, idOrName, lease string, cols, rows int) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return err
	}
	return b.ask(ctx, arm, bus.OpResize, bus.DefaultTimeout, bus.ResizeOrder{Arm: arm.ID, Lease: lease, Cols: cols, Rows: rows}, nil)
}

// Lease takes, renews or gives back the right to type by hand.
func (b *Brain) Lease(ctx context.Context, idOrName string, q coleo.LeaseRequest) (coleo.Lease, error) {
	var l coleo.Lease
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return l, err
	}
	err = b.ask(ctx, arm, bus.OpLease, bus.DefaultTimeout, bus.LeaseOrder{Arm: arm.ID, ID: q.ID, Holder: q.Holder, Release: q.Release}, &l)
	return l, err
}
