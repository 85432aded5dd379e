package bus

import (
	"time"

	"coleo.dev"
)

// Op names an order to a host agent. The comment of each op has two types: the type of
// the order's data, and the type of the report.
type Op string

// The orders.
const (
	OpSpawn     Op = "spawn"     // SpawnOrder -> ArmReport: start an arm, or its next generation
	OpAdopt     Op = "adopt"     // ArmOrder -> ArmReport: attach to a session again, if its holder proves its identity
	OpKill      Op = "kill"      // ArmOrder -> ArmReport
	OpRemove    Op = "remove"    // ArmOrder -> nothing: forget a stopped arm and delete its files
	OpRename    Op = "rename"    // RenameOrder -> nothing
	OpList      Op = "list"      // nothing -> []ArmReport
	OpReport    Op = "report"    // ArmOrder -> ArmReport
	OpPrompt    Op = "prompt"    // PromptOrder -> coleo.Receipt
	OpRespond   Op = "respond"   // RespondOrder -> nothing
	OpInterrupt Op = "interrupt" // ArmOrder -> coleo.Interruption
	OpCompact   Op = "compact"   // ArmOrder -> coleo.Receipt: shorten the conversation
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
	OpPulse     Op = "pulse"     // PulseOrder -> Pulse: cheap; serve sends it every PulseEvery
	OpPermit    Op = "permit"    // PermitOrder -> Clock: permit typing into arms that need a permit
	OpRelease   Op = "release"   // ReleaseOrder -> nothing: give an arm of host local to a host agent
	OpWindow    Op = "window"    // WindowOrder -> nothing: open the arm's window; answers when it is open
	OpTake      Op = "take"      // ArmOrder -> ArmReport: take up an arm whose folder names this host
)

// Types reports whether the order types into the arm's terminal.
func (o Op) Types() bool {
	return o == OpPrompt || o == OpCompact || o == OpRespond || o == OpInterrupt || o == OpInput
}

// SpawnOrder starts an arm. The host agent fills in Config.Dir, Nonce and Environ. In
// the order, Config.Generation is higher than every generation of the arm that serve
// knows of, on any host. The host agent raises it if it is not higher than every
// generation of the arm on this host.
type SpawnOrder struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Harness string            `json:"harness"`
	Config  coleo.SpawnConfig `json:"config"`
	Resume  bool              `json:"resume,omitempty"` // resume the arm's last conversation
	// Env has the environment variables that the user has given to the arm. No other
	// message has their values. If Env is empty, the host agent uses the arm's stored
	// variables.
	Env map[string]string `json:"env,omitempty"`
	// Script has the answers of the scripted model, as JSON. If Script is empty, the
	// host agent uses the arm's stored script.
	Script string `json:"script,omitempty"`

	// Drawn means that serve has drawn a random ID for this order. So the arm has no
	// earlier start: it has no files yet, and no process has its mark.
	Drawn bool `json:"drawn,omitempty"`
}

// ArmOrder is an order about one arm.
type ArmOrder struct {
	Arm string `json:"arm"`
	// Generation is for OpKill. OpKill ends the arm only if Generation is the arm's
	// last start. 0 means any start.
	Generation int `json:"generation,omitempty"`
}

// WindowOrder opens the window of an arm.
type WindowOrder struct {
	Arm   string             `json:"arm"`
	Place *coleo.WindowPlace `json:"place,omitempty"` // nil: where the arm's start was to open it
}

// ReleaseOrder tells host local to give an arm to a host agent. It is carried out at once
// or refused.
type ReleaseOrder struct {
	Arm string `json:"arm"`
	To  string `json:"to"` // id of the host agent
}

// ArmReport is what a host agent knows of an arm. The host agent gathers it anew for
// each order.
type ArmReport struct {
	ID         string        `json:"id"`
	Name       string        `json:"name"`
	Harness    string        `json:"harness"`
	Generation int           `json:"generation"`
	Desired    coleo.Desired `json:"desired"`
	Handle     *coleo.Handle `json:"handle,omitempty"`
	Reading    coleo.Reading `json:"reading"`
	Attached   bool          `json:"attached"` // the host agent has a live session
	Proof      Proof         `json:"proof"`
	Process    ProcessState  `json:"process"`
	// Blocked is why the arm cannot continue, for example because its journal cannot be
	// written. The agent CLI then waits until it can write output again.
	Blocked      string      `json:"blocked,omitempty"`
	LastOutput   time.Time   `json:"last_output,omitzero"`
	LastActivity time.Time   `json:"last_activity,omitzero"`
	Lease        coleo.Lease `json:"lease,omitzero"`
	// Config is the configuration of the arm's last start, without the secrets that
	// prove the arm's session. If serve has lost its database, it gets the
	// configuration from here.
	Config *coleo.SpawnConfig `json:"config,omitempty"`
}

