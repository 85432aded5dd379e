package coleo

import (
	"encoding/json"
	"slices"
	"time"
)

// EventKind is the kind of an event in the log. The log stores kinds, so the meaning of
// a kind never changes.
type EventKind string

// The kinds of event. The comment on each kind begins with the type of its payload and a colon.
const (
	EventSpawned    EventKind = "arm.spawned"    // Handle: the agent CLI has started
	EventReattached EventKind = "arm.reattached" // Handle: a host agent has found the running arm again
	EventStopped    EventKind = "arm.stopped"    // Reading: the arm has ended
	EventOrphaned   EventKind = "arm.orphaned"   // Note: the processes that still run
	// Note: why the arm cannot continue. Either its output cannot be stored, or its holder does not
	// answer. An empty text means that the arm can continue again.
	EventBlocked EventKind = "arm.blocked"
	// Note: the description of the arm's harness has changed. The text says that the arm now uses
	// the new description, or why it does not.
	EventRules        EventKind = "arm.rules"
	EventLabels       EventKind = "arm.labels"          // Labelled: a person has changed the labels of the arm
	EventBudget       EventKind = "budget"              // BudgetChange: a budget was set, counted or reached
	EventRemoved      EventKind = "arm.removed"         // no payload
	EventState        EventKind = "state"               // Change: the state of the arm has changed
	EventUnrecognised EventKind = "screen_unrecognised" // Change: no rule recognizes the screen
	EventWitness      EventKind = "witness"             // Change: a witness, such as a hook, contradicts the screen
	// Note: the id of the conversation, and sometimes the port of the agent CLI's server
	EventConversation EventKind = "conversation"
	EventRunStart     EventKind = "run_start"   // Receipt: a turn has begun
	EventRunEnd       EventKind = "run_end"     // RunEnd: the turn has ended
	EventPromptLost   EventKind = "prompt_lost" // Change: nothing proves that a prompt has arrived
	EventDecision     EventKind = "approval"    // Decided
	EventWindow       EventKind = "window"      // Change: the arm's window was opened or closed, or has failed
	EventQueue        EventKind = "queue"       // QueueChange: what was done to the arm's queue
	// ParkChange: the arm has met a limit, continues, or is no longer parked
	EventParked  EventKind = "parked"
	EventOnLimit EventKind = "on_limit" // OnLimitChange: a person has changed what the arm does at a limit
	// HandoverChange: the task of an arm goes to another arm, its successor
	EventHandover EventKind = "handover"
	EventPolicy   EventKind = "policy" // PolicyDecision: the decision of a policy about an approval dialog

	// WorkspaceChange: the arm's worktree is being made or was removed
	EventWorkspaceChanged EventKind = "workspace_status_changed"
	EventWorkspaceReady   EventKind = "workspace_ready" // WorkspaceChange: the arm's worktree is ready
	EventWorkspaceError   EventKind = "workspace_error" // Note: why the arm has no worktree, or why its worktree stays

	EventMerge EventKind = "merge" // MergeChange: the work of the arm is merged into another branch

	// Validated: whether the input of a prompt fits its schema. If the input fits, the event follows
	// run_start. If it does not fit, Coleo types nothing, and the event belongs to no run.
	EventInputValidated  EventKind = "input_validated"
	EventOutputValidated EventKind = "output_validated" // Validated: whether the answer of the run fits its schema
	// Retry: the answer does not fit its schema, and the model will be asked again
	EventOutputRetry EventKind = "output_retry"
)

