package coleo

import (
	"context"
	"encoding/json"
	"time"
)

// Transport is how a harness speaks with its agent CLI.
type Transport string

// The two transports.
const (
	TransportPTY  Transport = "pty"
	TransportHTTP Transport = "http"
)

// Capabilities says what an agent CLI can do through its harness. A claimed
// one is judged by the conformance suite; one not claimed is skipped there.
type Capabilities struct {
	MCP              bool `json:"mcp"`
	Streaming        bool `json:"streaming"`
	Interrupt        bool `json:"interrupt"`
	Compact          bool `json:"compact"`
	MultiTurn        bool `json:"multi_turn"`
	FileEditing      bool `json:"file_editing"`
	CommandExecution bool `json:"command_execution"`
	Approval         bool `json:"approval"`   // asks before it acts, in PermissionAsk
	Resume           bool `json:"resume"`     // can take up a conversation after a kill
	QueueWhileBusy   bool `json:"queue"`      // keeps a prompt that arrives in the middle of a turn
	ModelFlag        bool `json:"model_flag"` // the model can be chosen at start
	Question         bool `json:"question"`   // the model can ask the user to pick an option
	Usage            bool `json:"usage"`      // keeps an account of tokens
}

// Support is how far a harness goes.
type Support string

// The levels of support.
const (
	SupportFull     Support = "full"     // what its agent CLI has is claimed and judged
	SupportPartial  Support = "partial"  // what is claimed is judged; Missing says what is not there
	SupportDeclared Support = "declared" // described from notes or source, never run under Coleo
)

// Info describes a harness.
type Info struct {
	Name          string       `json:"name"`    // "claude-code"
	Title         string       `json:"title"`   // "Claude Code"
	Version       string       `json:"version"` // of the harness, not of the agent CLI
	Checked       []string     `json:"checked"` // versions of the agent CLI it was checked with
	Support       Support      `json:"support"`
	Missing       []string     `json:"missing,omitempty"`  // what is not full about it, a sentence each
	NoModel       bool         `json:"no_model,omitempty"` // it asks no model: what a prompt does is the program's own affair
	Transport     Transport    `json:"transport"`
	DaemonManaged bool         `json:"daemon_managed"` // runs under a host agent only (spec section 8)
	Capabilities  Capabilities `json:"capabilities"`
	Command       string       `json:"command"`           // the program, as looked up on PATH
	Install       string       `json:"install"`           // one line: how a person installs it
	Package       string       `json:"package,omitempty"` // "npm:NAME" or "pip:NAME", for 'coleo harness install'; empty: it has none
	Trust         string       `json:"trust,omitempty"`   // the user's file, below HOME, that --trust-workdir edits; empty: none
	Catalog       bool         `json:"catalog"`           // its models are looked up in the catalogue of GET /api/opencode/providers
}

// Harness knows one agent CLI. It holds no state of its own: sessions do.
//
// Spawn starts the agent CLI and returns as soon as its process runs; the
// session reads initializing until the screen or the protocol says otherwise.
// Errors: ENotInstalled when the program is missing, EInvalid for a
// configuration it cannot carry out, EUnsupported for one it never can.
//
// Attach takes up a session that an earlier host agent started. It succeeds
// only when the holder proves by boot id, process identity, nonce and
// generation that it is the one in the handle; else EUnproven, and whatever
// failed the proof is left alone.
type Harness interface {
	Info() Info
	Spawn(ctx context.Context, c SpawnConfig) (Session, error)
	Attach(ctx context.Context, h Handle) (Session, error)
}

// Cataloguer is a harness whose agent CLI knows providers, models and prices.
type Cataloguer interface {
	// Catalog asks the agent CLI for its catalogue, as it gives it. It may
	// start the agent CLI and end it again. Of c only what finds the agent CLI
	// counts: Binary, Path, Environ, Profile, Home, Dir, Workdir.
	Catalog(ctx context.Context, c SpawnConfig) (json.RawMessage, error)
}

// Reloader is a session that can go by a newer description of its harness while
// it runs.
type Reloader interface {
	// Reload reads the screen, and types, by h from now on; how the agent CLI
	// was started stays. Errors: EInvalid when h is another harness, EBusy while
	// something is being typed.
	Reload(h Harness) error
}

// Recorder is a harness that keeps what the terminals of its sessions show. It
// needs no live session: an arm that has ended can be asked too.
type Recorder interface {
	// ScreenAt returns the screen as it stood at a time, to 50 ms, with what had
	// scrolled away. Of an earlier
	// generation a handle needs no more than arm and folder. Error: EInvalid
	// when what is kept begins later; it says when.
	ScreenAt(h Handle, at time.Time) (Screen, error)
	// Record returns the piece of output that begins at an offset. Where that
	// is no longer kept the piece begins with the oldest screen there is.
	Record(h Handle, from int64) (Recording, error)
}

// Recording is a piece of what a terminal showed, of bounded size.
type Recording struct {
	Offset int64           `json:"offset"`         // of the first byte of output
	Next   int64           `json:"next"`           // where the next piece begins
	Until  int64           `json:"until"`          // where the output ends at present
	Cols   int             `json:"cols,omitempty"` // of the terminal, in cells, when the piece begins a recording
	Rows   int             `json:"rows,omitempty"`
	Events []RecordedEvent `json:"events"`
}