// Proof says whether a holder was found that belongs to the arm, by the arm's handle.
type Proof string

// The outcomes of a proof.
const (
	Proven   Proof = "proven"
	Unproven Proof = "unproven" // something is there, but it does not belong to the arm
	Silent   Proof = "silent"   // the arm's holder is there but does not answer
	Gone     Proof = "gone"     // nothing is there
)

// ProcessState is the state of the agent CLI's process.
type ProcessState string

// The states of a process.
const (
	ProcessAlive   ProcessState = "alive"
	ProcessStopped ProcessState = "stopped" // stopped by a signal such as SIGSTOP
	ProcessDead    ProcessState = "dead"
	ProcessUnknown ProcessState = "unknown" // the host agent could not look at the process
)

// PulseOrder asks for a pulse about one arm or about all arms.
type PulseOrder struct {
	Arm   string `json:"arm,omitempty"`   // id; "" means all; an older host agent returns all
	Known string `json:"known,omitempty"` // the Mark of the pulse that the sender already has; "" means none
}

// Pulse is what a host agent knows of its arms without asking their holders. A pulse
// describes one moment. Serve believes a pulse for SilentAfter and no longer.
type Pulse struct {
	PID   int        `json:"pid"`
	Epoch string     `json:"epoch"` // Epoch and Head: the end of the host's log before the host agent looked at the arms
	Head  uint64     `json:"head"`
	Arms  []ArmPulse `json:"arms"`
	Of    string     `json:"of,omitempty"` // id of the only arm in this pulse; "" means all arms

	// Mark identifies the contents of Arms in a pulse about all arms. Different
	// contents have different marks. Same means that Mark equals PulseOrder.Known. Arms
	// is then left out.
	Mark string `json:"mark,omitempty"`
	Same bool   `json:"same,omitempty"`
}

// ArmPulse is one arm's part of a pulse.
type ArmPulse struct {
	ID         string `json:"id"`
	Generation int    `json:"generation"`
	Attached   bool   `json:"attached"` // the host agent has a live session and reads the arm's screen
	// Starting means that the host agent is carrying out an order to start, end or
	// attach to the arm.
	Starting bool         `json:"starting,omitempty"`
	Process  ProcessState `json:"process"`
	PID      int          `json:"pid,omitempty"`     // of the agent CLI
	Blocked  string       `json:"blocked,omitempty"` // why the arm cannot continue, as last noted

	NeedsPermit bool `json:"needs_permit,omitempty"` // typing needs a permit

	Unjudged string `json:"unjudged,omitempty"` // the version of the agent CLI, if nobody has judged the rules on it
}

// PulseEvery is the time between two of serve's pulse requests to the same host agent. A
// request takes about 100 µs. The host agent looks at a living process at most every 2 s,
// so only with every second request.
//
// If a host agent sends no answer for SilentAfter, serve reports that nobody watches the
// arms of that host. Serve checks for silence with each request, so users see the report
// within 5 s. SilentAfter is long enough to tolerate one lost answer.
const (
	PulseEvery  = 1500 * time.Millisecond
	SilentAfter = 3500 * time.Millisecond
)

// PromptOrder sends a prompt to the arm's agent CLI.
type PromptOrder struct {
	Arm    string       `json:"arm"`
	Prompt coleo.Prompt `json:"prompt"`
	Lease  string       `json:"lease,omitempty"` // the lease of the sender, if the sender has one
}

// PermitOrder permits typing into the named arms until the time Until. Until is a time
// on the clock that Clock names. If Clock is not the host agent's own clock, the order
// permits nothing. The answer always names the host agent's clock. Serve sends an empty
// Clock to ask for it.
type PermitOrder struct {
	Clock string        `json:"clock,omitempty"`
	Until time.Duration `json:"until,omitempty"`
	Arms  []ArmOrder    `json:"arms,omitempty"`
}

// Clock is one reading of a host agent's clock. Now is the time since the machine was
// started, including sleep. ID names the process of the host agent that read the clock.
type Clock struct {
	ID  string        `json:"id"`
	Now time.Duration `json:"now"`
}

// RenameOrder gives an arm another name.
type RenameOrder struct {
	Arm  string `json:"arm"`
	Name string `json:"name"`
}

// RespondOrder answers a dialog. If the fingerprint is empty, the order answers
// whichever dialog is open.
type RespondOrder struct {
	Arm      string            `json:"arm"`
	Dialog   coleo.Fingerprint `json:"dialog,omitempty"`
	Decision coleo.Decision    `json:"decision"`
	Lease    string            `json:"lease,omitempty"`
}

