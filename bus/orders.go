package bus

import (
	"time"

	"coleo.dev"
)

// Op is the name of an order to a host agent. The comment of each op contains two types: the type
// of the order's data, and the type of the report.
type Op string

// The orders.
const (
	OpSpawn   Op = "spawn"    // SpawnOrder -> ArmReport: start a new arm, or the next generation of an arm
	OpAdopt   Op = "adopt"    // ArmOrder -> ArmReport: attach to a session again, if its holder proves its identity
	OpKill    Op = "kill"     // ArmOrder -> ArmReport
	OpRemove  Op = "remove"   // ArmOrder -> Removed: delete a stopped arm and its files
	OpRename  Op = "rename"   // RenameOrder -> nothing
	OpLabel   Op = "label"    // LabelOrder -> LabelReport: change the arm's labels
	OpBudget  Op = "budget"   // BudgetOrder -> BudgetReport: change the budget of the arm, or only report its budgets
	OpOnLimit Op = "on-limit" // OnLimitOrder -> OnLimitReport: change what the arm does at a limit
	OpList    Op = "list"     // nothing -> []ArmReport
	OpReport  Op = "report"   // ArmOrder -> ArmReport
	OpPrompt  Op = "prompt"   // PromptOrder -> coleo.Receipt
	// OpChecked is PromptOrder -> coleo.Receipt: a prompt with a check. It is separate from
	// OpPrompt, because an older host agent would ignore the check.
	OpChecked   Op = "checked"
	OpRespond   Op = "respond"   // RespondOrder -> nothing
	OpInterrupt Op = "interrupt" // ArmOrder -> coleo.Interruption
	OpSteer     Op = "steer"     // PromptOrder -> coleo.Steering: send a prompt at once, even during a turn
	// ArmOrder -> coleo.Aborted: interrupt the turn, and pause the queue unless it is empty
	OpAbort     Op = "abort"
	OpCompact   Op = "compact"   // ArmOrder -> coleo.Receipt: shorten the conversation
	OpMode      Op = "mode"      // ModeOrder -> ModeReport: switch to another mode
	OpModel     Op = "model"     // ModelOrder -> ModelReport: use another model
	OpExplain   Op = "explain"   // ArmOrder -> coleo.Explanation
	OpUsage     Op = "usage"     // ArmOrder -> coleo.Usage
	OpScreen    Op = "screen"    // ScreenOrder -> coleo.Screen
	OpRecord    Op = "record"    // RecordOrder -> coleo.Recording
	OpOutput    Op = "output"    // OutputOrder -> coleo.Output
	OpInput     Op = "input"     // InputOrder -> nothing
	OpResize    Op = "resize"    // ResizeOrder -> nothing
	OpLease     Op = "lease"     // LeaseOrder -> coleo.Lease
	OpEvents    Op = "events"    // EventsOrder -> Events
	OpProviders Op = "providers" // nothing -> raw JSON: the model catalogue of an agent CLI of this host
	OpLogins    Op = "logins"    // nothing -> []coleo.Login: the agent CLIs to which this host's user is logged in
	OpPulse     Op = "pulse"     // PulseOrder -> Pulse: what the host agent knows; serve asks every PulseEvery
	OpPermit    Op = "permit"    // PermitOrder -> Clock: allow typing into arms that need a permit
	OpRelease   Op = "release"   // ReleaseOrder -> nothing: give an arm of host local to a host agent
	OpWindow    Op = "window"    // WindowOrder -> nothing: open the arm's window, and report when it is open
	OpQueue     Op = "queue"     // QueueOrder -> coleo.QueueReport: change the arm's queue, or ask for it
	OpAnswer    Op = "answer"    // AnswerOrder -> coleo.Suspension: answer a suspension that is not a dialog
	// ArmOrder -> []coleo.Task: the tasks that the arm's model has written with one of Coleo's
	// tools
	OpTasks    Op = "tasks"
	OpRequests Op = "requests" // nothing -> []coleo.Suspension: the approved requests of arms that serve must carry out
	OpSettle   Op = "settle"   // SettleOrder -> nothing: report the outcome of an approved request to the host agent
	OpSucceed  Op = "succeed"  // SucceedOrder -> SucceedReport: start the successor of an arm
	// AlternativeOrder -> ModelReport or nothing: carry out a parked arm's alternative to waiting
	OpAlternative Op = "alternative"
	OpTake        Op = "take" // ArmOrder -> ArmReport: take over an arm whose folder says that it belongs to this host

	OpThreads      Op = "threads"       // coleo.ThreadFilter -> coleo.ThreadList: the conversations of this machine
	OpThread       Op = "thread"        // ThreadOrder -> coleo.ThreadPage
	OpThreadChange Op = "thread_change" // ThreadChangeOrder -> coleo.Thread

	OpDiff        Op = "diff"        // DiffOrder -> Piece: the changes that the arm has made in its folder
	OpCheckpoints Op = "checkpoints" // ArmOrder -> []changes.Checkpoint
	OpRestore     Op = "restore"     // RestoreOrder -> changes.Restored: restore the files of a checkpoint
	OpMerge       Op = "merge"       // MergeOrder -> changes.Merged: merge the arm's work into another branch
)

