package coleo

import (
	"context"
	"encoding/json"
	"time"
)

// Transport is how a harness communicates with its agent CLI.
type Transport string

// The two transports.
const (
	TransportPTY  Transport = "pty"
	TransportHTTP Transport = "http"
)

// Capabilities is what an agent CLI can do through its harness. The conformance suite
// tests each claimed capability, and skips the others. The names are the same in the API
// and in a harness.toml. The comments of the fields are in docs/harness-reference.md.
type Capabilities struct {
	// It starts MCP servers and calls their tools.
	MCP bool `json:"mcp" toml:"mcp"`
	// It shows an answer while the model still writes it.
	Streaming bool `json:"streaming" toml:"streaming"`
	// A running turn stops when Coleo tells it to.
	Interrupt bool `json:"interrupt" toml:"interrupt"`
	// It shortens its conversation on a command.
	Compact bool `json:"compact" toml:"compact"`
	// A prompt continues the conversation of the prompts before it.
	MultiTurn bool `json:"multi_turn" toml:"multi_turn"`
	// The model can write and change files.
	FileEditing bool `json:"file_editing" toml:"file_editing"`
	// The model can run commands.
	CommandExecution bool `json:"command_execution" toml:"command_execution"`
	// It asks before it acts, in the permission mode `ask`.
	Approval bool `json:"approval" toml:"approval"`
	// It can resume a conversation after a kill.
	Resume bool `json:"resume" toml:"resume"`
	// It keeps a prompt that arrives during a turn.
	QueueWhileBusy bool `json:"queue" toml:"queue"`
	// The model can be chosen at the start.
	ModelFlag bool `json:"model_flag" toml:"model_flag"`
	// The model can ask the user to choose an option.
	Question bool `json:"question" toml:"question"`
	// It counts the tokens of a turn.
	Usage bool `json:"usage" toml:"usage"`
}

// Support is how complete a harness is.
type Support string

// The levels of support.
const (
	SupportFull     Support = "full"     // everything the agent CLI has is claimed and tested
	SupportPartial  Support = "partial"  // what is claimed is tested; Missing lists the rest
	SupportDeclared Support = "declared" // written from notes or source code, never run under Coleo
)

// Info describes a harness.
type Info struct {
	Name    string   `json:"name"`    // "claude-code"
	Title   string   `json:"title"`   // "Claude Code"
	Version string   `json:"version"` // of the harness, not of the agent CLI
	Checked []string `json:"checked"` // the versions of the agent CLI that it was checked with
	Support Support  `json:"support"`
	Missing []string `json:"missing,omitempty"` // one sentence for each missing part
	// NoModel means that the harness uses no model. The program itself decides what a
	// prompt does.
	NoModel       bool         `json:"no_model,omitempty"`
	Transport     Transport    `json:"transport"`
	DaemonManaged bool         `json:"daemon_managed"` // needs a host agent, unless the user allows a local start
	Capabilities  Capabilities `json:"capabilities"`
	Command       string       `json:"command"` // the program, as looked up on PATH
	Install       string       `json:"install"` // one line that tells the user how to install it
	// Package is "npm:NAME" or "pip:NAME", for 'coleo harness install'. It is empty if
	// there is no such package.
	Package string `json:"package,omitempty"`
	// Trust is the user's file, below HOME, that --trust-workdir edits. It is empty if
	// there is none.
	Trust   string `json:"trust,omitempty"`
	Catalog bool   `json:"catalog"` // models come from the catalogue of GET /api/opencode/providers
}

// Harness drives one agent CLI. A Harness has no state of its own. Its sessions have
// state.
type Harness interface {
	// Info returns the description of the harness.
	Info() Info
	// Spawn starts the agent CLI and returns as soon as its process runs. The session
	// reads initializing until the screen or the protocol shows another state. Spawn
	// returns ENotInstalled if the program is missing. It returns EInvalid for a
	// configuration that it cannot carry out, and EUnsupported for one that it can never
	// carry out.
	Spawn(ctx context.Context, c SpawnConfig) (Session, error)
	// Attach attaches to a session that an earlier host agent started. The holder must prove
	// that it is the one in the handle, by boot id, process identity, nonce and generation.
	// If the proof fails, Attach returns EUnproven and leaves the process alone. It returns
	// EUnavailable if the holder is gone, and ETimeout if the holder does not answer.
	Attach(ctx context.Context, h Handle) (Session, error)
}

// Cataloguer is a harness whose agent CLI knows providers, models and prices.
type Cataloguer interface {
	// Catalog returns the agent CLI's catalogue unchanged. It may start the agent CLI and
	// end it again. It uses only the fields of c that find the agent CLI: Binary, Path,
	// Environ, Profile, Home, Dir and Workdir.
	Catalog(ctx context.Context, c SpawnConfig) (json.RawMessage, error)
}

// Reloader is a session that can switch to a newer description of its harness while it
// runs.
type Reloader interface {
	// Reload makes the session read the screen and type according to h from now on. The
	// options with which the agent CLI was started stay as they are. Reload returns
	// EInvalid if h is another harness, and EBusy while something is being typed.
	Reload(h Harness) error
}

// Recorder is a harness that records what the terminals of its sessions show. It needs no
// live session, so it also works for an arm that has ended.
type Recorder interface {
	// ScreenAt returns the screen at a time, to 50 ms, with the lines that had scrolled
	// away. A handle of an earlier generation needs only Arm and Dir. ScreenAt returns
	// EInvalid if the recording begins later. The error says when it begins.
	ScreenAt(h Handle, at time.Time) (Screen, error)
	// Record returns the piece of output that begins at an offset. If that output is no
	// longer kept, the piece begins with the oldest screen that is.
	Record(h Handle, from int64) (Recording, error)
}