// These kinds of event describe what the agent CLI does in a run. The comment on each kind names
// the type of its payload. Event.Source names the source of the event. docs/events.md lists which
// source reports which kind for each harness.
const (
	EventTurn          EventKind = "turn"            // Turn
	EventAssistantText EventKind = "assistant_text"  // AssistantText
	EventThinking      EventKind = "thinking"        // Thinking
	EventToolStart     EventKind = "tool_call_start" // ToolCall
	EventToolProgress  EventKind = "tool_progress"   // ToolProgress
	EventToolEnd       EventKind = "tool_call_end"   // ToolEnd
	EventSubagentStart EventKind = "subagent_start"  // SubagentStart
	EventSubagentEnd   EventKind = "subagent_end"    // SubagentEnd
	EventFileChanged   EventKind = "file_changed"    // FileChanged
	EventUsage         EventKind = "usage"           // ReplyUsage
	EventCompaction    EventKind = "compaction"      // Compaction
	EventMode          EventKind = "mode"            // ModeChanged
	EventModel         EventKind = "model"           // ModelChanged
	EventTasks         EventKind = "task_updated"    // TasksUpdated
	EventShellInput    EventKind = "shell_input"     // ShellInput
	EventShellProgress EventKind = "shell_progress"  // ShellProgress
	EventShellOutput   EventKind = "shell_output"    // ShellOutput
	EventError         EventKind = "error"           // Problem
	EventInfo          EventKind = "info"            // Remark

	EventSuspension EventKind = "suspension"          // Suspended: the arm waits for an answer
	EventAnswered   EventKind = "suspension_answered" // SuspensionAnswered
)

// Event is one entry of the append-only log of a host. Host, Epoch and Seq together are the key of
// the event. The sequence numbers of a host's log have no gaps.
type Event struct {
	Host string `json:"host"`
	// identifies a stretch of the log; the host agent creates a new epoch each time it opens its
	// log
	Epoch  string    `json:"epoch"`
	Seq    uint64    `json:"seq"`
	Run    string    `json:"run,omitempty"`    // id of the run: one prompt and everything up to the end of its turn
	Parent string    `json:"parent,omitempty"` // the id of the parent run, if this run belongs to another run
	Arm    string    `json:"arm"`
	Time   time.Time `json:"time"`
	// the number of the model's reply in the run, from 1; 0 if the event belongs to no reply
	Turn    int             `json:"turn,omitempty"`
	Kind    EventKind       `json:"kind"`
	Source  Source          `json:"source,omitempty"` // the source that reported it; "" if the event is Coleo's own
	Payload json.RawMessage `json:"payload,omitempty"`
}

// With one of these rules, a Reading does not prove that something has ended:
//   - RuleUnproven and RuleOrphaned: the arm has no session, but its processes may still be running.
//   - RuleUnprovenIdle: a turn may still be running.
const (
	RuleUnproven = "unproven" // a process could not prove that it belongs to the arm, so Coleo leaves it alone
	// RuleUnprovenIdle means that the screen is idle, but nothing proves that the turn has ended.
	// Reading.Detail contains the reason.
	RuleUnprovenIdle = "unproven idle"
	RuleOrphaned     = "orphaned" // Coleo could not end some processes of the arm
)

// If the state of a reading is Dead, its rule is one of these. The rule says why the arm is dead.
const (
	RuleProcess = "process" // the agent CLI has ended by itself
	// RuleTerminated means that a signal has ended the agent CLI, and that the signal did not come
	// from Coleo. A shutdown of the machine sends such signals.
	RuleTerminated = "terminated"
	// RuleNoConversation means that the agent CLI was started to continue a conversation, but ended
	// at once because it does not have this conversation.
	RuleNoConversation = "no conversation"
	// RuleReboot means that the machine was rebooted while the arm was running. RuleHolderGone
	// means that the arm's holder ended without an order. In both cases, no person has stopped the
	// arm.
	RuleReboot     = "reboot"
	RuleHolderGone = "holder gone"
	// RuleNotStarted means that a start has failed or was interrupted.
	RuleNotStarted = "not started"
)

// WorkspaceChange is the payload of the events about an arm's worktree.
type WorkspaceChange struct {
	Status string `json:"status"` // "making", "setting_up", "ready" or "removed"
	Path   string `json:"path,omitempty"`
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"` // the commit on which the work begins
	Kept   string `json:"kept,omitempty"`   // the ref that contains all the work of a removed worktree

	Notes []string `json:"notes,omitempty"` // notes for the user about a new worktree, one line each
}

