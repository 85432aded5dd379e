package coleo

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Transport is the way in which a harness communicates with its agent CLI.
type Transport string

// The transports.
const (
	TransportPTY  Transport = "pty"
	TransportHTTP Transport = "http"
)

// Capabilities says what an agent CLI can do through its harness. The conformance suite tests each
// capability that the harness claims, and skips the others. The API and harness.toml use the same
// names for the fields. docs/harness-reference.md repeats the comments on the fields.
type Capabilities struct {
	// The agent CLI starts MCP servers and calls their tools.
	MCP bool `json:"mcp" toml:"mcp"`
	// The agent CLI shows an answer while the model is still writing the answer.
	Streaming bool `json:"streaming" toml:"streaming"`
	// A running turn stops when Coleo interrupts it.
	Interrupt bool `json:"interrupt" toml:"interrupt"`
	// Coleo can make the agent CLI shorten its conversation.
	Compact bool `json:"compact" toml:"compact"`
	// A prompt continues the conversation of the earlier prompts.
	MultiTurn bool `json:"multi_turn" toml:"multi_turn"`
	// The model can write and change files.
	FileEditing bool `json:"file_editing" toml:"file_editing"`
	// The model can run commands.
	CommandExecution bool `json:"command_execution" toml:"command_execution"`
	// In the permission mode `ask`, the agent CLI asks before it acts.
	Approval bool `json:"approval" toml:"approval"`
	// The agent CLI can resume a conversation after a kill.
	Resume bool `json:"resume" toml:"resume"`
	// The agent CLI keeps a prompt that arrives during a turn.
	QueueWhileBusy bool `json:"queue" toml:"queue"`
	// The model can be chosen when the agent CLI is started.
	ModelFlag bool `json:"model_flag" toml:"model_flag"`
	// The model can ask the user to choose an option.
	Question bool `json:"question" toml:"question"`
	// The agent CLI counts the tokens of a turn.
	Usage bool `json:"usage" toml:"usage"`
	// Coleo can make the agent CLI redraw its whole picture.
	Redraw bool `json:"redraw" toml:"redraw"`
	// Coleo can switch a running agent CLI from one mode to another.
	Modes bool `json:"modes" toml:"modes"`
	// The user sees the agent CLI in a separate terminal window, which Coleo opens.
	Window bool `json:"window" toml:"window"`
}

// Support says how complete a harness is.
type Support string

// The levels of support.
const (
	SupportFull     Support = "full"     // the harness claims every capability of the agent CLI, and all are tested
	SupportPartial  Support = "partial"  // all claimed capabilities are tested; Info.Missing lists what is missing
	SupportDeclared Support = "declared" // the harness was written from notes or source code, and never ran under Coleo
)

