package wire

import (
	"encoding/json"

	"coleo.dev"
)

// SpawnRequest asks for a new arm, or for the next start of a stopped arm. If a field has the zero
// value, the value comes from the stopped arm or from the harness. A SpawnRequest is the body of
// POST /api/arms/{id}/spawn, as JSON.
type SpawnRequest struct {
	Name   string `json:"name,omitempty" doc:"Name of the arm; random if left out"`
	Domain string `json:"domain,omitempty" doc:"What the arm is for, for people"`
	// Labels are the labels of a new arm. An existing arm keeps its own labels.
	Labels   coleo.Labels `json:"labels,omitempty" doc:"Labels of a new arm, as keys with values"`
	Template string       `json:"template,omitempty" doc:"Name of the template that the caller used; only for the audit"`

	Harness string `json:"harness,omitempty" doc:"Harness that drives the arm"`
	Workdir string `json:"workdir,omitempty" doc:"Absolute path of the folder to work in, on the arm's host"`
	// Worktree gives the arm its own git worktree. The worktree belongs to the repository that
	// contains Workdir.
	Worktree *Worktree `json:"worktree,omitempty" doc:"Work in a git worktree of its own"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty" doc:"Model, provider/model, or scripted, which needs no key and no network"`
	// Fallback says which model may be used if the requested model is not available.
	Fallback coleo.FallbackStrategy `json:"fallback,omitempty" enum:"any,same-price,cheaper,none" doc:"As in config.toml if left out"` //nolint:lll // a tag has one line
	Script   string                 `json:"script,omitempty" doc:"Answers of the scripted model: see docs/scripted-model.md"`          //nolint:lll // a tag has one line
	Endpoint string                 `json:"endpoint,omitempty" doc:"Base URL of another model server, without /v1"`

	PermissionMode coleo.PermissionMode `json:"permissionMode,omitempty" enum:"ask,edit,plan,all"`
	// YesWithoutSandbox allows a new arm to have the permission mode "all" without a sandbox. It is
	// not stored.
	YesWithoutSandbox bool `json:"yesWithoutSandbox,omitempty" doc:"Allow the permission mode all without a sandbox"`
	// Untested allows a kind of sandbox in which the agent CLI was not tested. It is not stored.
	Untested   bool              `json:"untested,omitempty" doc:"Allow a kind of sandbox untested with the agent CLI"`
	Profile    coleo.Profile     `json:"profile,omitempty" enum:"user,hermetic"`
	Home       string            `json:"home,omitempty" doc:"HOME in the hermetic profile"`
	Wrap       []string          `json:"wrap,omitempty" doc:"Command put before the agent CLI's command line; must exec it"` //nolint:lll // a tag has one line
	Args       []string          `json:"args,omitempty" doc:"Arguments appended to the agent CLI's command line"`
	MCPServers []coleo.MCPServer `json:"mcpServers,omitempty" doc:"MCP servers; whoever sees the arm sees the values of their env"` //nolint:lll // a tag has one line
	Tools      []string          `json:"tools,omitempty" doc:"Coleo's own tools for the arm, or all"`
	NoTools    bool              `json:"noTools,omitempty" doc:"None of Coleo's own tools"`

	// Env contains environment variables for the agent CLI. The values are secrets, which only the
	// host agent receives. No answer of the API contains them.
	Env map[string]string `json:"env,omitempty" writeOnly:"true" doc:"Variables; they replace those of a stopped arm"`

	TrustWorkdir bool   `json:"trustWorkdir,omitempty" doc:"Trust the folder; may change a file of the agent CLI"`
	Conversation string `json:"conversation,omitempty" doc:"Id of the agent CLI's conversation to start or to continue"`
	Recover      bool   `json:"recover,omitempty" doc:"Continue the arm's last conversation"`
	Fork         string `json:"fork,omitempty" doc:"Id of the agent CLI's conversation that is copied for the arm"`

	// MemoSchema is a JSON Schema. Serve refuses a memo of the arm that does not fit this schema.
	MemoSchema json.RawMessage `json:"memoSchema,omitempty" doc:"JSON Schema that the arm's memo must fit"`

	InitialPrompt string `json:"initialPrompt,omitempty" doc:"First prompt; it goes through the queue of the arm"`
	ContextBudget int    `json:"contextBudget,omitempty" doc:"Tokens"`

	AgentID            string `json:"agentId,omitempty" doc:"Host agent that must run the arm"`
	PreferAgent        bool   `json:"preferAgent,omitempty" doc:"No effect: a host agent is always preferred"`
	AllowLocalFallback *bool  `json:"allowLocalFallback,omitempty" doc:"Whether the arm may run without a host agent"`
	Terminal           string `json:"terminal,omitempty" enum:"tmux,kitty,wezterm,ghostty,iterm2,terminal" doc:"Terminal of the window, for a harness that shows one; without a harness it selects one"` //nolint:lll // a tag has one line
	// WindowEnviron contains the variables with which the terminal program finds the user's display
	// or tmux server. coleo.WindowVariables returns their names.
	WindowEnviron map[string]string `json:"windowEnviron,omitempty" doc:"DISPLAY, TMUX and the like"`
	// Headless says whether the arm has no window. It must fit the harness, because each harness
	// shows a window either always or never.
	Headless *bool `json:"headless,omitempty" doc:"Whether the arm has no window; must fit the harness"`

	OnPartition coleo.OnPartition `json:"onPartition,omitempty" enum:"run,freeze" doc:"What to do while serve is away"`

	// Policy says what the arm's policy does at its approval dialogs: see docs/security.md.
	Policy coleo.PolicyMode `json:"policy,omitempty" enum:"off,shadow,read" doc:"What the arm's policy answers"`

	// Budget limits the cost of the arm's model. If it is missing, a stopped arm keeps its budget.
	Budget *coleo.Budget `json:"budget,omitempty" doc:"How much the model may cost; 0 dollars mean no budget"`

	// Sandbox is the sandbox of the agent CLI. If it is missing, a stopped arm keeps its sandbox.
	Sandbox *coleo.Sandbox `json:"sandbox,omitempty" doc:"The sandbox of the agent CLI: see docs/security.md"`

	OnLimit coleo.OnLimit `json:"onLimit,omitempty" maxLength:"500" doc:"At a limit of the model: a list of model:NAME, handover:HARNESS, and wait or ask"` //nolint:lll // a tag has one line

	ContinueWith string `json:"continueWith,omitempty" maxLength:"2000" doc:"Prompt that continues the arm after a limit"`

	// EndWhenDone ends the arm when a run has finished and the arm's queue is empty. If it is missing,
	// a stopped arm keeps its value.
	EndWhenDone *bool `json:"endWhenDone,omitempty" doc:"Whether the arm ends when its work is done"`

	Cols int `json:"cols,omitempty" doc:"Width of the terminal in cells"`
	Rows int `json:"rows,omitempty" doc:"Height of the terminal in cells"`
}