// MergeStep is the progress of a merge of an arm's work. Events contain it.
type MergeStep string

// The steps of a merge.
const (
	MergeBegan  MergeStep = "began"  // the branch is about to be moved from Before to After
	MergeDone   MergeStep = "done"   // the branch was moved
	MergeFailed MergeStep = "failed" // nothing was merged; see Why
)

// MergeChange is the payload of the event about a merge. If the host agent is killed between the
// events with MergeBegan and MergeDone, the next host agent checks whether the branch was moved.
type MergeChange struct {
	Step      MergeStep `json:"step"`
	By        string    `json:"by,omitempty"`        // the person or program that asked for the merge, for people
	Repo      string    `json:"repo,omitempty"`      // the name of the repository, if the arm works in several
	Way       string    `json:"way"`                 // "merge", "squash" or "rebase"
	Branch    string    `json:"branch,omitempty"`    // the branch of the arm
	Commit    string    `json:"commit,omitempty"`    // the newest commit of Branch
	Into      string    `json:"into,omitempty"`      // the branch that gets the work
	Before    string    `json:"before,omitempty"`    // the commit of Into before the merge; "" if the branch is new
	After     string    `json:"after,omitempty"`     // the commit of Into after the merge
	Committed string    `json:"committed,omitempty"` // the commit that the merge has made from uncommitted work, if any
	Why       string    `json:"why,omitempty"`       // why the merge failed; set only with MergeFailed
}

// Worktree is the git worktree of an arm.
type Worktree struct {
	// Branch and Base are the requested values: see workspace.Order. After the start, Branch is the
	// branch of the worktree.
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"`
	// NoSetup means that the project's set-up script does not run.
	NoSetup bool `json:"no_setup,omitempty"`
	// With lists folders of further repositories, as absolute paths. The arm gets a worktree of each.
	With []string `json:"with,omitempty"`
	// Path is the top folder of the worktree. If there are several worktrees, it is the folder above them.
	// From is the folder for which the worktree was made. The host agent sets both.
	Path string `json:"path,omitempty"`
	From string `json:"from,omitempty"`
	// Clone means that the arm works in a clone, because it has a sandbox. The host agent sets it.
	Clone bool `json:"clone,omitempty"`
	// Notes contains notes for the user about the worktree that this start has created, one line
	// each.
	Notes []string `json:"notes,omitempty"`
}

// Note is the payload of an event that contains only a text.
type Note struct {
	Text string `json:"text"`
	Port int    `json:"port,omitempty"` // the port of the agent CLI's server; set only with EventConversation
}

// Outcome says how a turn ended, or, with OutcomeAsks, that the turn continues. The log
// stores outcomes, so the meaning of an outcome never changes.
type Outcome string

// The outcomes of a turn. A run_end event can have each of these except OutcomeAsks.
const (
	OutcomeFinished    Outcome = "finished"    // the agent CLI ended the turn without an error
	OutcomeFailed      Outcome = "failed"      // the agent CLI shows an error
	OutcomeInterrupted Outcome = "interrupted" // somebody interrupted the turn, denied a dialog of it, or killed the arm
	OutcomeDied        Outcome = "died"        // the agent CLI has ended
	OutcomeUnproven    Outcome = "unproven"    // the screen is idle, but nothing proves that the turn has ended
	OutcomeAsks        Outcome = "asks"        // the turn waits until somebody answers the open dialog
)

// OutcomeOf returns the outcome of a turn. The state s is the state of the agent CLI after the
// turn.
func OutcomeOf(s State, interrupted bool) Outcome {
	switch {
	case s == Dead:
		return OutcomeDied
	case interrupted:
		return OutcomeInterrupted
	case s == Failed:
		return OutcomeFailed
	}
	return OutcomeFinished
}