// Info describes a harness.
type Info struct {
	Name    string   `json:"name"`    // "claude-code"
	Title   string   `json:"title"`   // "Claude Code"
	Version string   `json:"version"` // the version of the harness, not of the agent CLI
	Checked []string `json:"checked"` // the versions of the agent CLI with which the harness was checked
	Support Support  `json:"support"`
	Missing []string `json:"missing,omitempty"` // what the harness cannot do yet, in one sentence each
	// NoModel means that the agent CLI uses no model, because the program itself decides what a
	// prompt does.
	NoModel   bool      `json:"no_model,omitempty"`
	Transport Transport `json:"transport"`
	// DaemonManaged means that a start normally needs a host agent. The user can allow a start without
	// one.
	DaemonManaged bool         `json:"daemon_managed"`
	Capabilities  Capabilities `json:"capabilities"`
	// which work the events report; the conformance suite and budgets use this
	Work    ReportedWork `json:"-"`
	Command string       `json:"command"` // the name of the program, for a search on PATH
	Install string       `json:"install"` // a line with which the user can install the agent CLI
	// Package is the package that 'coleo harness install' installs, as "npm:NAME" or "pip:NAME". It
	// is empty if neither npm nor pip has the agent CLI.
	Package string `json:"package,omitempty"`
	// Trust is the path, below HOME, of the user's file that --trust-workdir edits.
	// Trust is empty if the agent CLI has no such file.
	Trust string `json:"trust,omitempty"`
	// Attach is the notation with which a prompt names a file for the agent CLI, such as "@{path}".
	// It is empty if the agent CLI has no such notation.
	Attach string `json:"attach,omitempty"`
	// OwnFiles contains patterns of names, such as ".mine.history*". They match files and folders that
	// the agent CLI writes into the work folder for its own use. A merge leaves out each matching file
	// that git does not track.
	OwnFiles []string `json:"own_files,omitempty"`
	// TakesSandbox means that the harness knows which files the agent CLI needs in a sandbox.
	TakesSandbox bool `json:"takes_sandbox,omitempty"`
	// JudgedSandboxes lists the kinds of sandboxes in which the suite's checks have passed. Before
	// an arm starts in any other kind, the user must agree.
	JudgedSandboxes []SandboxKind `json:"judged_sandboxes,omitempty"`
	// Forks means that the agent CLI can start with a copy of a conversation.
	Forks bool `json:"forks,omitempty"`
	// Pack describes the newer rules for reading the screen that this harness uses. It is nil if the
	// harness uses only its own rules.
	Pack *PackInfo `json:"pack,omitempty"`
	// ModelPattern is a regular expression for the names of the agent CLI's models, as PROVIDER/MODEL
	// or MODEL. ModelNames are further names that the agent CLI accepts. There are two reasons for an
	// empty pattern: the agent CLI accepts any name, or it has a catalogue of its models (see
	// Catalog).
	ModelPattern string   `json:"model_pattern,omitempty"`
	ModelNames   []string `json:"model_names,omitempty"`
	// ModelProvider is the provider of the agent CLI's models, such as "anthropic", if there is
	// only one provider.
	ModelProvider string `json:"model_provider,omitempty"`
	Catalog       bool   `json:"catalog"` // whether GET /api/opencode/providers returns the models
}

// PackInfo describes a pack: newer rules for reading the screen, which a harness uses in addition to
// its own rules. See docs/packs.md.
type PackInfo struct {
	Serial   int64    `json:"serial"`
	Versions []string `json:"versions"` // the versions of the agent CLI with which the rules were tested
}

// Judged reports whether the harness or its pack was judged (tested) on the given version of the
// agent CLI.
func (i Info) Judged(version string) bool {
	return slices.Contains(i.Checked, version) || i.Pack != nil && slices.Contains(i.Pack.Versions, version)
}

// Harness drives one agent CLI. It has no state of its own, because the state belongs to its
// sessions.
type Harness interface {
	// Info returns the description of the harness.
	Info() Info
	// Spawn starts the agent CLI and returns as soon as the process runs. The session's
	// state is initializing until the screen or the protocol shows another state. Spawn
	// returns ENotInstalled if the program is missing. It returns EInvalid if it cannot
	// start the agent CLI with this configuration. It returns EUnsupported if the
	// harness can never do what the configuration demands.
	Spawn(ctx context.Context, c SpawnConfig) (Session, error)
	// Attach attaches to the session that the handle h describes. An earlier host agent has started
	// this session. First, the session's holder must prove with its boot id, process identity, nonce
	// and generation that the handle describes this holder. Without this proof, Attach returns
	// EUnproven and leaves the process alone. Attach returns EUnavailable if the holder is gone, and
	// ETimeout if the holder does not answer.
	Attach(ctx context.Context, h Handle) (Session, error)
}

// Cataloguer is a harness whose agent CLI knows providers, models and prices.
type Cataloguer interface {
	// Catalog returns the catalogue of the agent CLI unchanged. Catalog may start the agent CLI
	// to read the catalogue, and then ends the agent CLI again. From c, Catalog uses only the
	// fields that are needed to find the agent CLI: Binary, Path, Environ, Profile, Home, Dir and
	// Workdir.
	Catalog(ctx context.Context, c SpawnConfig) (json.RawMessage, error)
}