// Recording is a piece of what a terminal showed. Its size is bounded.
type Recording struct {
	Offset int64 `json:"offset"` // of the first byte of output
	Next   int64 `json:"next"`   // offset of the next piece
	Until  int64 `json:"until"`  // the present end of the output
	// of the terminal, in cells, if the piece is the start of a recording
	Cols   int             `json:"cols,omitempty"`
	Rows   int             `json:"rows,omitempty"`
	Events []RecordedEvent `json:"events"`
}

// RecordedEvent is output or a resize of a terminal.
type RecordedEvent struct {
	Time time.Time `json:"time"`           // accurate to 50 ms
	Data []byte    `json:"data,omitempty"` // output; may end inside a character
	Cols int       `json:"cols,omitempty"` // of a resize, in cells
	Rows int       `json:"rows,omitempty"`
}

// Profile is how much of the user's own environment an agent CLI sees.
type Profile string

// The two launch profiles.
const (
	// ProfileUser runs with the user's HOME and login. Coleo writes none of the agent CLI's
	// own files, unless SpawnConfig.TrustWorkdir needs it.
	ProfileUser Profile = "user"
	// ProfileHermetic runs with a separate HOME that the harness prepares, a fake key and
	// a given model endpoint.
	ProfileHermetic Profile = "hermetic"
)

// PermissionMode is how freely the agent CLI may act.
type PermissionMode string

// The permission modes.
const (
	PermissionAsk  PermissionMode = "ask"  // asks for every edit and command (default)
	PermissionEdit PermissionMode = "edit" // makes edits without asking, asks for commands
	PermissionPlan PermissionMode = "plan" // changes nothing
	PermissionAll  PermissionMode = "all"  // asks for nothing
)

// MCPServer is a stdio MCP server that the agent CLI must start.
type MCPServer struct {
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// Argv returns the server's command line.
func (m MCPServer) Argv() []string { return append([]string{m.Command}, m.Args...) }

// SpawnConfig is everything that a harness needs to start its agent CLI. The zero value
// of a field means the harness's own default.
type SpawnConfig struct {
	Arm        string `json:"arm"`        // id of the arm
	Generation int    `json:"generation"` // increases by at least one at each start of the arm
	Nonce      string `json:"nonce"`      // random; names this start
	// Dir is the folder of this generation's holder, with its socket and journal. The
	// harness creates it if it is missing.
	Dir string `json:"dir"`

	Workdir string   `json:"workdir"` // absolute; must exist
	Binary  string   `json:"binary,omitempty"`
	Path    []string `json:"path,omitempty"` // folders to search before PATH
	Args    []string `json:"args,omitempty"` // appended to the harness's own
	Environ []string `json:"-"`              // the harness's allow-list decides which of these are passed on
	// passed on unchanged; the values are secrets, so no JSON has them
	Env map[string]string `json:"-"`
	// EnvNames are the names in Env, for users.
	EnvNames []string `json:"env_names,omitempty"`
	Wrap     []string `json:"wrap,omitempty"` // arguments before the program: must exec it and keep the pid

	Profile Profile `json:"profile"`
	Home    string  `json:"home,omitempty"` // HOME in ProfileHermetic

	Endpoint       string         `json:"endpoint,omitempty"` // base URL of another model server, without /v1
	Provider       string         `json:"provider,omitempty"`
	Model          string         `json:"model,omitempty"`
	PermissionMode PermissionMode `json:"permission_mode,omitempty"`
	Conversation   string         `json:"conversation,omitempty"`
	Resume         bool           `json:"resume,omitempty"` // resume Conversation instead of starting it
	MCPServers     []MCPServer    `json:"mcp_servers,omitempty"`
	TrustWorkdir   bool           `json:"trust_workdir,omitempty"`
	OnPartition    OnPartition    `json:"on_partition,omitempty"`

	Cols int `json:"cols,omitempty"` // default 120
	Rows int `json:"rows,omitempty"` // default 40

	// Keep is how much of the terminal's output to keep, in bytes. 0 means the holder's
	// own bound. The host agent sets it.
	Keep int64 `json:"-"`
	// AllowSudo lets the agent CLI gain privileges by programs such as sudo. It may then
	// be able to type into its own terminal.
	AllowSudo bool `json:"-"`
}

// OnPartition is what happens to an arm that serve cannot reach.
type OnPartition string

// The values of OnPartition. In both cases the agent CLI continues its work.
const (
	PartitionRun OnPartition = "run" // the default: its host agent types what was ordered
	// PartitionFreeze makes the holder refuse keys until serve confirms that no other
	// start of the arm may run.
	PartitionFreeze OnPartition = "freeze"
)

// Valid reports whether p is one of the values above or empty.
func (p OnPartition) Valid() bool { return p == "" || p == PartitionRun || p == PartitionFreeze }

// ModelScripted is the name of the scripted model, without provider and endpoint. The
// scripted model is a program of Coleo that answers in place of a model, on the arm's
// host.
const ModelScripted = "scripted"

// Scripted reports whether the arm uses the scripted model.
func (c SpawnConfig) Scripted() bool {
	return c.Model == ModelScripted && c.Provider == "" && c.Endpoint == ""
}

// Identity identifies one process. The pid alone is not enough, because pids are reused.
type Identity struct {
	PID       int    `json:"pid"`
	BootID    string `json:"boot_id"`
	StartTime uint64 `json:"start_time"` // clock ticks since boot
	// PidfdInode is unique for each process if the kernel supports it. Otherwise it is 0.
	PidfdInode uint64 `json:"pidfd_inode,omitempty"`
}

// Handle has everything that a new host agent needs to find a session again.
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
	Extra        json.RawMessage `json:"extra,omitempty"` // understood only by this harness
}
