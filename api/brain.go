// Package api offers the brain over HTTP and WebSocket to the dashboard, to the CLI and to other
// programs. The CLI uses the client in package apiclient.
//
// Package api makes no decisions about arms. Each route calls one method of the Brain. The package
// decides who can call, how large and how slow a request can be, and which HTTP status an error
// gets.
package api

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/cost"
	"coleo.dev/display"
	"coleo.dev/graph"
	"coleo.dev/wire"
)

// Brain carries out the requests of the routes. A method for one arm takes the id or the name of
// the arm. Errors for users have the type *coleo.Error. Any other error is reported as EInternal.
type Brain interface {
	// Arms returns the arms. Unless withIdle is true, Arms leaves out idle arms of the harness
	// "manual" that have no task.
	Arms(ctx context.Context, withIdle bool) ([]coleo.Arm, error)
	// Arm returns one arm. It returns ENotFound if there is no such arm.
	Arm(ctx context.Context, arm string) (coleo.Arm, error)
	// Spawn starts the arm with the name r.Name. If there is no such arm, Spawn creates
	// it. Spawn returns EConflict if the arm is running.
	Spawn(ctx context.Context, r wire.SpawnRequest) (wire.SpawnReply, error)
	// Memo returns the memo of an arm, which is a JSON value that is kept with the arm.
	Memo(ctx context.Context, arm string) (wire.Memo, error)
	// SetMemo replaces the memo of an arm, and PatchMemo changes a part of the memo. If the result
	// does not fit the memo's schema, both return EInvalid and do not change the memo.
	SetMemo(ctx context.Context, arm string, value json.RawMessage) (wire.Memo, error)
	PatchMemo(ctx context.Context, arm string, patch json.RawMessage) (wire.Memo, error)
	// Recover makes an arm work again. It returns EUnavailable if the arm cannot be recovered.
	Recover(ctx context.Context, arm string, r wire.RecoverRequest) (wire.SpawnReply, error)
	// Kill ends all processes of an arm. After the processes have ended, Kill returns the arm's
	// row.
	Kill(ctx context.Context, arm string) (coleo.Arm, error)
	// Remove deletes a stopped arm. It returns EConflict if the arm is running. If `forced` is false, Remove
	// also returns EConflict if the arm's worktree contains unsaved work. If `forced` is true, Remove keeps
	// the unsaved work under a git ref.
	Remove(ctx context.Context, arm string, forced bool) (wire.Removed, error)
	// Label changes the labels of an arm, and returns the arm. It returns EInvalid for a bad
	// label.
	Label(ctx context.Context, idOrName string, change coleo.LabelChange) (coleo.Arm, error)
	// Budget sets the budget of an arm if o contains a budget, and returns all budgets of the arm.
	// It returns EUnsupported if the arm cannot be held to the budget.
	Budget(ctx context.Context, idOrName string, o coleo.BudgetOrder) (coleo.BudgetReport, error)
	// OnLimit changes what an arm does at a limit of its model, and returns the resulting setting.
	// If newValue is "", OnLimit only returns the present setting. It returns EInvalid or
	// EUnsupported if the list contains an alternative that the arm can never use.
	OnLimit(ctx context.Context, idOrName string, newValue coleo.OnLimit) (coleo.OnLimitReport, error)
	// Rename changes the name of an arm. It returns EConflict if another arm has the
	// new name.
	Rename(ctx context.Context, arm, name string) (coleo.Arm, error)

	// Prompt sends a prompt and waits for proof that the prompt was delivered. The ID
	// of the receipt is the id of the run that the prompt begins.
	Prompt(ctx context.Context, arm string, p coleo.Prompt, lease string) (coleo.Receipt, error)
	// Compact makes the agent CLI shorten its conversation, and waits for proof that
	// the agent CLI has begun. The ID of the receipt is the id of the run that begins.
	Compact(ctx context.Context, arm string) (coleo.Receipt, error)
	// Steer sends a prompt at once, even during a turn. The result says how the prompt reached the
	// agent CLI.
	Steer(ctx context.Context, arm string, p coleo.Prompt) (coleo.Steering, error)
	// Abort stops the running turn. If the queue is not empty, Abort also pauses the queue.
	Abort(ctx context.Context, arm string) (coleo.Aborted, error)
	// Queue changes the queue of the arm. If o.Step is empty, Queue only returns the present queue.
	// A change is durable when Queue returns.
	Queue(ctx context.Context, arm string, o coleo.QueueOrder) (coleo.QueueReport, error)
	// Modes returns the modes of an arm, and the arm's present mode.
	Modes(ctx context.Context, arm string) (wire.Modes, error)
	// SwitchMode switches an arm to another mode. It returns when the screen shows the new mode.
	SwitchMode(ctx context.Context, arm string, o coleo.ModeOrder) (coleo.ModeSwitch, error)
	// SwitchModel gives an arm another model.
	SwitchModel(ctx context.Context, arm string, o coleo.ModelOrder) (coleo.ModelSwitch, error)
	// OpenWindow opens the window of an arm. It returns EConflict if the window is already open.
	OpenWindow(ctx context.Context, arm string, r wire.WindowRequest) (coleo.Arm, error)
	// Respond answers a dialog. If the fingerprint is empty, Respond answers the dialog
	// that is open.
	Respond(ctx context.Context, arm string, dialog coleo.Fingerprint, d coleo.Decision, lease string) error
	// Suspensions returns everything that an arm waits for. Without the name of an arm, it returns
	// everything that any arm waits for.
	Suspensions(ctx context.Context, arm string) ([]coleo.Suspension, error)
	// AnswerSuspension answers one suspension of an arm. Without an id, exactly one suspension of
	// the arm must be open. If several suspensions are open, AnswerSuspension returns EConflict
	// with the list of suspensions.
	AnswerSuspension(ctx context.Context, arm, id string, d coleo.Decision, by string) (coleo.Suspension, error)
	// Tasks returns the tasks that the arm's model has written with Coleo's tools.
	Tasks(ctx context.Context, arm string) ([]coleo.Task, error)
	// Interrupt stops the running turn, and returns the steps that it took to stop the turn.
	Interrupt(ctx context.Context, arm string) (coleo.Interruption, error)

	// LastRun returns the newest ended run of the arm. It returns ENotFound if no run
	// of the arm has ended.
	LastRun(ctx context.Context, arm string) (wire.LastRun, error)
	// Usage returns the tokens that the arm's conversation has used so far.
	Usage(ctx context.Context, arm string) (coleo.Usage, error)
	// Explain returns the evidence for the arm's state.
	Explain(ctx context.Context, arm string) (coleo.Explanation, error)
	// Screen returns the screen of the arm at the given time. If the time is zero, Screen returns
	// the present screen. The result also contains at most maxHistory lines that have scrolled off
	// the top.
	Screen(ctx context.Context, arm string, at time.Time, maxHistory int) (coleo.Screen, error)
	// Record returns one piece of the recording of a generation of the arm. The piece begins at the
	// given byte offset. Generation 0 means the newest generation.
	Record(ctx context.Context, arm string, generation int, offset int64) (coleo.Recording, error)
	// Output returns a piece of terminal output, which begins at the given byte offset. A negative
	// offset counts from the end of the output. If there is no output at the offset yet, Output
	// waits at most maxWait for new output. If none comes, Output returns a piece without data.
	Output(ctx context.Context, arm string, offset int64, maxWait time.Duration) (coleo.Output, error)
	// Input types the given bytes into the arm's terminal. It returns EBusy if the arm's lease does not have
	// the given id.
	Input(ctx context.Context, arm string, leaseID string, data []byte) error
	// Resize changes the size of the terminal, in cells. It returns EBusy if the arm's lease does
	// not have the given id.
	Resize(ctx context.Context, arm string, leaseID string, cols, rows int) error
	// Lease takes, renews or releases the lease of the arm. The lease is the right to type by hand.
	// Lease returns EBusy while another caller has the lease.
	Lease(ctx context.Context, arm string, r wire.LeaseRequest) (coleo.Lease, error)

	// WaitArm waits until the arm is in one of the states, or until ctx ends.
	WaitArm(ctx context.Context, arm string, states []coleo.State) (coleo.Arm, error)
	// WaitRun waits until a run has ended, and returns the end of the run. If ctx ends
	// first, WaitRun returns ETimeout or ctx's error.
	WaitRun(ctx context.Context, run string) (coleo.RunEnd, error)
	// Runs returns the runs that match a filter, newest first. It also returns the cursor for the
	// next call.
	Runs(ctx context.Context, f wire.RunFilter) (list []coleo.Run, next string, err error)
	// FindRun returns the run whose id begins with the given text. It returns EInvalid if several
	// ids begin with this text.
	FindRun(ctx context.Context, id string) (coleo.Run, error)
	// Events returns the events that match a filter, in order. It also returns the cursor for the
	// next call.
	Events(ctx context.Context, f wire.EventFilter) (list []coleo.Event, next string, err error)
	// WholeFilter returns a filter with the complete ids of its arm and its run. It returns
	// EInvalid for an unknown kind, and ENotFound for an unknown arm or run.
	WholeFilter(ctx context.Context, f wire.EventFilter) (wire.EventFilter, error)
	// Follow returns a sequence of the events that match a filter. The sequence ends when ctx ends.
	// When the sequence has yielded all events so far, it yields an update with only a cursor.
	// While it waits for new events, it yields such an update again at intervals of beatEvery. Even
	// a slow reader receives every event.
	Follow(ctx context.Context, f wire.EventFilter, beatEvery time.Duration) (iter.Seq[wire.Update], error)
	// Subscribe returns a sequence of updates, which ends when ctx ends. The sequence contains each
	// event after the given cursor once, together with the event's own cursor. It also contains
	// each arm that changes after the call of Subscribe. If the given cursor is empty, the sequence
	// begins with the next new event. A slow reader receives every event, but not every change of
	// an arm. Subscribe returns EInvalid for a bad cursor.
	Subscribe(ctx context.Context, after string) (iter.Seq[wire.Update], error)

	// Display returns a snapshot that shows people what an arm is doing.
	Display(ctx context.Context, arm string) (display.Snapshot, error)
	// Displays returns a sequence of snapshots, which ends when ctx ends. The sequence contains a
	// snapshot of each arm that changes after the call. Several changes within display.Window
	// become one snapshot. A slow reader receives fewer snapshots.
	Displays(ctx context.Context) iter.Seq[display.Snapshot]

	// Diff returns the changes that an arm has made in its folder. If withCalls is true, each hunk
	// names the tool call of the arm that made the hunk.
	Diff(ctx context.Context, arm string, w changes.DiffRequest, withCalls bool) (changes.Diff, error)
	// Checkpoints returns the checkpoints of an arm's files, in order.
	Checkpoints(ctx context.Context, arm string) ([]changes.Checkpoint, error)
	// Restore replaces the files in the arm's folder with the files of a checkpoint. It returns
	// EBusy if an arm in the same repository could be changing files.
	Restore(ctx context.Context, arm string, n int) (changes.Restored, error)

	// Merge merges the work of an arm into another branch. If there are conflicts, Merge changes
	// nothing, and the result contains the conflicts. If promptArm is true, Merge then sends the
	// conflicts to the arm as one prompt.
	Merge(ctx context.Context, arm string, w changes.MergeRequest, by string, promptArm bool) (changes.Merged, error)

	// Comments returns the unsent comments on an arm's changes.
	Comments(ctx context.Context, arm string) ([]changes.Comment, error)
	// Comment stores a new comment, and returns all comments. DropComments deletes all comments,
	// and returns the deleted comments.
	Comment(ctx context.Context, arm string, c changes.Comment) ([]changes.Comment, error)
	DropComments(ctx context.Context, arm string) ([]changes.Comment, error)
	// SendComments sends all comments as one prompt. If this fails, all comments are kept.
	SendComments(ctx context.Context, arm string) (changes.Sent, error)

	// Graph returns the graph of a run. It returns ENotFound if the log contains no such run.
	Graph(ctx context.Context, run string) (graph.Document, error)
	// Why returns the call that wrote a line of a file.
	Why(ctx context.Context, q wire.WhyQuestion) (graph.Answer, error)

	Threads

	// BeginAudit records a command before the command is carried out.
	BeginAudit(ctx context.Context, a coleo.Audit) (id int64, err error)
	// EndAudit records the result of a command, and the reason if the command failed.
	EndAudit(ctx context.Context, id int64, result coleo.AuditResult, reason string) error
	// Audits returns the records of the commands that match f, newest first.
	Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error)

	// Hosts returns the host agents.
	Hosts(ctx context.Context) ([]coleo.HostInfo, error)
	// Cost returns what arms have cost since a given time, grouped by the given keys. If an arm is
	// named, the report covers only that arm.
	Cost(ctx context.Context, arm string, by []cost.Key, since time.Time) (cost.Report, error)
	// Models returns the models, with the number of arms that use each model. It also returns the
	// agent CLIs to which a user is logged in.
	Models(ctx context.Context) (wire.Models, error)
	// Providers returns the model catalogue as JSON, ready to be the body of the route's answer.
	Providers(ctx context.Context) (json.RawMessage, error)
	// Harnesses returns the descriptions of all harnesses.
	Harnesses(ctx context.Context) ([]coleo.Info, error)
}
