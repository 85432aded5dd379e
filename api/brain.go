package api

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"coleo.dev"
)

// Brain is what the routes stand in front of. Where a method takes an arm, it
// takes its id or its name. Errors that users shall see are *coleo.Error; any
// other error counts as EInternal.
type Brain interface {
	// Arms lists the arms that are not removed. Without all, those that nobody
	// drives and that have no task are left out.
	Arms(ctx context.Context, all bool) ([]coleo.Arm, error)
	Arm(ctx context.Context, arm string) (coleo.Arm, error)
	// Spawn starts the arm called r.Name, which is made when it is missing, and
	// refused with EConflict when it already runs.
	Spawn(ctx context.Context, r coleo.SpawnRequest) (coleo.SpawnReply, error)
	Recover(ctx context.Context, arm string, r coleo.RecoverRequest) (coleo.SpawnReply, error)
	Kill(ctx context.Context, arm string) (coleo.Arm, error)
	Remove(ctx context.Context, arm string) error
	// Rename gives an arm another name. It is refused with EConflict when another
	// arm has that name.
	Rename(ctx context.Context, arm, name string) (coleo.Arm, error)

	// Prompt returns when the prompt has verifiably been taken. The receipt's
	// ID names the run that it started.
	Prompt(ctx context.Context, arm string, p coleo.Prompt, lease string) (coleo.Receipt, error)
	Respond(ctx context.Context, arm string, dialog coleo.Fingerprint, d coleo.Decision, lease string) error
	Interrupt(ctx context.Context, arm string) error

	// LastRun returns the run that the arm has ended last.
	LastRun(ctx context.Context, arm string) (coleo.LastRun, error)
	Usage(ctx context.Context, arm string) (coleo.Usage, error)
	Explain(ctx context.Context, arm string) (coleo.Explanation, error)
	// Screen returns what the arm's terminal shows, or showed at a time that
	// is not zero.
	Screen(ctx context.Context, arm string, at time.Time, history int) (coleo.Screen, error)
	// Record returns the piece of a recording of the arm's generation, 0 for the
	// last, that begins at an offset.
	Record(ctx context.Context, arm string, generation int, from int64) (coleo.Recording, error)
	// Output returns terminal output from an offset on; an offset below 0 is
	// counted from the end. It waits up to wait for some, and returns a piece
	// without data when none came.
	Output(ctx context.Context, arm string, from int64, wait time.Duration) (coleo.Output, error)
	Input(ctx context.Context, arm string, lease string, data []byte) error
	Resize(ctx context.Context, arm string, lease string, cols, rows int) error
	Lease(ctx context.Context, arm string, r coleo.LeaseRequest) (coleo.Lease, error)

	// WaitArm returns when the arm's state is one of those, or ctx ends.
	WaitArm(ctx context.Context, arm string, states []coleo.State) (coleo.Arm, error)
	// WaitRun returns the end of a run, or ctx's error when that ends first.
	WaitRun(ctx context.Context, run string) (coleo.RunEnd, error)
	// Events returns events in their order, and the cursor behind the last one.
	Events(ctx context.Context, f coleo.EventFilter) (list []coleo.Event, next string, err error)
	// Subscribe yields what happens after the call of Subscribe, until ctx ends. A reader that
	// falls too far behind is cut off: the sequence ends while ctx goes on.
	Subscribe(ctx context.Context) iter.Seq[coleo.Update]

	// BeginAudit writes down a command that is about to be carried out.
	BeginAudit(ctx context.Context, a coleo.Audit) (id int64, err error)
	// EndAudit writes down what came of it, and why where it failed.
	EndAudit(ctx context.Context, id int64, result coleo.AuditResult, why string) error
	// Audits returns the commands that a filter picks, the newest first.
	Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error)

	Hosts(ctx context.Context) ([]coleo.HostInfo, error)
	// Providers returns the body of the published route for model catalogues.
	Providers(ctx context.Context) (json.RawMessage, error)
	Harnesses(ctx context.Context) ([]coleo.Info, error)
}
