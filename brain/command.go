package brain

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// These constants are the time limits for commands to host agents.
const (
	spawnTimeout  = 60 * time.Second // for a start or an attach
	promptTimeout = 90 * time.Second // an agent CLI can need 30 s to start before its first prompt
	// promptPerKB is added to promptTimeout for each 1,000 bytes of the prompt. An agent CLI can be
	// unresponsive while it reads a long prompt, shows the prompt and begins to work on it.
	promptPerKB = 6 * time.Second
	killTimeout = 30 * time.Second
	// removeTimeout is the time limit for the removal of an arm. The arm's worktree can contain
	// much work that must be kept.
	removeTimeout = 10 * time.Minute
	// WorktreeTime is added to the time limit of a start that creates a worktree. The checkout of a
	// large repository takes minutes, and a set-up script may run for script.MaxTimeout.
	WorktreeTime = 25 * time.Minute
)

// askAboutArm sends a command about an arm to the arm's host agent, or to host local. It
// returns EExited if the arm has never run. Otherwise it returns the same errors as
// askHost.
func (b *Brain) askAboutArm(ctx context.Context, arm coleo.Arm, op bus.Op, limit time.Duration, in, out any) error {
	if arm.AgentID == "" {
		return coleo.Errorf(coleo.EExited, "arm %s has never run: 'coleo arm spawn -n %s' starts it", arm.Name,
			arm.Name)
	}
	if isLocal(arm.AgentID) || b.isMoving(arm.ID) {
		return b.askHere(ctx, arm, op, limit, in, out)
	}
	return b.askHost(ctx, arm.AgentID, op, limit, in, out)
}

// askHost sends a command to a host agent, or to host local. If the host agent is known
// to be away, askHost sends nothing and returns EUnavailable. Otherwise it returns the
// same errors as bus.Conn.Ask.
func (b *Brain) askHost(ctx context.Context, host string, op bus.Op, limit time.Duration, in, out any) error {
	if err := b.prepareHost(ctx, host); err != nil {
		return err
	}
	if why := b.awayReason(host); why != "" && !isLocal(host) {
		return unsent{coleo.Errorf(coleo.EUnavailable, "nothing was done: %q cannot reach the arm, because %s", op,
			why)}
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := b.Bus.Ask(limited, host, op, in, out)
	if bus.Unreachable(err) {
		b.markAway(ctx, host, notConnected(host))
	}
	return err
}

// unsent is the error for a command that was not sent to any host agent.
type unsent struct{ because *coleo.Error }

// Error returns a message that says that nothing was done.
func (u unsent) Error() string { return u.because.Message }

// Unwrap returns the coleo.Error with its code.
func (u unsent) Unwrap() error { return u.because }

// orderAndCatchUp sends a command about one arm to the arm's host agent. After that, it reads the
// host's new events into the store. If the command types and the arm needs a permit,
// orderAndCatchUp first gets a permit.
//
// It returns ENotFound if there is no such arm. It returns EUnproven if the arm gets no permit
// before ctx ends. It returns EExited if the arm has never run, and EUnavailable if the host agent
// cannot be asked. Other errors come from the host agent.
func (b *Brain) orderAndCatchUp(ctx context.Context, idOrName string, op bus.Op, limit time.Duration,
	in func(coleo.Arm) any, out any) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return err
	}
	if op.Types() {
		if err := b.permit(ctx, arm); err != nil {
			return err
		}
	}
	err = b.askAboutArm(ctx, arm, op, limit, in(arm), out)
	b.catchUp(ctx, arm.AgentID)
	if now := b.settledOn(ctx, arm); now != arm.AgentID {
		b.catchUp(ctx, now)
	}
	return err
}

// catchUp reads all new events of a host into the store before it returns. It stops at the first
// error.
func (b *Brain) catchUp(ctx context.Context, host string) {
	for more := host != ""; more; {
		var err error
		if more, err = b.pull(ctx, host); err != nil {
			return // the goroutine that follows the host tries again, and logs the error
		}
	}
}

func onArm(arm coleo.Arm) any { return bus.ArmOrder{Arm: arm.ID} }

