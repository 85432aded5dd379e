package api

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"coleo.dev"
	"coleo.dev/wire"
)

// Brain carries out the requests of the routes. Each method that works on one arm takes
// the arm's id or name. Errors that users may see have the type *coleo.Error. Any other
// error counts as EInternal.
type Brain interface {
	// Arms returns the arms. If all is false, it leaves out the arms that a person
	// drives by hand and that have no task.
	Arms(ctx context.Context, all bool) ([]coleo.Arm, error)
	// Arm returns one arm. It returns ENotFound if there is no such arm.
	Arm(ctx context.Context, arm string) (coleo.Arm, error)
	// Spawn starts the arm called r.Name. If there is no such arm, Spawn creates it. It
	// returns EConflict if the arm already runs.
	Spawn(ctx context.Context, r wire.SpawnRequest) (wire.SpawnReply, error)
	// Recover brings an arm back. It returns EUnavailable if the arm cannot be brought
	// back.
	Recover(ctx context.Context, arm string, r wire.RecoverRequest) (wire.SpawnReply, error)
	// Kill ends an arm's whole process tree. Then it returns the arm's row.
	Kill(ctx context.Context, arm string) (coleo.Arm, error)
	// Remove forgets a stopped arm. It returns EConflict if the arm runs.
	Remove(ctx context.Context, arm string) error
	// Rename gives an arm another name. It returns EConflict if another arm already has
	// this name.
	Rename(ctx context.Context, arm, name string) (coleo.Arm, error)

	// Prompt sends a prompt and waits for proof that it has been delivered. The
	// receipt's ID is the id of the run that the prompt starts.
	Prompt(ctx context.Context, arm string, p coleo.Prompt, lease string) (coleo.Receipt, error)
	// Compact makes the agent CLI shorten its conversation. It waits for proof that the
	// agent CLI has begun. The receipt's ID is the id of the run that this starts.
	Compact(ctx context.Context, arm string) (coleo.Receipt, error)
	// OpenWindow opens the window of an arm that is shown in one. It returns EConflict if
	// the window is open.
	OpenWindow(ctx context.Context, arm string, r wire.WindowRequest) (coleo.Arm, error)
	// Respond answers a dialog. If the fingerprint is empty, Respond answers the open
	// dialog.
	Respond(ctx context.Context, arm string, dialog coleo.Fingerprint, d coleo.Decision, lease string) error
	// Interrupt stops the running turn, and returns what was done.
	Interrupt(ctx context.Context, arm string) (coleo.Interruption, error)

	// LastRun returns the arm's most recently ended run. It returns ENotFound if no run
	// of the arm has ended.
	LastRun(ctx context.Context, arm string) (wire.LastRun, error)
	// Usage returns the tokens that the arm's conversation has used.
	Usage(ctx context.Context, arm string) (coleo.Usage, error)
	// Explain returns the evidence behind the arm's state.
	Explain(ctx context.Context, arm string) (coleo.Explanation, error)
	// Screen returns the arm's present screen. If at is not zero, it returns the screen
	// as it was at that time. The screen includes up to history lines that have
	// scrolled away.
	Screen(ctx context.Context, arm string, at time.Time, history int) (coleo.Screen, error)
	// Record returns one piece of the recording of the arm's generation, starting at
	// the offset from. Generation 0 means the arm's last generation.
	Record(ctx context.Context, arm string, generation int, from int64) (coleo.Recording, error)
	// Output returns terminal output, starting at the offset from. A negative offset
	// counts from the end of the output. If there is no output yet, Output waits for
	// it, but at most for wait. If none comes, Output returns a piece without data.
	Output(ctx context.Context, arm string, from int64, wait time.Duration) (coleo.Output, error)
	// Input types raw keys. It returns EBusy if lease is not the id of the arm's lease.
	Input(ctx context.Context, arm string, lease string, data []byte) error
	// Resize changes the size of the terminal, in cells. It returns EBusy if lease is
	// not the id of the arm's lease.
	Resize(ctx context.Context, arm string, lease string, cols, rows int) error
	// Lease takes, renews or releases the right to type by hand. It returns EBusy while
	// somebody else has the lease.
	Lease(ctx context.Context, arm string, r wire.LeaseRequest) (coleo.Lease, error)

	// WaitArm waits until the arm is in one of the states, or ctx ends.
	WaitArm(ctx context.Context, arm string, states []coleo.State) (coleo.Arm, error)
	// WaitRun waits until a run has ended. Then it returns the end of the run. If ctx
	// ends first, WaitRun returns ETimeout or ctx's error.
	WaitRun(ctx context.Context, run string) (coleo.RunEnd, error)
	// Events returns events in order. It also returns the cursor with which the next
	// call continues.
	Events(ctx context.Context, f wire.EventFilter) (list []coleo.Event, next string, err error)
	// Subscribe returns a sequence that lasts until ctx ends. The sequence has each
	// event that follows the given cursor once, with the event's own cursor. It also
	// has the arms that change after the call. The empty cursor means now. If a reader
	// falls too far behind, its sequence ends early. Subscribe returns EInvalid for a
	// bad cursor.
	Subscribe(ctx context.Context, after string) (iter.Seq[wire.Update], error)

	// BeginAudit records a command that is about to be carried out.
	BeginAudit(ctx context.Context, a coleo.Audit) (id int64, err error)
	// EndAudit records the result of a command. If the command failed, why is the
	// reason.
	EndAudit(ctx context.Context, id int64, result coleo.AuditResult, why string) error
	// Audits returns the records of the commands that match f, newest first.
	Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error)

	// Hosts returns the host agents.
	Hosts(ctx context.Context) ([]coleo.HostInfo, error)
	// Providers returns the body of the route for model catalogues.
	Providers(ctx context.Context) (json.RawMessage, error)
	// Harnesses returns descriptions of the harnesses.
	Harnesses(ctx context.Context) ([]coleo.Info, error)
}
