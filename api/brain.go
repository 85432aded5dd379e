// Package api offers the brain over HTTP and WebSocket to the dashboard, to the CLI and
// to other programs. It also has the client for Go, which the CLI uses.
//
// Package api makes no decisions about arms. Each route calls one method of the Brain. The package
// decides who is allowed to call, how large and how slow a request can be, and which HTTP status
// belongs to an error.
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

// Brain carries out the requests of the routes. A method for one arm takes the id or
// the name of the arm. Errors for users have the type *coleo.Error. Any other error
// counts as EInternal.
type Brain interface {
	// Arms returns the arms. If all is false, Arms leaves out idle arms of the harness
	// "manual" that have no task.
	Arms(ctx context.Context, all bool) ([]coleo.Arm, error)
	// Arm returns one arm. It returns ENotFound if there is no such arm.
	Arm(ctx context.Context, arm string) (coleo.Arm, error)
	// Spawn starts the arm with the name r.Name. If there is no such arm, Spawn creates
	// it. Spawn returns EConflict if the arm is running.
	Spawn(ctx context.Context, r wire.SpawnRequest) (wire.SpawnReply, error)
	// Memo returns the JSON value that is kept with an arm.
	Memo(ctx context.Context, arm string) (wire.Memo, error)
	// SetMemo replaces that value, and PatchMemo changes a part of it. They return EInvalid
	// if the result does not fit the memo's schema, and then the memo is unchanged.
	SetMemo(ctx context.Context, arm string, value json.RawMessage) (wire.Memo, error)
	PatchMemo(ctx context.Context, arm string, patch json.RawMessage) (wire.Memo, error)
	// Recover makes an arm work again. It returns EUnavailable if this is impossible.
	Recover(ctx context.Context, arm string, r wire.RecoverRequest) (wire.SpawnReply, error)
	// Kill ends all processes of an arm. After they have ended, it returns the arm's
	// row.
	Kill(ctx context.Context, arm string) (coleo.Arm, error)
	// Remove deletes a stopped arm. It returns EConflict if the arm is running, or if its
	// worktree has unsaved work. With force, such work is kept under a ref.
	Remove(ctx context.Context, arm string, force bool) (wire.Removed, error)
	// Label changes the labels of an arm, and returns the arm. It returns EInvalid for a bad
	// label.
	Label(ctx context.Context, idOrName string, change coleo.LabelChange) (coleo.Arm, error)
	// Budget gives an arm a budget, or only tells its budgets. It returns EUnsupported if
	// the budget cannot be kept.
	Budget(ctx context.Context, idOrName string, o coleo.BudgetOrder) (coleo.BudgetReport, error)
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
	// Abort stops the running turn, and pauses a queue that is not empty.
	Abort(ctx context.Context, arm string) (coleo.Aborted, error)
	// Queue changes the queue of the arm, or asks for it if o.Step is empty. A change is
	// durable when Queue returns.
	Queue(ctx context.Context, arm string, o coleo.QueueOrder) (coleo.QueueReport, error)
	// Modes returns the modes of an arm, and the present one.
	Modes(ctx context.Context, arm string) (wire.Modes, error)
	// SwitchMode switches an arm to another mode, and returns when the screen shows it.
	SwitchMode(ctx context.Context, arm string, o coleo.ModeOrder) (coleo.ModeSwitch, error)
	// SwitchModel gives an arm another model.
	SwitchModel(ctx context.Context, arm string, o coleo.ModelOrder) (coleo.ModelSwitch, error)
	// OpenWindow opens the window of an arm. It returns EConflict if the window is already open.
	OpenWindow(ctx context.Context, arm string, r wire.WindowRequest) (coleo.Arm, error)
	// Respond answers a dialog. If the fingerprint is empty, Respond answers the dialog
	// that is open.
	Respond(ctx context.Context, arm string, dialog coleo.Fingerprint, d coleo.Decision, lease string) error
	// Suspensions returns everything for which an arm waits, or all arms for "".
	Suspensions(ctx context.Context, arm string) ([]coleo.Suspension, error)
	// AnswerSuspension answers one suspension. Without an id, exactly one suspension of the arm
	// must be open. Otherwise it returns EConflict with the list.
	AnswerSuspension(ctx context.Context, arm, id string, d coleo.Decision, by string) (coleo.Suspension, error)
	// Tasks returns the tasks that the arm's model has written with Coleo's tools.
	Tasks(ctx context.Context, arm string) ([]coleo.Task, error)
	// Interrupt stops the running turn, and returns what was done.
	Interrupt(ctx context.Context, arm string) (coleo.Interruption, error)

	// LastRun returns the newest ended run of the arm. It returns ENotFound if no run
	// of the arm has ended.
	LastRun(ctx context.Context, arm string) (wire.LastRun, error)
	// Usage returns the tokens that the arm's conversation has used so far.
	Usage(ctx context.Context, arm string) (coleo.Usage, error)
	// Explain returns the evidence for the arm's state.
	Explain(ctx context.Context, arm string) (coleo.Explanation, error)
	// Screen returns the screen of the arm at the given time. If at is zero, Screen
	// returns the present screen. The screen includes up to history lines that have
	// scrolled off the top.
	Screen(ctx context.Context, arm string, at time.Time, history int) (coleo.Screen, error)
	// Record returns one piece of the recording of a generation of the arm. The piece
	// begins at the byte offset from. Generation 0 means the newest generation.
	Record(ctx context.Context, arm string, generation int, from int64) (coleo.Recording, error)
	// Output returns a piece of terminal output, which begins at the given byte offset.
	// A negative offset counts from the end of the output. If there is no output at the
	// offset yet, Output waits for output, but not longer than wait. If there is still
	// no output, it returns a piece without data.
	Output(ctx context.Context, arm string, from int64, wait time.Duration) (coleo.Output, error)
	// Input types bytes by hand. It returns EBusy if the argument lease is not the id of the arm's
	// lease.
	Input(ctx context.Context, arm string, lease string, data []byte) error
	// Resize changes the size of the terminal, in cells. It returns EBusy if the argument lease is
	// not the id of the arm's lease.
	Resize(ctx context.Context, arm string, lease string, cols, rows int) error
	// Lease takes, renews or releases the lease of the arm, which is the right to type by hand. It
	// returns EBusy while another caller has the lease.
	Lease(ctx context.Context, arm string, r wire.LeaseRequest) (coleo.Lease, error)

	// WaitArm waits until the arm is in one of the states, or until ctx ends.
	WaitArm(ctx context.Context, arm string, states []coleo.State) (coleo.Arm, error)
	// WaitRun waits until a run has ended, and returns the end of the run. If ctx ends
	// first, WaitRun returns ETimeout or ctx's error.
	WaitRun(ctx context.Context, run string) (coleo.RunEnd, error)
	// Runs returns runs, the newest first, and the cursor for the next call.
	Runs(ctx context.Context, f wire.RunFilter) (list []coleo.Run, next string, err error)
	// FindRun returns the run whose id begins with the given text. It returns EInvalid if
	// several runs have such ids.
	FindRun(ctx context.Context, id string) (coleo.Run, error)
	// Events returns events in order, and the cursor for the next call.
	Events(ctx context.Context, f wire.EventFilter) (list []coleo.Event, next string, err error)
	// WholeFilter completes the ids in a filter. It returns EInvalid for an unknown kind, and
	// ENotFound for an unknown arm or run.
	WholeFilter(ctx context.Context, f wire.EventFilter) (wire.EventFilter, error)
	// Follow returns a sequence of the events that match a filter. It ends when ctx ends. When it
	// has nothing more to yield, and at least once in the time beat, it yields an update with only
	// a cursor. The reader can be slow.
	Follow(ctx context.Context, f wire.EventFilter, beat time.Duration) (iter.Seq[wire.Update], error)
	// Subscribe returns a sequence of updates. It ends when ctx ends. It has each event after the
	// given cursor, once, with its own cursor. It also has each arm that changes after the call of
	// Subscribe. If the given cursor is empty, the sequence begins with the next new event. A slow
	// reader gets every event, but not every change of an arm. Subscribe returns EInvalid for a bad
	// cursor.
	Subscribe(ctx context.Context, after string) (iter.Seq[wire.Update], error)

	// Display returns what an arm does, in one picture for people.
	Display(ctx context.Context, arm string) (display.Snapshot, error)
	// Displays returns a sequence of snapshots. It ends when ctx ends. It has a snapshot of each
	// arm that changes after the call. Changes within display.Window become one snapshot. A slow
	// reader gets fewer snapshots.
	Displays(ctx context.Context) iter.Seq[display.Snapshot]

	// Diff returns the changes of an arm in its folder. If why is true, each hunk has the call of
	// the arm that made it.
	Diff(ctx context.Context, arm string, w changes.Wish, why bool) (changes.Diff, error)
	// Checkpoints returns the checkpoints of an arm's files, in order.
	Checkpoints(ctx context.Context, arm string) ([]changes.Checkpoint, error)
	// Restore puts the files of a checkpoint back. It returns EBusy if an arm in the same
	// repository may change files.
	Restore(ctx context.Context, arm string, n int) (changes.Restored, error)

	// Merge merges the work of an arm into another branch. If there are conflicts, the result
	// has them, and nothing was changed. With ask, they then go to the arm as one prompt.
	Merge(ctx context.Context, arm string, w changes.MergeWish, by string, ask bool) (changes.Merged, error)

	// Comments returns the comments on an arm's changes that are not sent yet.
	Comments(ctx context.Context, arm string) ([]changes.Comment, error)
	// Comment stores a new comment, and returns all comments. DropComments deletes all comments,
	// and returns them.
	Comment(ctx context.Context, arm string, c changes.Comment) ([]changes.Comment, error)
	DropComments(ctx context.Context, arm string) ([]changes.Comment, error)
	// SendComments sends all comments as one prompt. After an error they are all kept.
	SendComments(ctx context.Context, arm string) (changes.Sent, error)

	// Graph returns the graph of a run. It returns ENotFound if the log has no such run.
	Graph(ctx context.Context, run string) (graph.Document, error)
	// Why tells which call wrote a line of a file.
	Why(ctx context.Context, q wire.WhyQuestion) (graph.Answer, error)

	Threads

	// BeginAudit records a command before the command is carried out.
	BeginAudit(ctx context.Context, a coleo.Audit) (id int64, err error)
	// EndAudit records the result of a command. If the command failed, the argument why is the
	// reason.
	EndAudit(ctx context.Context, id int64, result coleo.AuditResult, why string) error
	// Audits returns the records of the commands that match f, newest first.
	Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error)

	// Hosts returns the host agents.
	Hosts(ctx context.Context) ([]coleo.HostInfo, error)
	// Cost returns the costs of arms since a time, grouped by keys. If arm is not empty, only that
	// arm counts.
	Cost(ctx context.Context, arm string, by []cost.Key, since time.Time) (cost.Report, error)
	// Models returns the models, who is logged in, and how many arms have each model.
	Models(ctx context.Context) (wire.Models, error)
	// Providers returns the body of the route for model catalogues.
	Providers(ctx context.Context) (json.RawMessage, error)
	// Harnesses returns the descriptions of all harnesses.
	Harnesses(ctx context.Context) ([]coleo.Info, error)
}