// ScreenOrder asks for an arm's screen. If At is zero, this is the present screen.
// Otherwise it is the screen at that time.
type ScreenOrder struct {
	Arm string    `json:"arm"`
	At  time.Time `json:"at,omitzero"`

	History int `json:"history,omitempty"` // the maximum number of lines that have scrolled away
}

// RecordOrder asks for a piece of an arm's recording. The piece starts at an offset.
// Generation 0 means the arm's last generation.
type RecordOrder struct {
	Arm        string `json:"arm"`
	Generation int    `json:"generation,omitempty"`
	From       int64  `json:"from"`
}

// OutputOrder asks for terminal output, starting at an offset. A negative offset counts
// from the end of the output. If there is no output yet, the host agent waits for it,
// but at most for Wait.
type OutputOrder struct {
	Arm  string        `json:"arm"`
	From int64         `json:"from"`
	Wait time.Duration `json:"wait,omitempty"`
}

// InputOrder types raw keys. The sender must have the lease.
type InputOrder struct {
	Arm   string `json:"arm"`
	Lease string `json:"lease"`
	Data  []byte `json:"data"`
}

// ResizeOrder changes the size of a terminal, in cells. The sender must have the lease.
type ResizeOrder struct {
	Arm   string `json:"arm"`
	Lease string `json:"lease"`
	Cols  int    `json:"cols"`
	Rows  int    `json:"rows"`
}

// LeaseOrder takes, renews or releases the right to type by hand. Holder is the name
// that users see as the owner of the lease.
type LeaseOrder struct {
	Arm     string `json:"arm"`
	ID      string `json:"id,omitempty"` // if empty, take a new lease
	Holder  string `json:"holder,omitempty"`
	Release bool   `json:"release,omitempty"`
}

// EventsOrder asks for the events of a host's log that come after a given event. After is
// the number of the given event, and Epoch is its epoch. If Epoch is set and the log does
// not have the given event, the answer starts with the log's first event.
type EventsOrder struct {
	After uint64 `json:"after"`
	Epoch string `json:"epoch,omitempty"` // "" means any epoch
	Limit int    `json:"limit"`
}

// Events is a piece of a host's log.
type Events struct {
	Epoch   string        `json:"epoch"` // of the newest event
	List    []coleo.Event `json:"list"`
	Head    uint64        `json:"head"`              // the newest sequence number
	Checked bool          `json:"checked,omitempty"` // the host agent has looked for the requested position
	Deleted uint64        `json:"deleted,omitempty"` // old events up to this number may have been deleted
}

// Beat is a host agent's heartbeat. The host agent sends it every BeatEvery, and after
// each start and end of an arm.
type Beat struct {
	ID           string    `json:"id"`
	Hostname     string    `json:"hostname"`
	Platform     string    `json:"platform"`
	Version      string    `json:"version"`
	PID          int       `json:"pid"`
	StartedAt    time.Time `json:"started_at"`
	Capabilities []string  `json:"capabilities"` // harnesses whose agent CLI is installed
	MaxArms      int       `json:"max_arms"`
	// Arms has the arms that have a session with a proven identity, and whose process
	// is alive and not stopped.
	Arms []ArmBeat `json:"arms"`
	// If the beat is about a single arm, Of is the id of that arm. The other arms are
	// then unchanged. If Of is "", the beat is about all arms.
	Of string `json:"of,omitempty"`
	// Pulse is the pulse of the arm in Of. It describes the arm at Epoch and Head. An
	// older host agent sends nil.
	Pulse *ArmPulse `json:"pulse,omitempty"`
	Epoch string    `json:"epoch"`
	Head  uint64    `json:"head"`
	// TakesGiven means that the host agent uses Env and Script of a SpawnOrder, and
	// knows the scripted model and OnPartition. An older host agent would ignore these
	// fields and start the arm.
	TakesGiven bool `json:"takes_given,omitempty"`
	// TakesLocal means that the host agent knows OpTake, and leaves the arms of host local
	// alone until then.
	TakesLocal bool `json:"takes_local,omitempty"`
}

// ArmBeat is one arm's part of a beat.
type ArmBeat struct {
	ID         string    `json:"id"`
	Generation int       `json:"generation,omitempty"`
	LastOutput time.Time `json:"last_output,omitzero"`
}

// BeatEvery is the time between two heartbeats of a host agent. If a host agent sends
// no heartbeat for HostStale, it counts as gone.
const (
	BeatEvery = 30 * time.Second
	HostStale = 90 * time.Second
)