// Prompt sends a prompt to an arm. The ID of the receipt is the id of the run that the
// prompt begins.
//
// Prompt returns ENotFound if there is no such arm. It returns EUnproven if the arm
// gets no permit before ctx ends. It returns EExited if the arm has never run. It
// returns EUnavailable if the host agent cannot be asked. It returns ETimeout if the
// delivery takes longer than PromptTime. Other errors come from the host agent.
//
// If Delivered is false in the error, the prompt was not delivered. Any other error
// does not say whether the prompt was delivered.
func (b *Brain) Prompt(ctx context.Context, idOrName string, p coleo.Prompt, lease string) (coleo.Receipt, error) {
	var r coleo.Receipt
	if err := b.takesFiles(ctx, idOrName, p.Files); err != nil {
		return r, refused(err)
	}
	op, text := bus.OpPrompt, p.Text
	if p.Check != nil {
		op, text = bus.OpChecked, text+string(p.Check.Input)+string(p.Check.Schema)
	}
	err := b.orderAndCatchUp(ctx, idOrName, op, PromptTime(text), func(arm coleo.Arm) any {
		return bus.PromptOrder{Arm: arm.ID, Prompt: p, Lease: lease}
	}, &r)
	return r, refused(err)
}

// PromptTime returns the time limit for the delivery of a prompt.
func PromptTime(text string) time.Duration {
	return promptTimeout + time.Duration(len(text)/1000)*promptPerKB
}

// refused sets Delivered to false in an error that proves that the prompt was not delivered. It
// returns any other error unchanged.
func refused(err error) error {
	var e *coleo.Error
	if !errors.As(err, &e) || bus.Unanswered(err) {
		return err
	}
	known := errors.As(err, new(unsent)) || bus.Unreachable(err)
	switch e.Code {
	case coleo.EPromptLost, coleo.EUnsettled, coleo.ETimeout, coleo.EExited, coleo.EInternal, coleo.EUnavailable:
		if !known {
			return err
		}
	case coleo.EConflict, coleo.EInvalid, coleo.ENotFound, coleo.EUnauthorized, coleo.EForbidden,
		coleo.ENotInstalled, coleo.EBlocked, coleo.EBusy, coleo.EUnrecognised, coleo.EStale, coleo.EUnproven,
		coleo.EUnsupported, coleo.EThreadLocked,
		coleo.ETurnAsks, coleo.ETurnFailed, coleo.ETurnInterrupted, coleo.ETurnUnproven, coleo.EAnswerUnfit:
	}
	marked := *e
	marked.Delivered = new(bool)
	return &marked
}

// Respond answers a dialog. If the fingerprint is empty, Respond answers the dialog
// that is open. It returns EStale if the dialog with the fingerprint is not open.
//
// Respond returns ENotFound if there is no such arm. It returns EUnproven if the arm
// gets no permit before ctx ends. It returns EExited if the arm has never run. It
// returns EUnavailable if the host agent cannot be asked. Other errors come from the
// host agent.
func (b *Brain) Respond(ctx context.Context, idOrName string, dialog coleo.Fingerprint, d coleo.Decision,
	lease string) error {
	return b.orderAndCatchUp(ctx, idOrName, bus.OpRespond, promptTimeout, func(arm coleo.Arm) any {
		return bus.RespondOrder{Arm: arm.ID, Dialog: dialog, Decision: d, Lease: lease}
	}, nil)
}

// Compact makes an arm's agent CLI shorten its conversation. The ID of the receipt is
// the id of the run that begins. Compact returns EUnsupported if the agent CLI cannot
// shorten a conversation, or if an older host agent does not know the command. It also
// returns the errors of Prompt.
func (b *Brain) Compact(ctx context.Context, idOrName string) (coleo.Receipt, error) {
	var r coleo.Receipt
	err := b.orderAndCatchUp(ctx, idOrName, bus.OpCompact, promptTimeout, onArm, &r)
	return r, refused(err)
}

// Interrupt stops the running turn of an arm, and returns what it has done. It returns ENotFound if
// there is no such arm. It returns EUnproven if the arm gets no permit before ctx ends. It returns
// EExited if the arm has never run. It returns EUnavailable if the host agent cannot be asked.
// Other errors come from the host agent.
func (b *Brain) Interrupt(ctx context.Context, idOrName string) (coleo.Interruption, error) {
	var out coleo.Interruption
	err := b.orderAndCatchUp(ctx, idOrName, bus.OpInterrupt, promptTimeout, onArm, &out)
	return out, err
}