// Types reports whether an order of this kind types into an arm's terminal.
func (o Op) Types() bool {
	switch o {
	case OpPrompt, OpChecked, OpSteer, OpAbort, OpCompact, OpMode, OpModel, OpAlternative, OpRespond, OpInterrupt, OpInput:
		return true
	default:
		return false
	}
}

// SpawnOrder starts an arm. Each start has a higher generation than all earlier starts of the arm.
// Serve sets Config.Generation higher than each generation that it knows, on any host. If the host
// agent knows an equal or higher generation, it raises Config.Generation further. The host agent also
// sets Config.Dir, Config.Nonce and Config.Environ.
type SpawnOrder struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Harness string            `json:"harness"`
	Config  coleo.SpawnConfig `json:"config"`
	Resume  bool              `json:"resume,omitempty"` // whether to resume the arm's last conversation
	// Env contains the environment variables that the user has given to the arm. No other message
	// contains their values. If Env is empty, the host agent uses the variables that it has stored
	// for the arm.
	Env map[string]string `json:"env,omitempty"`
	// EnvOf is the id of another arm of this host whose variables the new arm also gets. At most one
	// of Env and EnvOf is set. If the host agent does not have the variables of that arm, it refuses
	// the order.
	EnvOf string `json:"env_of,omitempty"`
	// Script contains the replies of the scripted model, as JSON. If Script is empty, the host
	// agent uses the script that it has stored for the arm.
	Script string `json:"script,omitempty"`

	// NewID means that serve has created a new random ID for this order. The arm was therefore never
	// started: it has no files, and no process has the arm's mark (the variable COLEO_ARM) in its
	// environment.
	NewID bool `json:"drawn,omitempty"`

	// Request is the id of the request that this order carries out. It is set for a subarm, and for an
	// arm that a trigger starts. If the arm was already started, the host agent starts nothing, and
	// reports about the arm that exists. Therefore serve can repeat the order.
	Request string `json:"request,omitempty"`
	// First is the first prompt. The host agent puts it at the head of the arm's queue. In the same
	// write, it stores that it is about to start the arm.
	First *coleo.Queued `json:"first,omitempty"`
	// The field Then contains the prompts that follow First in the queue of a successor. They come from the
	// queue of the first arm. The host agent sets Then.
	Then []coleo.Queued `json:"-"`
	// InsteadOf names the requested model, if Config contains another model.
	InsteadOf *coleo.ModelFallback `json:"instead_of,omitempty"`
}

// SucceedOrder gives the task of the first arm, which Arm names, to a new arm, its successor. The
// successor starts on the same host. Spawn.First contains the task. The host agent pauses the first
// arm, and moves its queue to the successor.
type SucceedOrder struct {
	Arm   string     `json:"arm"`
	Spawn SpawnOrder `json:"spawn"`
	// At is set if the first arm is parked, and this hand-over is its alternative to waiting. It is
	// nil if a person orders the hand-over.
	At *ParkedAt `json:"at,omitempty"`
	// Failed is the reason why the successor cannot be started. If it is set, the host agent starts
	// nothing, and only records that the task was not handed over. But if it already has an order to
	// start the successor, it returns EConflict instead.
	Failed string `json:"failed,omitempty"`
}

// SucceedReport is the report about a successor that has started. Moved contains the ids of the
// prompts that have moved from the first arm's queue to the successor's queue.
type SucceedReport struct {
	ArmReport
	Moved []string `json:"moved,omitempty"`
}

// ArmOrder is an order about one arm.
type ArmOrder struct {
	Arm string `json:"arm"`
	// Generation is used only with OpKill. The host agent then ends the arm only if the arm's last
	// start has this generation. 0 means any generation.
	Generation int `json:"generation,omitempty"`
	// Force is used only with OpRemove. If it is true, the host agent keeps the unsaved work of the
	// arm's worktree under a ref. If it is false, the host agent refuses to remove an arm with unsaved
	// work.
	Force bool `json:"force,omitempty"`
}

// QueueOrder changes the queue of an arm.
type QueueOrder struct {
	Arm string `json:"arm"`
	coleo.QueueOrder
}