// RunEnd is the payload of a run_end event.
type RunEnd struct {
	Status  State   `json:"status"`            // Idle, Failed or Dead
	Outcome Outcome `json:"outcome,omitempty"` // how the turn ended; empty in events of older versions
	Answer  string  `json:"answer,omitempty"`
	Source  string  `json:"source,omitempty"`
	// Whole means that the turn has finished, and that the agent CLI itself has reported Answer. An
	// answer that Coleo has read from the screen can be incomplete.
	Whole bool `json:"whole"`
	// Background says what was still running in the background when the turn ended.
	Background string `json:"background,omitempty"`
	Usage      *Usage `json:"usage,omitempty"` // what the whole conversation has used so far, if reported
	// Compact means that the purpose of the turn was to shorten the conversation. See
	// Receipt.Compact.
	Compact bool `json:"compact,omitempty"`
	// Orphans lists the ids of the tool calls that began in the run and did not end.
	Orphans []string `json:"orphans,omitempty"`
	// Validated says whether the answer fits its schema. It is nil if the prompt had no schema, or
	// if the turn did not finish. Validated.Answer is always empty here.
	Validated *Validated `json:"validated,omitempty"`
	// Retry is the id of the run in which the model is asked again, because the answer does not fit
	// its schema. That run begins when the arm is idle.
	Retry string `json:"retry,omitempty"`
	// Limit is the limit that ended the turn, such as a used-up quota. It is nil if the turn met
	// no limit. If Limit is set, the outcome is OutcomeFailed, even if the screen shows no error.
	Limit *Limit `json:"limit,omitempty"`
}

// Decided is the payload of an approval event: a dialog was answered.
type Decided struct {
	Dialog   Dialog   `json:"dialog"`
	Decision Decision `json:"decision"`
	// Policy is the rule of the arm's policy that answered the dialog. It is "" if a person or a
	// program answered.
	Policy string `json:"policy,omitempty"`
}

// DecodeRunEnd returns the payload of a run_end event. If an older version of Coleo wrote the event,
// DecodeRunEnd computes the Outcome. It returns EInternal if the payload is unreadable.
func DecodeRunEnd(e Event) (RunEnd, error) {
	var end RunEnd
	if err := json.Unmarshal(e.Payload, &end); err != nil {
		return end, Errorf(EInternal, "read the end of run %s: %v", e.Run, err)
	}
	if end.Outcome == "" {
		end.Outcome = OutcomeOf(end.Status, false)
	}
	return end, nil
}

// MaxRunText is the largest size of Run.Prompt and of Run.Answer, in bytes. This is enough to
// recognize a prompt. The events of the run contain the whole texts.
const MaxRunText = 2 << 10

// Run is the summary of one run. Serve computes it from the events of the run. A field is zero
// until an event sets it.
type Run struct {
	ID      string    `json:"id"`
	Arm     string    `json:"arm"`               // the arm's id
	ArmName string    `json:"arm_name"`          // the arm's name when the run began
	Harness string    `json:"harness,omitempty"` // the arm's harness when the run began
	Host    string    `json:"host"`              // the host whose log contains the first event
	Parent  string    `json:"parent,omitempty"`  // the id of the parent run, if this run belongs to another run
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Open    bool      `json:"open"`              // whether neither the run's end nor the arm's removal is recorded yet
	Status  State     `json:"status,omitempty"`  // the state at the end: idle, error or dead
	Outcome Outcome   `json:"outcome,omitempty"` // how the turn ended; "" if no end is known
	Origin  Origin    `json:"origin,omitempty"`
	Compact bool      `json:"compact,omitempty"` // see Receipt.Compact

	Prompt    string `json:"prompt,omitempty"` // at most MaxRunText bytes
	PromptCut bool   `json:"prompt_cut,omitempty"`
	Answer    string `json:"answer,omitempty"` // at most MaxRunText bytes
	AnswerCut bool   `json:"answer_cut,omitempty"`
	Whole     bool   `json:"whole,omitempty"` // see RunEnd.Whole

	SpecHash    string      `json:"spec_hash,omitempty"`    // see Receipt.SpecHash
	AnswerCheck AnswerCheck `json:"answer_check,omitempty"` // whether the answer fits; "" if the prompt had no schema
	CheckFault  string      `json:"check_fault,omitempty"`  // what does not fit, in one line; set only with AnswerUnfit
	RetryOf     string      `json:"retry_of,omitempty"`     // the run whose answer did not fit, which caused this run
	Retry       string      `json:"retry,omitempty"`        // the run that was caused by an answer that does not fit

	Model  string `json:"model,omitempty"` // the last model that replied, if a source reports it
	Turns  int    `json:"turns"`           // the number of the last turn
	Calls  int    `json:"calls"`           // the number of tool calls that began
	Denied int    `json:"denied"`          // the number of calls that were denied
	Failed int    `json:"failed"`          // the number of calls that ended with an error
	Files  int    `json:"files"`           // the number of changes that tools made to files
	Events int    `json:"events"`          // the number of all events of the run, including deleted events
	// Usage is the sum of the run's usage events. Usage.Source is "".
	Usage Usage `json:"usage"`
	// Orphans lists the ids of the calls that began in the run and did not end.
	Orphans []string `json:"orphans,omitempty"`
}