// Kill ends all processes of an arm. After they have ended, Kill returns the arm's row.
// Kill returns ENotFound if there is no such arm. It returns EExited if the arm has
// never run. It returns EUnavailable if the host agent cannot be asked. Other errors
// come from the host agent.
func (b *Brain) Kill(ctx context.Context, idOrName string) (coleo.Arm, error) {
	if err := b.orderAndCatchUp(ctx, idOrName, bus.OpKill, killTimeout, onArm, nil); err != nil {
		return coleo.Arm{}, err
	}
	return b.Arm(ctx, idOrName)
}

// Remove deletes a stopped arm and its files, including the journal and the queue. It returns how
// many prompts were in the queue. It returns ENotFound if there is no such arm. It returns
// EConflict if the arm is not stopped. It also returns EConflict if the arm's worktree contains
// unsaved work and force is false. If force is true, Remove keeps the unsaved work under a git ref.
// It returns EUnavailable if the host agent cannot be asked.
func (b *Brain) Remove(ctx context.Context, idOrName string, force bool) (wire.Removed, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return wire.Removed{}, err
	}
	if !b.isOver(ctx, arm) {
		return wire.Removed{}, coleo.Errorf(coleo.EConflict, "arm %s is %s: kill it first", arm.Name, arm.Status)
	}
	var gone bus.Removed
	if arm.AgentID != "" {
		err := b.askAboutArm(ctx, arm, bus.OpRemove, removeTimeout, bus.ArmOrder{Arm: arm.ID, Force: force}, &gone)
		if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
			return wire.Removed{}, err
		}
		b.catchUp(ctx, arm.AgentID)
	}
	if err := b.forget(ctx, arm.ID); err != nil {
		return wire.Removed{}, err
	}
	b.publishRemoved(arm.ID)
	return wire.Removed{Dropped: gone.Dropped, Kept: gone.Kept}, errors.Join(b.DB.SetConfig(ctx,
		generationKey(arm.ID), ""), b.ForgetMemo(ctx, arm.ID), b.ForgetComments(ctx, arm.ID))
}

// Explain returns the evidence for the state of an arm. It returns ENotFound if there
// is no such arm. It returns EExited if the arm has no live session. It returns
// EUnavailable if the host agent cannot be asked.
func (b *Brain) Explain(ctx context.Context, idOrName string) (coleo.Explanation, error) {
	var x coleo.Explanation
	err := b.query(ctx, idOrName, bus.OpExplain, &x)
	return x, err
}

// Usage returns how many tokens an arm's conversation has used so far. It returns ENotFound if
// there is no such arm. It returns EExited if the arm has no live session. It returns EUnsupported
// if the harness does not count tokens. It returns EUnavailable if the host agent cannot be asked.
func (b *Brain) Usage(ctx context.Context, idOrName string) (coleo.Usage, error) {
	var u coleo.Usage
	err := b.query(ctx, idOrName, bus.OpUsage, &u)
	return u, err
}

// Screen returns the screen of an arm at the given time. If the time is zero, Screen returns the
// present screen. The result also includes lines that have scrolled off the top. The parameter
// history is the maximum number of these lines.
//
// Screen returns ENotFound if there is no such arm. It returns EExited if the arm has no session.
// It returns EUnsupported if the arm has no terminal. It returns EUnavailable if the host agent
// cannot be asked.
func (b *Brain) Screen(ctx context.Context, idOrName string, at time.Time, history int) (coleo.Screen, error) {
	var s coleo.Screen
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return s, err
	}
	err = b.askAboutArm(ctx, arm, bus.OpScreen, bus.DefaultTimeout,
		bus.ScreenOrder{Arm: arm.ID, At: at, History: history}, &s)
	b.catchUp(ctx, arm.AgentID) // the host agent may have recorded events before it replied
	return s, err
}

// Record returns one piece of the recording of a generation of an arm. The piece begins at a byte
// offset. Generation 0 means the newest generation.
//
// Record returns ENotFound if there is no such arm. It returns EExited if the arm has never run. It
// returns EInvalid if there is no recording of the generation. It returns EUnsupported if the arm
// has no terminal. It returns EUnavailable if the host agent cannot be asked.
func (b *Brain) Record(ctx context.Context, idOrName string, generation int, offset int64) (coleo.Recording, error) {
	var r coleo.Recording
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return r, err
	}
	err = b.askAboutArm(ctx, arm, bus.OpRecord, bus.DefaultTimeout,
		bus.RecordOrder{Arm: arm.ID, Generation: generation, From: offset}, &r)
	return r, err
}