// Worktree asks for a git worktree that belongs only to the arm.
type Worktree struct {
	Branch string `json:"branch,omitempty" doc:"Branch to check out, new or existing, or pr/NUMBER for the head of a pull request; named for the arm if left out"` //nolint:lll // a tag has one line
	Base   string `json:"base,omitempty" doc:"Where a new branch begins; at the commit checked out in workdir if left out"`
	// NoSetup skips the set-up script of the project.
	NoSetup bool `json:"noSetup,omitempty" doc:"Do not run the project's .coleo/setup in the worktree"`
	// With contains folders of further repositories. Only a new arm can have them.
	With []string `json:"with,omitempty" doc:"Absolute paths of folders in further repositories; the arm gets a worktree of each, and works in the folder above them"` //nolint:lll // a tag has one line
}

// HandoverRequest asks Coleo to give the task of an arm, the first arm, to a successor. The successor
// is a new arm in the same folder. A field that is missing gets the first arm's value, if this value
// is valid for the successor's harness.
type HandoverRequest struct {
	To       string `json:"to" minLength:"1" doc:"Harness of the successor"`
	Name     string `json:"name,omitempty" doc:"Name of the successor; the first arm's name with the harness if left out"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty" doc:"Model, or provider/model; as for a new arm if left out"`
	// Fallback is the same as in SpawnRequest.
	Fallback       coleo.FallbackStrategy `json:"fallback,omitempty" enum:"any,same-price,cheaper,none"`
	PermissionMode coleo.PermissionMode   `json:"permissionMode,omitempty" enum:"ask,edit,plan,all"`
	// YesWithoutSandbox is the same as in SpawnRequest.
	YesWithoutSandbox bool `json:"yesWithoutSandbox,omitempty" doc:"Allow the permission mode all without a sandbox"`
	// Untested is the same as in SpawnRequest.
	Untested     bool `json:"untested,omitempty" doc:"Allow a kind of sandbox untested with the agent CLI"`
	TrustWorkdir bool `json:"trustWorkdir,omitempty" doc:"Trust the folder; may change a file of the agent CLI"`
	Interrupt    bool `json:"interrupt,omitempty" doc:"Interrupt the turn of an arm that works, and pause its queue"`
}