// Setting is an option of an agent CLI that changes what the agent CLI shows, or which keys it
// accepts. Coleo is tested with such an option, because a user may have changed it.
type Setting struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // one sentence that says what the setting does
	// Refused is the message with which Spawn refuses the setting. It is empty if the
	// harness works with the setting.
	Refused string `json:"refused,omitempty"`
}

// Settable is a harness that can be tested with settings of its agent CLI.
type Settable interface {
	// Settings returns the settings, in the order of the harness's description.
	Settings() []Setting
	// WithSetting returns a copy of the harness for one setting. In the hermetic
	// profile, the agent CLI of the copy has this setting. WithSetting returns
	// ENotFound if the harness knows no such setting.
	WithSetting(name string) (Harness, error)
}

// Reloader is a session that can adopt a newer description of its harness while it runs.
type Reloader interface {
	// Reload makes the session use the description of h when it reads the screen and when it types.
	// It does not change the options with which the agent CLI was started. Reload returns EInvalid
	// if h is another harness, and EBusy while the session is typing.
	Reload(h Harness) error
}

// Versioned is a session that can find out the version of its agent CLI.
type Versioned interface {
	// Unjudged returns the version of the running agent CLI if the harness is untested on this
	// version: neither the harness nor its pack was judged on it. It returns "" if the version was
	// judged or is unknown. It never waits.
	Unjudged() string
}

// Recorder is a harness that records what the terminals of its sessions show. Its
// methods need no live session, so they also work for an arm that has ended.
type Recorder interface {
	// ScreenAt returns the screen at the given time, accurate to 50 ms. The screen includes the
	// lines that had scrolled off the top by then. If the recording begins later, ScreenAt returns
	// EInvalid with a message that says when the recording begins. For an earlier generation, only
	// the fields Arm and Dir of h are needed.
	ScreenAt(h Handle, at time.Time) (Screen, error)
	// Record returns a piece of output that begins at the given byte offset. If the output at this
	// offset has been deleted, the piece begins with the oldest screen that is still kept.
	Record(h Handle, from int64) (Recording, error)
}

// Recording is a piece of a terminal's recording. The size of a piece is bounded.
type Recording struct {
	Offset int64 `json:"offset"` // the offset of the first byte of output in this piece
	Next   int64 `json:"next"`   // the offset of the next piece
	Until  int64 `json:"until"`  // the offset of the end of all output so far
	// Cols and Rows are the size of the terminal, in cells. They are set only if this piece is the
	// start of a recording.
	Cols   int             `json:"cols,omitempty"`
	Rows   int             `json:"rows,omitempty"`
	Events []RecordedEvent `json:"events"`
}

// RecordedEvent is either output of a terminal or a change of the terminal's size.
type RecordedEvent struct {
	Time time.Time `json:"time"`           // accurate to 50 ms
	Data []byte    `json:"data,omitempty"` // a piece of output, which can end in the middle of a character
	Cols int       `json:"cols,omitempty"` // the new size after a resize, in cells
	Rows int       `json:"rows,omitempty"`
}

// Profile says how much of the user's own environment an agent CLI sees.
type Profile string

// The two profiles with which an agent CLI can be started.
const (
	// ProfileUser uses the user's HOME and login. Coleo does not write to the files of
	// the agent CLI, with one exception: SpawnConfig.TrustWorkdir.
	ProfileUser Profile = "user"
	// ProfileHermetic uses a separate HOME that the harness prepares, a fake key, and
	// the model endpoint from the configuration.
	ProfileHermetic Profile = "hermetic"
)

// PermissionMode says what an agent CLI is allowed to do without asking.
type PermissionMode string