func (b *Brain) query(ctx context.Context, idOrName string, op bus.Op, out any) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return err
	}
	err = b.askAboutArm(ctx, arm, op, bus.DefaultTimeout, onArm(arm), out)
	b.catchUp(ctx, arm.AgentID) // the host agent may have recorded events before it replied
	return err
}

// Output returns a piece of an arm's terminal output. The piece begins at a byte offset. A negative
// offset counts from the end of the output. If there is no output at the offset yet, Output waits
// for output, but not longer than longestWait.
//
// Output returns ENotFound if there is no such arm. It returns EExited if the arm has never run. It
// returns EUnavailable if the host agent cannot be asked.
func (b *Brain) Output(ctx context.Context, idOrName string, offset int64, longestWait time.Duration) (
	coleo.Output, error) {
	var out coleo.Output
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return out, err
	}
	err = b.askAboutArm(ctx, arm, bus.OpOutput, longestWait+bus.DefaultTimeout,
		bus.OutputOrder{Arm: arm.ID, From: offset, Wait: longestWait}, &out)
	return out, err
}

// Input types bytes into an arm, for a caller that types by hand. It returns ENotFound if there is
// no such arm. It returns EBusy if leaseID is not the id of the arm's lease. It returns EExited if
// the arm has no live session. It returns EUnavailable if the host agent cannot be asked. It
// returns EUnproven if the arm gets no permit before ctx ends.
func (b *Brain) Input(ctx context.Context, idOrName, leaseID string, data []byte) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return err
	}
	if err := b.permit(ctx, arm); err != nil {
		return err
	}
	return b.askAboutArm(ctx, arm, bus.OpInput, bus.DefaultTimeout,
		bus.InputOrder{Arm: arm.ID, Lease: leaseID, Data: data}, nil)
}

// Resize changes the size of an arm's terminal, in cells. It returns ENotFound if there is no such
// arm. It returns EBusy if leaseID is not the id of the arm's lease. It returns EExited if the arm
// has no live session. It returns EUnavailable if the host agent cannot be asked.
func (b *Brain) Resize(ctx context.Context, idOrName, leaseID string, cols, rows int) error {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return err
	}
	return b.askAboutArm(ctx, arm, bus.OpResize, bus.DefaultTimeout,
		bus.ResizeOrder{Arm: arm.ID, Lease: leaseID, Cols: cols, Rows: rows}, nil)
}

// Lease takes, renews or releases the lease of an arm. The lease is the right to type by hand.
// Lease returns ENotFound if there is no such arm. It returns EBusy while another caller has the
// lease. It returns EExited if the arm has never run. It returns EUnavailable if the host agent
// cannot be asked.
func (b *Brain) Lease(ctx context.Context, idOrName string, q wire.LeaseRequest) (coleo.Lease, error) {
	var l coleo.Lease
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return l, err
	}
	err = b.askAboutArm(ctx, arm, bus.OpLease, bus.DefaultTimeout,
		bus.LeaseOrder{Arm: arm.ID, ID: q.ID, Holder: q.Holder, Release: q.Release}, &l)
	return l, err
}

// BeginAudit records a command before the command is carried out. In the record, BeginAudit
// replaces the arm's id with the arm's name. It returns the id of the record.
func (b *Brain) BeginAudit(ctx context.Context, a coleo.Audit) (int64, error) {
	a.Arm = b.nameOf(ctx, a.Arm)
	return b.DB.BeginAudit(ctx, a)
}

// EndAudit records the result of a command. If the command failed, the caller also passes the
// reason.
func (b *Brain) EndAudit(ctx context.Context, id int64, result coleo.AuditResult, reason string) error {
	return b.DB.EndAudit(ctx, id, result, reason)
}

// nameOf returns the name of the arm with the given id or name. If there is no such arm, nameOf
// returns its argument unchanged.
func (b *Brain) nameOf(ctx context.Context, word string) string {
	if arm, err := b.DB.Arm(ctx, word); err == nil {
		return arm.Name
	}
	return word
}

// Audits returns the records of the commands that match f, newest first.
func (b *Brain) Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error) {
	f.Arm = b.nameOf(ctx, f.Arm)
	return b.DB.Audits(ctx, f)
}