// HandoverReply is the result of a successful hand-over.
type HandoverReply struct {
	From coleo.Arm  `json:"from"` // the first arm, whose queue is paused
	To   SpawnReply `json:"to"`   // the successor
	Run  string     `json:"run"`  // the id of the successor's first prompt, and of the run that it begins
	// Moved contains the ids of the prompts that have moved from the first arm's queue to the
	// successor's queue, in their order.
	Moved       []string `json:"moved"`
	Interrupted bool     `json:"interrupted"` // whether a turn of the first arm was interrupted
}

// Removed is the result of the removal of an arm.
type Removed struct {
	Dropped int    `json:"dropped,omitempty" doc:"How many prompts were in the arm's queue"`
	Kept    string `json:"kept,omitempty" doc:"Ref that contains the unsaved work of the arm's worktree"`
	// KeptToo contains the refs of the further repositories, if the arm had worktrees of several
	// repositories.
	KeptToo []string `json:"keptToo,omitempty" doc:"Refs of further repositories that contain unsaved work of the arm"`
	Stays   string   `json:"stays,omitempty" doc:"Folder above several worktrees, not removed because it has other files"`
}

// RecoverRequest says what to change when Coleo recovers an arm. All fields are
// optional.
type RecoverRequest struct {
	Workdir  string `json:"workdir,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Fallback is the same as in SpawnRequest.
	Fallback           coleo.FallbackStrategy `json:"fallback,omitempty" enum:"any,same-price,cheaper,none"`
	AgentID            string                 `json:"agentId,omitempty"`
	AllowLocalFallback *bool                  `json:"allowLocalFallback,omitempty"`
	Force              bool                   `json:"force,omitempty" doc:"Start even if an earlier start may still run"`
	// WindowEnviron is the same as in SpawnRequest. Coleo uses it if it opens a window again.
	WindowEnviron map[string]string `json:"windowEnviron,omitempty" doc:"DISPLAY, TMUX and the like"`
}

// WindowRequest asks Coleo to open the window of an arm. Every field is optional.
type WindowRequest struct {
	Terminal string            `json:"terminal,omitempty" enum:"tmux,kitty,wezterm,ghostty,iterm2,terminal" doc:"Terminal of the window; the last terminal if left out"` //nolint:lll // a tag has one line
	Environ  map[string]string `json:"environ,omitempty" doc:"DISPLAY, TMUX and the like"`
}

// SpawnReply is the result of a spawn or a recovery.
type SpawnReply struct {
	Spawned      bool               `json:"spawned"` // whether Coleo has started a process
	Recovered    bool               `json:"recovered"`
	RecoveryMode coleo.RecoveryMode `json:"recoveryMode,omitempty"`
	Resumed      bool               `json:"resumed,omitempty"` // whether the conversation continues in a new process
	Distributed  bool               `json:"distributed"`       // whether a host agent drives the arm
	AgentID      string             `json:"agentId,omitempty"`
	Host         string             `json:"host,omitempty"`
	SessionID    string             `json:"sessionId,omitempty"`
	PID          int                `json:"pid,omitempty"`
	Port         int                `json:"port,omitempty"`
	Provider     string             `json:"provider,omitempty"`
	Model        string             `json:"model,omitempty"`
	Arm          coleo.Arm          `json:"arm"`
	FirstRun     string             `json:"firstRun,omitempty"` // the id of the run that the first prompt begins
	Warning      string             `json:"warning,omitempty"`  // one line for users
	// why the arm has another model than the requested one; "" if it has the requested one
	ModelFallback string `json:"modelFallback,omitempty"`
	// ModelChange contains both models with their prices. It is set if the model is not the
	// requested one.
	ModelChange *coleo.ModelFallback `json:"modelChange,omitempty"`
}