// The permission modes.
const (
	PermissionAsk  PermissionMode = "ask"  // the agent CLI asks before each edit and each command (the default)
	PermissionEdit PermissionMode = "edit" // the agent CLI edits without asking, and asks before each command
	PermissionPlan PermissionMode = "plan" // changes nothing
	PermissionAll  PermissionMode = "all"  // does everything without asking
)

// MCPServer is an MCP server that the agent CLI must start. The agent CLI communicates with it over
// the server's stdin and stdout.
type MCPServer struct {
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// Allowed contains the names of the server's tools that the agent CLI calls without asking.
	Allowed []string `json:"allowed,omitempty"`
}

// Argv returns the command line of the server.
func (m MCPServer) Argv() []string { return append([]string{m.Command}, m.Args...) }

// SpawnConfig contains everything that a harness needs to start its agent CLI. If a field has the
// zero value, the harness uses its own default.
type SpawnConfig struct {
	Arm        string `json:"arm"`        // the arm's id
	Generation int    `json:"generation"` // the number of the start; each start of the arm has a higher number
	Nonce      string `json:"nonce"`      // a random value that identifies this start of the arm
	// Dir is the holder's folder for this generation. It contains the holder's socket and journal.
	// The harness creates this folder if it is missing.
	Dir string `json:"dir"`

	Workdir string   `json:"workdir"` // absolute; must exist
	Binary  string   `json:"binary,omitempty"`
	Path    []string `json:"path,omitempty"` // the folders that are searched for programs before PATH
	Args    []string `json:"args,omitempty"` // arguments that follow the harness's own arguments
	Environ []string `json:"-"`              // the user's variables; the harness passes on only those in its allow-list
	// Env contains variables that the agent CLI gets unchanged. Their values are secrets, so the
	// JSON does not contain Env.
	Env map[string]string `json:"-"`
	// EnvNames contains the names of the variables in Env, for users.
	EnvNames []string `json:"env_names,omitempty"`
	// a wrapper command that starts the agent CLI's program; it must exec the program, so that the pid
	// stays the same
	Wrap []string `json:"wrap,omitempty"`

	Profile Profile `json:"profile"`
	Home    string  `json:"home,omitempty"` // the HOME in ProfileHermetic

	Endpoint       string         `json:"endpoint,omitempty"` // the base URL of another model server, without /v1
	Provider       string         `json:"provider,omitempty"`
	Model          string         `json:"model,omitempty"`
	PermissionMode PermissionMode `json:"permission_mode,omitempty"`
	Conversation   string         `json:"conversation,omitempty"`
	// whether to resume Conversation, instead of starting a new conversation
	Resume bool `json:"resume,omitempty"`
	// Fork is the id of a conversation. If Fork is set, the arm starts with a copy of this
	// conversation. The copy is a new conversation, so Resume is false.
	Fork string `json:"fork,omitempty"`
	// ForkedFrom names the conversation from which the arm's first conversation was copied. It is nil
	// if the arm's first conversation was not copied. It stays the same when the arm is started again.
	ForkedFrom *ForkOrigin `json:"forked_from,omitempty"`
	// Succeeds names the arm whose task this arm has received by a hand-over. It is nil if there
	// was no hand-over.
	Succeeds   *Predecessor `json:"succeeds,omitempty"`
	MCPServers []MCPServer  `json:"mcp_servers,omitempty"`
	Tools      []string     `json:"tools,omitempty"` // the names of Coleo's own tools that the arm has; see ArmTools
	// Parent is the id of the arm whose model asked for this arm. If a person started this arm,
	// Parent is "" and Depth is 0. Otherwise, Depth is one more than the depth of the parent.
	Parent       string      `json:"parent,omitempty"`
	Depth        int         `json:"depth,omitempty"`
	TrustWorkdir bool        `json:"trust_workdir,omitempty"`
	OnPartition  OnPartition `json:"on_partition,omitempty"`
	Policy       PolicyMode  `json:"policy,omitempty"` // "" means PolicyOff
	// Worktree is the arm's own git worktree. It is nil if the arm has none. The host agent makes
	// the worktree before the start, and sets Workdir.
	Worktree *Worktree `json:"worktree,omitempty"`
	// Sandbox is the sandbox of the agent CLI. It is nil if there is no sandbox. The wrapper in
	// Wrap runs outside the sandbox.
	Sandbox *Sandbox `json:"sandbox,omitempty"`
	// Reached lists folders of Coleo that the agent CLI must be able to reach inside its sandbox.
	// The agent CLI cannot write to these folders. The host agent sets Reached at each start.
	Reached []string `json:"-"`
	// OwnNetwork means that the command in Wrap has made a separate network for the agent CLI, in
	// which only the scripted model can be reached. The host agent sets OwnNetwork at each start.
	OwnNetwork bool `json:"-"`
	// OnLimit says what the arm does when it meets a limit of its model. "" means OnLimitWait.
	OnLimit OnLimit `json:"on_limit,omitempty"`
	// ContinueWith is the prompt with which the arm continues after a limit. "" means
	// ContinuePrompt.
	ContinueWith string `json:"continue_with,omitempty"`
	// EndWhenDone means that the arm ends when a run has finished and the arm's queue is empty.
	EndWhenDone bool `json:"end_when_done,omitempty"`
	// Window says where the window is opened, for a harness with the capability Window. If
	// it is nil, the window is opened in tmux.
	Window *WindowPlace `json:"window,omitempty"`

	Cols int `json:"cols,omitempty"` // default 120
	Rows int `json:"rows,omitempty"` // default 40

	// Chosen contains the user's choices since the start. It is nil if the user has chosen nothing.
	Chosen *Chosen `json:"chosen,omitempty"`

	// Keep is the number of bytes of terminal output that the holder keeps. 0 means the holder's
	// default. The host agent sets Keep.
	Keep int64 `json:"-"`
	// AllowSudo allows the agent CLI to get more privileges through programs such as sudo. With
	// these privileges, the agent CLI might be able to type into its own terminal.
	AllowSudo bool `json:"-"`

	// Newer contains the stored fields that only a newer Coleo knows: see CheckKnown.
	Newer map[string]json.RawMessage `json:"-"`
}

