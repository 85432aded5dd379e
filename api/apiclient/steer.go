package apiclient

import (
	"context"

	"coleo.dev"
	"coleo.dev/wire"
)

// Prompt sends a prompt and waits for proof that the prompt was delivered. The ID of the receipt is the id of
// the run that the prompt begins. If the field Delivered of an error is set to false, the prompt was not
// delivered. After any other error, the prompt may have been delivered.
func (c *Client) Prompt(ctx context.Context, arm string, p coleo.Prompt, lease string) (coleo.Receipt, error) {
	var out wire.PromptReply
	in, text := wire.PromptBody{Prompt: p.Text, Interrupt: p.Interrupt, Unproven: p.Unproven, Lease: lease,
		Files: p.Files},
		p.Text
	if q := p.Check; q != nil {
		in.Schema, in.Retries, in.Input, in.InputSchema = q.Schema, &q.Retries, q.Input, q.InputSchema
		text += string(q.Schema) + string(q.Input)
	}
	err := c.callFor(ctx, promptTime(text), post, armPath(arm, "/prompt"), in, &out)
	return out.Receipt, notDelivered(err)
}

// Compact makes the agent CLI shorten its conversation, and waits for proof that the
// agent CLI has begun. The ID of the receipt is the id of the run that begins. Compact
// returns EUnsupported if the agent CLI cannot shorten its conversation. It also
// returns the errors of Prompt.
func (c *Client) Compact(ctx context.Context, arm string) (coleo.Receipt, error) {
	var out wire.PromptReply
	err := c.callFor(ctx, steerTime, post, armPath(arm, "/compact"), nil, &out)
	return out.Receipt, notDelivered(err)
}

// Modes returns the modes of an arm, and the mode that Coleo saw last.
func (c *Client) Modes(ctx context.Context, arm string) (wire.Modes, error) {
	var out wire.Modes
	err := c.callFor(ctx, lookTime, get, armPath(arm, "/mode"), nil, &out)
	return out, err
}

// SwitchMode switches an arm to another mode. It returns when the screen shows the new mode. It
// returns EConflict if the keys do not lead to the mode, and EUnsupported if there is no way to the
// mode. It returns EInvalid if the mode needs o.Allow and o.Allow is false. It also returns the
// errors of Prompt.
func (c *Client) SwitchMode(ctx context.Context, arm string, o coleo.ModeOrder) (coleo.ModeSwitch, error) {
	var out wire.ModeReply
	err := c.callFor(ctx, steerTime, post, armPath(arm, "/mode"), wire.ModeBody(o), &out)
	return out.ModeSwitch, err
}

// SwitchModel gives an arm another model. It also returns the errors of Kill and Recover.
func (c *Client) SwitchModel(ctx context.Context, arm string, o coleo.ModelOrder) (coleo.ModelSwitch, error) {
	var out wire.ModelReply
	err := c.callFor(ctx, steerTime+killTime+startTime, post, armPath(arm, "/model"), wire.ModelBody(o), &out)
	return out.ModelSwitch, err
}

// OpenWindow opens the window of an arm, and returns the arm. It returns EUnsupported if the arm's
// harness shows no window. It returns EConflict if the window is already open.
func (c *Client) OpenWindow(ctx context.Context, arm string, r wire.WindowRequest) (coleo.Arm, error) {
	var out wire.ArmReply
	err := c.callFor(ctx, steerTime, post, armPath(arm, "/window"), r, &out)
	return out.Arm, err
}

// Respond answers the dialog with the given fingerprint. If the fingerprint is empty, Respond
// answers the dialog that is open. If the dialog with this fingerprint is not open, Respond returns
// EStale.
func (c *Client) Respond(ctx context.Context, arm string, dialog coleo.Fingerprint, d coleo.Decision,
	lease string) error {
	in := wire.RespondBody{Dialog: dialog, Choice: d.Choice, Option: d.Option, Options: d.Options, Words: d.Words,
		Key: d.Key, Lease: lease}
	return c.callFor(ctx, steerTime, post, armPath(arm, "/respond"), in, nil)
}

// Interrupt stops the running turn and waits until the turn has stopped. It returns the steps that
// stopped the turn.
func (c *Client) Interrupt(ctx context.Context, arm string) (coleo.Interruption, error) {
	var out wire.InterruptReply
	err := c.callFor(ctx, steerTime, post, armPath(arm, "/interrupt"), nil, &out)
	return out.Interruption, err
}

// Lease takes, renews or releases the lease of an arm. The lease is the right to type by hand.
// Lease returns EBusy while another caller has the lease.
func (c *Client) Lease(ctx context.Context, arm string, r wire.LeaseRequest) (coleo.Lease, error) {
	var out wire.LeaseReply
	err := c.call(ctx, post, armPath(arm, "/lease"), r, &out)
	return out.Lease, err
}

// Input types `data` into the arm's terminal. It returns EBusy if the arm's lease does not have the given id.
func (c *Client) Input(ctx context.Context, arm, leaseID string, data []byte) error {
	return c.call(ctx, post, armPath(arm, "/input"), wire.InputBody{Lease: leaseID, Data: data}, nil)
}

// Resize changes the size of the terminal, in cells. It returns EBusy if the arm's lease does not
// have the given id.
func (c *Client) Resize(ctx context.Context, arm, leaseID string, cols, rows int) error {
	return c.call(ctx, post, armPath(arm, "/resize"), wire.ResizeBody{Lease: leaseID, Cols: cols, Rows: rows}, nil)
}