// RecordedEvent is output or a resize of a terminal.
type RecordedEvent struct {
	Time time.Time `json:"time"`           // right to 50 ms
	Data []byte    `json:"data,omitempty"` // output; may end within a character
	Cols int       `json:"cols,omitempty"` // of a resize, in cells
	Rows int       `json:"rows,omitempty"`
}

// Profile is how much of the user's own world an agent CLI sees.
type Profile string

// The two launch profiles.
const (
	// ProfileUser runs with the user's HOME and login; nothing of the agent
	// CLI's own files is written.
	ProfileUser Profile = "user"
	// ProfileHermetic runs with a HOME of its own, seeded by the harness, a
	// fake key and a given model endpoint.
	ProfileHermetic Profile = "hermetic"
)

// PermissionMode is how freely the agent CLI may act.
type PermissionMode string

// The permission modes.
const (
	PermissionAsk  PermissionMode = "ask"  // every edit and command is asked for (default)
	PermissionEdit PermissionMode = "edit" // edits run unasked, commands are asked for
	PermissionPlan PermissionMode = "plan" // nothing is changed
	PermissionAll  PermissionMode = "all"  // nothing is asked
)

// MCPServer is one stdio MCP server that the agent CLI shall start.
type MCPServer struct {
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// Argv returns the server's command line.
func (m MCPServer) Argv() []string { return append([]string{m.Command}, m.Args...) }

// SpawnConfig is everything that a harness needs to start its agent CLI. The
// zero value of a field means the harness's own default.
type SpawnConfig struct {
	Arm        string `json:"arm"`        // id of the arm
	Generation int    `json:"generation"` // one more at each start of the arm
	Nonce      string `json:"nonce"`      // random, names this start
	Dir        string `json:"dir"`        // folder of this generation's holder: socket, journal; made if missing

	Workdir string            `json:"workdir"` // absolute; must exist
	Binary  string            `json:"binary,omitempty"`
	Path    []string          `json:"path,omitempty"` // folders searched before PATH
	Args    []string          `json:"args,omitempty"` // appended to the harness's own
	Environ []string          `json:"-"`              // what the harness may pass on, by its allow-list
	Env     map[string]string `json:"-"`              // passed on as it is; its values are secrets, so they are in no JSON
	// EnvNames are the names in Env, for people.
	EnvNames []string `json:"env_names,omitempty"`
	Wrap     []string `json:"wrap,omitempty"` // argv put before the program: must exec it, keeping the pid

	Profile Profile `json:"profile"`
	Home    string  `json:"home,omitempty"` // HOME in ProfileHermetic

	Endpoint       string         `json:"endpoint,omitempty"` // base URL of another model server, without /v1
	Provider       string         `json:"provider,omitempty"`
	Model          string         `json:"model,omitempty"`
	PermissionMode PermissionMode `json:"permission_mode,omitempty"`
	Conversation   string         `json:"conversation,omitempty"`
	Resume         bool           `json:"resume,omitempty"` // take up Conversation instead of starting it
	MCPServers     []MCPServer    `json:"mcp_servers,omitempty"`
	TrustWorkdir   bool           `json:"trust_workdir,omitempty"`
	OnPartition    OnPartition    `json:"on_partition,omitempty"`

	Cols int `json:"cols,omitempty"` // 120
	Rows int `json:"rows,omitempty"` // 40

	// Keep is how much of the terminal's output is kept, in bytes; 0 means the
	// holder's own bound. It is the host's to say.
	Keep int64 `json:"-"`
	// AllowSudo lets the agent CLI gain rights by programs such as sudo. It may
	// then be able to type into its own terminal.
	AllowSudo bool `json:"-"`
}

// OnPartition says what becomes of an arm that serve cannot reach.
type OnPartition string

// What may become of it. Either way its agent CLI goes on with what it does.
const (
	PartitionRun    OnPartition = "run"    // the default: its host agent types what it was ordered to
	PartitionFreeze OnPartition = "freeze" // its holder refuses keys until serve confirms that no other start of it may run
)

// Valid tells whether it is one of the above, or left out.
func (p OnPartition) Valid() bool { return p == "" || p == PartitionRun || p == PartitionFreeze }

// ModelScripted is the name, without provider and endpoint, of the scripted model:
// a program of Coleo's that answers in place of a model, on the arm's host.
const ModelScripted = "scripted"

// Scripted tells whether the arm talks to the scripted model.
func (c SpawnConfig) Scripted() bool {
	return c.Model == ModelScripted && c.Provider == "" && c.Endpoint == ""
}

// Identity names one process beyond its pid, which alone is reused.
type Identity struct {
	PID        int    `json:"pid"`
	BootID     string `json:"boot_id"`
	StartTime  uint64 `json:"start_time"`            // clock ticks since boot
	PidfdInode uint64 `json:"pidfd_inode,omitempty"` // unique per process where the kernel has it; else 0
}

// Handle is all that finds a session again after a restart of the host agent.
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
	Extra        json.RawMessage `json:"extra,omitempty"` // what only this harness understands
}