// WindowOrder opens the window of an arm.
type WindowOrder struct {
	Arm string `json:"arm"`
	// where to open the window; nil means the place that was given at the arm's start
	Place *coleo.WindowPlace `json:"place,omitempty"`
}

// ThreadOrder asks for one conversation and for its messages after the message with the number
// After.
type ThreadOrder struct {
	Harness string `json:"harness"`
	ID      string `json:"id"`
	After   int    `json:"after,omitempty"`
	Limit   int    `json:"limit,omitempty"` // the largest number of messages; 0 means no messages
}

// ThreadChangeOrder changes what Coleo stores about one conversation.
type ThreadChangeOrder struct {
	Harness string             `json:"harness"`
	ID      string             `json:"id"`
	Change  coleo.ThreadChange `json:"change"`
}

// ReleaseOrder makes host local give an arm to a host agent. If the arm is busy, host local does
// not wait, but refuses the order.
type ReleaseOrder struct {
	Arm string `json:"arm"`
	To  string `json:"to"` // the id of the host agent
}

// PromptOrder sends a prompt to the arm's agent CLI.
type PromptOrder struct {
	Arm    string       `json:"arm"`
	Prompt coleo.Prompt `json:"prompt"`
	Lease  string       `json:"lease,omitempty"` // the id of the lease of the sender; "" if the sender has none
}

// ModeOrder switches an arm to another mode.
type ModeOrder struct {
	Arm string `json:"arm"`
	coleo.ModeOrder
}

// ModeReport is the report of a ModeOrder. Chosen contains the user's present choices for the arm.
type ModeReport struct {
	coleo.ModeSwitch
	Chosen *coleo.Chosen `json:"chosen,omitempty"`
}

// ModelOrder gives an arm another model.
type ModelOrder struct {
	Arm string `json:"arm"`
	coleo.ModelOrder
	// InsteadOf names the requested model, if the order contains another model.
	InsteadOf *coleo.ModelFallback `json:"instead_of,omitempty"`
}

// ModelReport is the report of a ModelOrder. Chosen contains the user's present choices for the
// arm.
type ModelReport struct {
	coleo.ModelSwitch
	Chosen *coleo.Chosen `json:"chosen,omitempty"`
}

// PermitOrder allows typing into the listed arms until a time. Until is this time on a host agent's
// clock, and Clock is the id of that clock. If the host agent has another clock, for example after a
// restart, the order allows nothing. The report always contains the host agent's clock. To ask only
// for the clock, serve sends an order with an empty Clock.
type PermitOrder struct {
	Clock string        `json:"clock,omitempty"`
	Until time.Duration `json:"until,omitempty"`
	Arms  []ArmOrder    `json:"arms,omitempty"`
}

// Clock is the time on a host agent's clock. Now is the time since the machine was started,
// including sleep. The ID identifies the host agent's process.
type Clock struct {
	ID  string        `json:"id"`
	Now time.Duration `json:"now"`
}

// RenameOrder changes the name of an arm.
type RenameOrder struct {
	Arm  string `json:"arm"`
	Name string `json:"name"`
}

// LabelOrder replaces the labels of an arm with the given labels.
type LabelOrder struct {
	Arm    string       `json:"arm"`
	Labels coleo.Labels `json:"labels"`
}

// LabelReport contains the user's present choices for the arm, including the labels.
type LabelReport struct {
	Chosen *coleo.Chosen `json:"chosen,omitempty"`
}

// BudgetOrder changes the budget of an arm, or only asks for the arm's budgets.
type BudgetOrder struct {
	Arm string `json:"arm"`
	coleo.BudgetOrder
}

// BudgetReport contains the budgets that apply to an arm, and the user's present choices for the
// arm.
type BudgetReport struct {
	coleo.BudgetReport
	Chosen *coleo.Chosen `json:"chosen,omitempty"`
}

// RespondOrder answers a dialog. If the fingerprint is empty, the order answers the
// dialog that is open.
type RespondOrder struct {
	Arm      string            `json:"arm"`
	Dialog   coleo.Fingerprint `json:"dialog,omitempty"`
	Decision coleo.Decision    `json:"decision"`
	Lease    string            `json:"lease,omitempty"`
}

// AnswerOrder answers a suspension that is not a dialog.
type AnswerOrder struct {
	Arm      string         `json:"arm"`
	ID       string         `json:"id"`
	Decision coleo.Decision `json:"decision"`
	By       string         `json:"by,omitempty"` // who answers, for people
}

// SettleOrder reports to the host agent the outcome of a request that an arm's model has made.
type SettleOrder struct {
	ID      string               `json:"id"`
	Outcome coleo.RequestOutcome `json:"outcome"`
}
