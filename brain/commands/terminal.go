package commands

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// Explain returns the evidence for the state of an arm. It returns ENotFound if there
// is no such arm. It returns EExited if the arm has no live session. It returns
// EUnavailable if the host agent cannot be asked.
func (c *Commands) Explain(ctx context.Context, idOrName string) (coleo.Explanation, error) {
	var x coleo.Explanation
	err := c.query(ctx, idOrName, bus.OpExplain, &x)
	return x, err
}

// Usage returns how many tokens an arm's conversation has used so far. It returns ENotFound if
// there is no such arm. It returns EExited if the arm has no live session. It returns EUnsupported
// if the harness does not count tokens. It returns EUnavailable if the host agent cannot be asked.
func (c *Commands) Usage(ctx context.Context, idOrName string) (coleo.Usage, error) {
	var u coleo.Usage
	err := c.query(ctx, idOrName, bus.OpUsage, &u)
	return u, err
}

// Tasks returns the tasks that an arm's model has written with Coleo's tools. It returns
// ENotFound if there is no such arm, and EUnavailable if the host agent cannot be asked.
func (c *Commands) Tasks(ctx context.Context, idOrName string) ([]coleo.Task, error) {
	var list []coleo.Task
	err := c.query(ctx, idOrName, bus.OpTasks, &list)
	return list, err
}

// Screen returns the screen of an arm at the given time. If the time is zero, Screen returns the present
// screen. The result also contains at most `history` lines that have scrolled off the top.
//
// Screen returns ENotFound if there is no such arm. It returns EExited if the arm has no session.
// It returns EUnsupported if the arm has no terminal. It returns EUnavailable if the host agent
// cannot be asked.
func (c *Commands) Screen(ctx context.Context, idOrName string, at time.Time, history int) (coleo.Screen, error) {
	var s coleo.Screen
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return s, err
	}
	err = c.config.Ask(ctx, arm, bus.OpScreen, bus.DefaultTimeout,
		bus.ScreenOrder{Arm: arm.ID, At: at, History: history}, &s)
	// the host agent may have logged events before it replied
	c.config.CatchUp(ctx, arm.AgentID)
	return s, err
}

// Record returns one piece of a recording, which contains the terminal output of one generation of
// an arm. The piece begins at a byte offset. Generation 0 means the newest generation.
//
// Record returns ENotFound if there is no such arm. It returns EExited if the arm has never run. It
// returns EInvalid if there is no recording of the generation. It returns EUnsupported if the arm
// has no terminal. It returns EUnavailable if the host agent cannot be asked.
func (c *Commands) Record(ctx context.Context, idOrName string, generation int, offset int64) (coleo.Recording, error) {
	var r coleo.Recording
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return r, err
	}
	err = c.config.Ask(ctx, arm, bus.OpRecord, bus.DefaultTimeout,
		bus.RecordOrder{Arm: arm.ID, Generation: generation, From: offset}, &r)
	return r, err
}

// Output returns a piece of an arm's terminal output. The piece begins at a byte offset. A negative offset
// counts from the end of the output. If there is no output at the offset yet, Output waits at most
// longestWait for new output.
//
// Output returns ENotFound if there is no such arm. It returns EExited if the arm has never run. It
// returns EUnavailable if the host agent cannot be asked.
func (c *Commands) Output(ctx context.Context, idOrName string, offset int64, longestWait time.Duration) (
	coleo.Output, error) {
	var out coleo.Output
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return out, err
	}
	err = c.config.Ask(ctx, arm, bus.OpOutput, longestWait+bus.DefaultTimeout,
		bus.OutputOrder{Arm: arm.ID, From: offset, Wait: longestWait}, &out)
	return out, err
}

// Input types bytes into an arm, for a caller that types by hand. It returns ENotFound if there is
// no such arm. It returns EBusy if leaseID is not the id of the arm's lease. It returns EExited if
// the arm has no live session. It returns EUnavailable if the host agent cannot be asked. It
// returns EUnproven if the arm gets no permit before ctx ends.
func (c *Commands) Input(ctx context.Context, idOrName, leaseID string, data []byte) error {
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return err
	}
	if err := c.config.Permit(ctx, arm); err != nil {
		return err
	}
	return c.config.Ask(ctx, arm, bus.OpInput, bus.DefaultTimeout,
		bus.InputOrder{Arm: arm.ID, Lease: leaseID, Data: data}, nil)
}

// Resize changes the size of an arm's terminal, in cells. It returns ENotFound if there is no such
// arm. It returns EBusy if leaseID is not the id of the arm's lease. It returns EExited if the arm
// has no live session. It returns EUnavailable if the host agent cannot be asked.
func (c *Commands) Resize(ctx context.Context, idOrName, leaseID string, cols, rows int) error {
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return err
	}
	return c.config.Ask(ctx, arm, bus.OpResize, bus.DefaultTimeout,
		bus.ResizeOrder{Arm: arm.ID, Lease: leaseID, Cols: cols, Rows: rows}, nil)
}

// Lease takes, renews or releases the lease of an arm. The lease is the right to type by hand.
// Lease returns ENotFound if there is no such arm. It returns EBusy while another caller has the
// lease. It returns EExited if the arm has never run. It returns EUnavailable if the host agent
// cannot be asked.
func (c *Commands) Lease(ctx context.Context, idOrName string, q wire.LeaseRequest) (coleo.Lease, error) {
	var l coleo.Lease
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return l, err
	}
	err = c.config.Ask(ctx, arm, bus.OpLease, bus.DefaultTimeout,
		bus.LeaseOrder{Arm: arm.ID, ID: q.ID, Holder: q.Holder, Release: q.Release}, &l)
	return l, err
}