// OutcomeOpen is not the outcome of a run. In a filter by outcome, it selects the runs that are
// still open.
const OutcomeOpen = "open"

// eventKinds contains every kind of event. Coleo's own kinds come first.
var eventKinds = []EventKind{
	EventSpawned, EventReattached, EventStopped, EventOrphaned, EventBlocked, EventRules, EventLabels, EventBudget,
	EventRemoved,
	EventState,
	EventUnrecognised, EventWitness, EventConversation, EventRunStart, EventRunEnd, EventPromptLost, EventDecision,
	EventWindow, EventQueue, EventParked, EventOnLimit, EventHandover, EventPolicy,
	EventWorkspaceChanged, EventWorkspaceReady, EventWorkspaceError, EventMerge,
	EventInputValidated, EventOutputValidated, EventOutputRetry,
	EventTurn, EventAssistantText, EventThinking, EventToolStart, EventToolProgress, EventToolEnd, EventSubagentStart,
	EventSubagentEnd, EventFileChanged, EventUsage, EventCompaction, EventMode, EventModel, EventTasks,
	EventShellInput, EventShellProgress, EventShellOutput, EventError, EventInfo,
	EventSuspension, EventAnswered,
}

// EventKinds returns every kind of event that this version knows.
func EventKinds() []EventKind { return append([]EventKind{}, eventKinds...) }

// KindAlias is another name for a kind of event. Filters accept this name. Events always contain
// the kind itself.
type KindAlias struct {
	Name string
	Kind EventKind
}

// KindAliases returns the names that other systems use for events, sorted by name. Several names
// can stand for one kind. A filter by such a name selects all events of that kind.
func KindAliases() []KindAlias {
	return []KindAlias{
		{"agent_end", EventRunEnd}, {"agent_start", EventRunStart}, {"ask_question", EventSuspension},
		{"follow_up_queued", EventQueue}, {"message_end", EventAssistantText}, {"mode_changed", EventMode},
		{"model_changed", EventModel}, {"plan_approval_required", EventSuspension}, {"plan_approved", EventAnswered},
		{"tool_approval_required", EventState}, {"tool_end", EventToolEnd}, {"tool_start", EventToolStart},
		{"tool_suspended", EventSuspension}, {"tool_update", EventToolProgress}, {"usage_update", EventUsage},
	}
}

// KindNamed returns the kind with the given name or alias. It returns false if there is no such
// kind.
func KindNamed(name string) (EventKind, bool) {
	for _, alias := range KindAliases() {
		if alias.Name == name {
			return alias.Kind, true
		}
	}
	return EventKind(name), slices.Contains(eventKinds, EventKind(name))
}
