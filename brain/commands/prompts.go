package commands

import (
	"context"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/timelimit"
)

// Prompt sends a prompt to an arm. The ID of the receipt is the id of the run that the prompt
// begins.
//
// Prompt returns ENotFound if there is no such arm. It returns EUnproven if the arm gets no permit
// before ctx ends. It returns EExited if the arm has never run. It returns EUnavailable if the host
// agent cannot be asked. It returns ETimeout if the delivery takes longer than timelimit.Prompt. Other
// errors come from the host agent.
//
// If the field Delivered of an error is set to false, the prompt was not delivered. After any other error,
// the prompt may have been delivered.
func (c *Commands) Prompt(ctx context.Context, idOrName string, p coleo.Prompt, lease string) (coleo.Receipt, error) {
	var r coleo.Receipt
	if err := c.requireFileSupport(ctx, idOrName, p.Files); err != nil {
		return r, markUndelivered(err)
	}
	op, text := bus.OpPrompt, p.Text
	if p.Check != nil {
		op, text = bus.OpChecked, text+string(p.Check.Input)+string(p.Check.Schema)
	}
	err := c.OrderAndCatchUp(ctx, idOrName, op, timelimit.Prompt(text), func(arm coleo.Arm) any {
		return bus.PromptOrder{Arm: arm.ID, Prompt: p, Lease: lease}
	}, &r)
	return r, markUndelivered(err)
}

// requireFileSupport returns EUnsupported if the arm's host agent is too old to add files to a prompt. Such
// a host agent would send the prompt without the files.
func (c *Commands) requireFileSupport(ctx context.Context, idOrName string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	arm, err := c.config.Find(ctx, idOrName)
	if err != nil {
		return err
	}
	return c.config.RequireFileSupport(arm.AgentID)
}

// Steer sends a prompt to an arm at once, even during a turn. The result says how the
// prompt reached the agent CLI. Steer returns the errors of Prompt and Interrupt, and
// EBlocked if a dialog is open.
func (c *Commands) Steer(ctx context.Context, idOrName string, p coleo.Prompt) (coleo.Steering, error) {
	var out coleo.Steering
	limit := timelimit.Prompt(p.Text) + timelimit.Typing
	err := c.OrderAndCatchUp(ctx, idOrName, bus.OpSteer, limit, func(arm coleo.Arm) any {
		return bus.PromptOrder{Arm: arm.ID, Prompt: p}
	}, &out)
	return out, markUndelivered(err)
}

// Compact makes an arm's agent CLI shorten its conversation. The ID of the receipt is
// the id of the run that begins. Compact returns EUnsupported if the agent CLI cannot
// shorten a conversation, or if an older host agent does not know the command. It also
// returns the errors of Prompt.
func (c *Commands) Compact(ctx context.Context, idOrName string) (coleo.Receipt, error) {
	var r coleo.Receipt
	err := c.OrderAndCatchUp(ctx, idOrName, bus.OpCompact, timelimit.Typing, OnArm, &r)
	return r, markUndelivered(err)
}

// Respond answers a dialog. If the fingerprint is empty, Respond answers the dialog that is open.
// If the dialog with the given fingerprint is not open, Respond returns EStale.
//
// Respond returns ENotFound if there is no such arm. It returns EUnproven if the arm gets no permit
// before ctx ends. It returns EExited if the arm has never run. It returns EUnavailable if the host
// agent cannot be asked. Other errors come from the host agent.
func (c *Commands) Respond(ctx context.Context, idOrName string, dialog coleo.Fingerprint, d coleo.Decision,
	lease string) error {
	return c.OrderAndCatchUp(ctx, idOrName, bus.OpRespond, timelimit.Typing, func(arm coleo.Arm) any {
		return bus.RespondOrder{Arm: arm.ID, Dialog: dialog, Decision: d, Lease: lease}
	}, nil)
}

// Interrupt stops the running turn of an arm, and returns the steps that it took to stop the turn.
// It returns ENotFound if there is no such arm. It returns EUnproven if the arm gets no permit
// before ctx ends. It returns EExited if the arm has never run. It returns EUnavailable if the host
// agent cannot be asked. Other errors come from the host agent.
func (c *Commands) Interrupt(ctx context.Context, idOrName string) (coleo.Interruption, error) {
	var out coleo.Interruption
	err := c.OrderAndCatchUp(ctx, idOrName, bus.OpInterrupt, timelimit.Typing, OnArm, &out)
	return out, err
}

// Abort stops the running turn of an arm, and pauses its queue if the queue is not empty.
// Abort returns the errors of Interrupt.
func (c *Commands) Abort(ctx context.Context, idOrName string) (coleo.Aborted, error) {
	var out coleo.Aborted
	err := c.OrderAndCatchUp(ctx, idOrName, bus.OpAbort, timelimit.Typing, OnArm, &out)
	return out, err
}

// Kill ends all processes of an arm. After they have ended, Kill returns the arm's row.
// Kill returns ENotFound if there is no such arm. It returns EExited if the arm has
// never run. It returns EUnavailable if the host agent cannot be asked. Other errors
// come from the host agent.
func (c *Commands) Kill(ctx context.Context, idOrName string) (coleo.Arm, error) {
	if err := c.OrderAndCatchUp(ctx, idOrName, bus.OpKill, timelimit.Kill, OnArm, nil); err != nil {
		return coleo.Arm{}, err
	}
	return c.config.Find(ctx, idOrName)
}

// Queue changes the queue of an arm and returns the queue. If o.Step is empty, Queue changes
// nothing. The arm's host stores the queue, and a change is on that host's disk before Queue
// returns.
//
// Queue returns ENotFound if there is no such arm or entry. It returns EInvalid for a bad order,
// EConflict if the queue is full, and EBusy while the entry is being sent. It returns EExited if
// the arm has never run. It returns EUnavailable if the host agent cannot be asked. It returns
// EUnsupported if the host agent is too old to store a queue.
func (c *Commands) Queue(ctx context.Context, idOrName string, o coleo.QueueOrder) (coleo.QueueReport, error) {
	var r coleo.QueueReport
	err := c.OrderAndCatchUp(ctx, idOrName, bus.OpQueue, bus.DefaultTimeout, func(arm coleo.Arm) any {
		return bus.QueueOrder{Arm: arm.ID, QueueOrder: o}
	}, &r)
	if r.Queue.Entries == nil {
		r.Queue.Entries = []coleo.Queued{}
	}
	return r, err
}