// ModelScripted is the name of the scripted model: a program of Coleo that runs on the arm's host and
// answers in place of a model. If a configuration contains a provider or an endpoint, the name means
// a model of that provider or endpoint instead.
const ModelScripted = "scripted"

// Scripted reports whether the arm uses the scripted model.
func (c SpawnConfig) Scripted() bool {
	return c.Model == ModelScripted && c.Provider == "" && c.Endpoint == ""
}

// Identity identifies one process. A pid alone is not enough, because the kernel reuses
// pids.
type Identity struct {
	PID       int    `json:"pid"`
	BootID    string `json:"boot_id"`
	StartTime uint64 `json:"start_time"` // the time of the start, in clock ticks since boot
	// PidfdInode is a number that no other process has. It is 0 if the kernel does not support such
	// numbers.
	PidfdInode uint64 `json:"pidfd_inode,omitempty"`
}

// Handle contains everything that a host agent needs to find a session again after a restart.
type Handle struct {
	Harness      string          `json:"harness"`
	Arm          string          `json:"arm"`
	Generation   int             `json:"generation"`
	Nonce        string          `json:"nonce"`
	Dir          string          `json:"dir"`
	Workdir      string          `json:"workdir"`
	Holder       Identity        `json:"holder"`
	Process      Identity        `json:"process"`
	Conversation string          `json:"conversation,omitempty"`
	Port         int             `json:"port,omitempty"`
	Sandbox      *Sandbox        `json:"sandbox,omitempty"` // the sandbox of the agent CLI; nil if it runs without one
	Extra        json.RawMessage `json:"extra,omitempty"`   // data that only this harness can read
}
