package coleo

import (
	"context"
	"encoding/json"
	"slices"
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
// tests each capability that the harness claims, and skips the others. The API and a
// harness.toml use the same names for the fields. The page docs/harness-reference.md
// repeats the comments of the fields.
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
	// It draws its whole picture again when Coleo makes it do so.
	Redraw bool `json:"redraw" toml:"redraw"`
	// Its user sees it in a terminal window of its own, which Coleo opens.
	Window bool `json:"window" toml:"window"`
}

// Support is how complete a harness is.
type Support string

// The levels of support.
const (
	SupportFull     Support = "full"     // the harness claims every capability of the agent CLI, and all are tested
	SupportPartial  Support = "partial"  // every claimed capability is tested; Info.Missing lists the others
	SupportDeclared Support = "declared" // written from notes or source code, never run under Coleo
)

// Info describes a harness.
type Info struct {
	Name    string   `json:"name"`    // "claude-code"
	Title   string   `json:"title"`   // "Claude Code"
	Version string   `json:"version"` // of the harness, not of the agent CLI
	Checked []string `json:"checked"` // the versions of the agent CLI that the harness was checked with
	Support Support  `json:"support"`
	Missing []string `json:"missing,omitempty"` // one sentence for each missing part
	// NoModel means that the harness uses no model. The program itself decides what a
	// prompt does.
	NoModel       bool         `json:"no_model,omitempty"`
	Transport     Transport    `json:"transport"`
	DaemonManaged bool         `json:"daemon_managed"` // needs a host agent, unless the user allows a local start
	Capabilities  Capabilities `json:"capabilities"`
	Command       string       `json:"command"` // the program, as looked up on PATH
	Install       string       `json:"install"` // one line that tells the user how to install the agent CLI
	// Package is "npm:NAME" or "pip:NAME". 'coleo harness install' installs this
	// package. Package is empty if neither npm nor pip has the agent CLI.
	Package string `json:"package,omitempty"`
	// Trust is the path, below HOME, of the user's file that --trust-workdir edits.
	// Trust is empty if the agent CLI has no such file.
	Trust string `json:"trust,omitempty"`
	// Pack is the pack that is in use for this harness; nil if there is none.
	Pack    *PackInfo `json:"pack,omitempty"`
	Catalog bool      `json:"catalog"` // the models come from the catalogue of GET /api/opencode/providers
}

// PackInfo says which newer reading rules a harness uses beside its own. See docs/packs.md.
type PackInfo struct {
	Serial   int64    `json:"serial"`
	Versions []string `json:"versions"` // the versions of the agent CLI on which the rules were judged
}

// Judged reports whether the harness or its pack was judged on a version of the agent CLI.
func (i Info) Judged(version string) bool {
	return slices.Contains(i.Checked, version) || i.Pack != nil && slices.Contains(i.Pack.Versions, version)
}

// Harness drives one agent CLI. A Harness has no state of its own. Its sessions have
// state.
type Harness interface {
	// Info returns the description of the harness.
	Info() Info
	// Spawn starts the agent CLI and returns as soon as its process runs. The session's
	// state is initializing until the screen or the protocol shows another state. Spawn
	// returns ENotInstalled if the program is missing. Spawn returns EInvalid if it
	// cannot start the agent CLI with this configuration. Spawn returns EUnsupported if
	// the harness can never do what the configuration asks for.
	Spawn(ctx context.Context, c SpawnConfig) (Session, error)
	// Attach attaches to a session that an earlier host agent started. The holder must
	// prove that it is the holder named in the handle. The proof consists of the boot
	// id, the process identity, the nonce and the generation. If the proof fails,
	// Attach returns EUnproven and leaves the process alone. Attach returns
	// EUnavailable if the holder is gone, and ETimeout if the holder does not answer.
	Attach(ctx context.Context, h Handle) (Session, error)
}

// Cataloguer is a harness whose agent CLI knows providers, models and prices.
type Cataloguer interface {
	// Catalog returns the agent CLI's catalogue unchanged. To read the catalogue,
	// Catalog may start the agent CLI and end it again. Catalog uses only those fields
	// of c that are needed to find the agent CLI: Binary, Path, Environ, Profile, Home,
	// Dir and Workdir.
	Catalog(ctx context.Context, c SpawnConfig) (json.RawMessage, error)
}

// Setting is a setting that users of an agent CLI may have chosen. It changes what the
// agent CLI shows, or which keys it takes.
type Setting struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // one sentence that tells what the setting does
	// Refused is the sentence with which Spawn refuses the setting. If it is empty, the
	// harness works with the setting.
	Refused string `json:"refused,omitempty"`
}

// Settable is a harness that knows settings of users, with which it can be tested.
type Settable interface {
	// Settings returns the settings, in the order of the description.
	Settings() []Setting
	// WithSetting returns the same harness, whose agent CLI has the setting in the
	// hermetic profile. WithSetting returns ENotFound if the harness knows no such
	// setting.
	WithSetting(name string) (Harness, error)
}

// Reloader is a session that can switch to a newer description of its harness while it
// runs.
type Reloader interface {
	// Reload replaces the description by which the session reads the screen and types.
	// The new description is that of h. The options with which the agent CLI was
	// started stay as they are. Reload returns EInvalid if h is another harness. Reload
	// returns EBusy while the session is typing.
	Reload(h Harness) error
}

// Versioned is a session that may know which version of its agent CLI runs.
type Versioned interface {
	// Unjudged returns the version that runs, if neither the description of the harness
	// nor its pack was judged on it. It returns "" if the version is not known. It never
	// waits.
	Unjudged() string
}

// Recorder is a harness that records what the terminals of its sessions show. A
// Recorder needs no live session, so it also works for an arm that has ended.
type Recorder interface {
	// ScreenAt returns the screen as it was at the given time, accurate to 50 ms. The
	// screen includes the lines that had scrolled away by then. For an earlier
	// generation, h needs only the fields Arm and Dir. ScreenAt returns EInvalid if the
	// recording begins after at. The error says when the recording begins.
	ScreenAt(h Handle, at time.Time) (Screen, error)
	// Record returns the piece of output that begins at the given offset. If the output
	// at this offset has been deleted, the piece begins with the oldest screen that is
	// still kept.
	Record(h Handle, from int64) (Recording, error)
}

// Recording is a piece of what a terminal showed. Its size is bounded.
type Recording struct {
	Offset int64 `json:"offset"` // of the first byte of output
	Next   int64 `json:"next"`   // offset of the next piece
	Until  int64 `json:"until"`  // the present end of the output
	// Cols and Rows are the size of the terminal, in cells. They are set if the piece
	// is the start of a recording.
	Cols   int             `json:"cols,omitempty"`
	Rows   int             `json:"rows,omitempty"`
	Events []RecordedEvent `json:"events"`
}

// RecordedEvent is output or a resize of a terminal.
type RecordedEvent struct {
	Time time.Time `json:"time"`           // accurate to 50 ms
	Data []byte    `json:"data,omitempty"` // output; may end in the middle of a character
	Cols int       `json:"cols,omitempty"` // of a resize, in cells
	Rows int       `json:"rows,omitempty"`
}

// Profile is how much of the user's own environment an agent CLI sees.
type Profile string

// The two launch profiles.
const (
	// ProfileUser runs with the user's HOME and login. Coleo does not write to the
	// agent CLI's own files, except for SpawnConfig.TrustWorkdir.
	ProfileUser Profile = "user"
	// ProfileHermetic runs with a separate HOME that the harness prepares, a fake key and
	// a given model endpoint.
	ProfileHermetic Profile = "hermetic"
)

// PermissionMode is how freely the agent CLI may act.
type PermissionMode string

// The permission modes.
const (
	PermissionAsk  PermissionMode = "ask"  // asks before each edit and each command (default)
	PermissionEdit PermissionMode = "edit" // edits without asking, asks before each command
	PermissionPlan PermissionMode = "plan" // changes nothing
	PermissionAll  PermissionMode = "all"  // asks for nothing
)

// MCPServer is an MCP server that the agent CLI must start. The agent CLI communicates
// with the server over stdin and stdout.
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
	Args    []string `json:"args,omitempty"` // appended to the harness's own arguments
	Environ []string `json:"-"`              // the harness's allow-list decides which of these are passed on
	// Env has variables that the agent CLI gets unchanged. Their values are secrets, so
	// Env is in no JSON.
	Env map[string]string `json:"-"`
	// EnvNames has the names of the variables in Env. Coleo shows these names to users.
	EnvNames []string `json:"env_names,omitempty"`
	Wrap     []string `json:"wrap,omitempty"` // command before the program; must exec the program and keep the pid

	Profile Profile `json:"profile"`
	Home    string  `json:"home,omitempty"` // HOME in ProfileHermetic

	Endpoint       string         `json:"endpoint,omitempty"` // base URL of another model server, without /v1
	Provider       string         `json:"provider,omitempty"`
	Model          string         `json:"model,omitempty"`
	PermissionMode PermissionMode `json:"permission_mode,omitempty"`
	Conversation   string         `json:"conversation,omitempty"`
	Resume         bool           `json:"resume,omitempty"` // resume Conversation instead of starting a new one
	MCPServers     []MCPServer    `json:"mcp_servers,omitempty"`
	TrustWorkdir   bool           `json:"trust_workdir,omitempty"`
	OnPartition    OnPartition    `json:"on_partition,omitempty"`
	// Window says where the window is opened, for a harness with the capability Window. If
	// it is nil, the window is opened in tmux.
	Window *WindowPlace `json:"window,omitempty"`

	Cols int `json:"cols,omitempty"` // default 120
	Rows int `json:"rows,omitempty"` // default 40

	// Keep is how many bytes of the terminal's output the holder keeps. 0 means the
	// holder's own bound. The host agent sets Keep.
	Keep int64 `json:"-"`
	// AllowSudo lets the agent CLI gain privileges through programs such as sudo. With
	// these privileges the agent CLI might be able to type into its own terminal.
	AllowSudo bool `json:"-"`
}

// OnPartition says what happens to an arm while serve cannot reach the arm.
type OnPartition string

// The values of OnPartition. In both cases the agent CLI continues its work.
const (
	PartitionRun OnPartition = "run" // the default: the arm's host agent still types what serve has ordered
	// PartitionFreeze makes the holder refuse all keys until serve confirms that no
	// second start of the arm can be running.
	PartitionFreeze OnPartition = "freeze"
)

// Valid reports whether p is one of the values above or the empty string.
func (p OnPartition) Valid() bool { return p == "" || p == PartitionRun || p == PartitionFreeze }

// ModelScripted is the model name that selects the scripted model. The configuration
// must then have no provider and no endpoint. The scripted model is a program of Coleo.
// It runs on the arm's host and answers in place of a model.
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

// Handle has everything that a restarted host agent needs to find a session again.
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
	Extra        json.RawMessage `json:"extra,omitempty"` // only this harness can read it
}
