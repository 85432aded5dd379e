package bus

import (
	"time"

	"coleo.dev"
)

// Op names an order to a host agent. The comment of each op has the types of its order
// and its report.
type Op string

// The orders.
const (
	OpSpawn     Op = "spawn"     // SpawnOrder -> ArmReport: start an arm, or its next generation
	OpAdopt     Op = "adopt"     // ArmOrder -> ArmReport: attach to a session again, on proof
	OpKill      Op = "kill"      // ArmOrder -> ArmReport
	OpRemove    Op = "remove"    // ArmOrder -> nothing: forget a stopped arm and delete its files
	OpRename    Op = "rename"    // RenameOrder -> nothing
	OpList      Op = "list"      // nothing -> []ArmReport
	OpReport    Op = "report"    // ArmOrder -> ArmReport
	OpPrompt    Op = "prompt"    // PromptOrder -> coleo.Receipt
	OpRespond   Op = "respond"   // RespondOrder -> nothing
	OpInterrupt Op = "interrupt" // ArmOrder -> nothing
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
	OpPulse     Op = "pulse"     // PulseOrder -> Pulse: cheap, sent every PulseEvery
	OpPermit    Op = "permit"    // PermitOrder -> Clock: permit typing into arms that need it
)

// Types reports whether the order types into the arm's terminal.
func (o Op) Types() bool {
	return o == OpPrompt || o == OpRespond || o == OpInterrupt || o == OpInput
}

// SpawnOrder starts an arm. The host agent fills in Config.Dir, Nonce and Environ. It
// also sets the final Generation, which is newer than any generation of the arm on this
// host. Config.Generation in the order is newer than any that serve knows of on any host.
type SpawnOrder struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Harness string            `json:"harness"`
	Config  coleo.SpawnConfig `json:"config"`
	Resume  bool              `json:"resume,omitempty"` // resume the arm's last conversation
	// Env is the environment given for the arm, with its values. The values are sent in
	// no other place. If Env is empty, the stored environment applies.
	Env map[string]string `json:"env,omitempty"`
	// Script is what the scripted model answers, as JSON. If it is empty, the stored
	// script applies.
	Script string `json:"script,omitempty"`

	// Drawn means that ID was drawn at random for this very order. No process can then
	// carry the arm's mark, and nothing of an earlier start can exist.
	Drawn bool `json:"drawn,omitempty"`
}

// ArmOrder is an order about one arm.
type ArmOrder struct {
	Arm string `json:"arm"`
	// Generation is for OpKill, which ends the arm only if this is its last start. 0
	// means any start.
	Generation int `json:"generation,omitempty"`
}

// ArmReport is what a host agent knows of an arm. The host agent looks it up for each
// request.
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
	// Blocked is why the arm cannot go on, for example because its journal cannot be
	// written. Its agent CLI then stands still.
	Blocked      string      `json:"blocked,omitempty"`
	LastOutput   time.Time   `json:"last_output,omitzero"`
	LastActivity time.Time   `json:"last_activity,omitzero"`
	Lease        coleo.Lease `json:"lease,omitzero"`
	// Config is the configuration of the arm's last start, without the secrets that prove
	// its session. A serve that has lost its database learns it here.
	Config *coleo.SpawnConfig `json:"config,omitempty"`
}

// Proof tells whether a holder is the one that an arm's handle names.
type Proof string

// The outcomes of a proof.
const (
	Proven   Proof = "proven"
	Unproven Proof = "unproven" // something is there, but it is not the arm's
	Silent   Proof = "silent"   // its holder is there but does not answer
	Gone     Proof = "gone"     // nothing is there
)

// ProcessState is the state of the agent CLI's process.
type ProcessState string

// The states of a process.
const (
	ProcessAlive   ProcessState = "alive"
	ProcessStopped ProcessState = "stopped" // by a signal, such as SIGSTOP
	ProcessDead    ProcessState = "dead"
	ProcessUnknown ProcessState = "unknown" // the host agent could not look at it
)

// PulseOrder asks for a pulse, of one arm or of all arms.
type PulseOrder struct {
	Arm   string `json:"arm,omitempty"`   // id; "" means all; an older host agent returns all
	Known string `json:"known,omitempty"` // the Mark of a pulse that the sender has; "" means none
}

// Pulse is what a host agent knows of its arms without asking their holders. It is
// evidence of this moment. Serve believes it for SilentAfter, and no longer.
type Pulse struct {
	PID   int        `json:"pid"`
	Epoch string     `json:"epoch"` // of the log; with Head, its end before the host agent looked at the arms
	Head  uint64     `json:"head"`
	Arms  []ArmPulse `json:"arms"`
	Of    string     `json:"of,omitempty"` // id of the only arm in this pulse; "" means all arms

	// Mark names the contents of Arms for all arms. Different contents have different
	// marks. Same means that the mark is the sender's Known, and that Arms is left out.
	Mark string `json:"mark,omitempty"`
	Same bool   `json:"same,omitempty"`
}

// ArmPulse is one arm's part of a pulse.
type ArmPulse struct {
	ID         string `json:"id"`
	Generation int    `json:"generation"`
	Attached   bool   `json:"attached"` // the host agent has a live session and reads its screen
	// Starting means that an order to start, end or attach to the arm is being carried
	// out.
	Starting bool         `json:"starting,omitempty"`
	Process  ProcessState `json:"process"`
	PID      int          `json:"pid,omitempty"`     // of the agent CLI
	Blocked  string       `json:"blocked,omitempty"` // why the arm stands still, as last noted

	NeedsPermit bool `json:"needs_permit,omitempty"` // typing needs a permit
}

// PulseEvery is the time between two pulse requests of serve to each host agent. A pulse
// costs a request and one look at each process, some 100 µs.
//
// SilentAfter is the time without an answer after which serve reports that nobody watches
// the arms. Serve checks it with each pulse, so users see it within 5 s. One pulse may
// get lost.
const (
	PulseEvery  = 1500 * time.Millisecond
	SilentAfter = 3500 * time.Millisecond
)

// PromptOrder sends a prompt to the arm's agent CLI.
type PromptOrder struct {
	Arm    string       `json:"arm"`
	Prompt coleo.Prompt `json:"prompt"`
	Lease  string       `json:"lease,omitempty"` // of the sender, if it has one
}

// PermitOrder permits typing into the named arms until a time. Until is a time on the clock
// that Clock names; the host agent refuses any other clock than its own. An order without
// Clock only asks for the host agent's clock.
type PermitOrder struct {
	Clock string        `json:"clock,omitempty"`
	Until time.Duration `json:"until,omitempty"`
	Arms  []ArmOrder    `json:"arms,omitempty"`
}

// Clock is a host agent's clock. Now is the time since its machine was started, including
// sleep. ID names the process of the host agent that read the clock.
type Clock struct {
	ID  string        `json:"id"`
	Now time.Duration `json:"now"`
}

// RenameOrder gives an arm another name.
type RenameOrder struct {
	Arm  string `json:"arm"`
	Name string `json:"name"`
}

// RespondOrder answers a dialog. Without a fingerprint it answers the open dialog.
type RespondOrder struct {
	Arm      string            `json:"arm"`
	Dialog   coleo.Fingerprint `json:"dialog,omitempty"`
	Decision coleo.Decision    `json:"decision"`
	Lease    string            `json:"lease,omitempty"`
}

// ScreenOrder asks for an arm's screen, as it is now or as it was at a time.
type ScreenOrder struct {
	Arm string    `json:"arm"`
	At  time.Time `json:"at,omitzero"`

	History int `json:"history,omitempty"` // the maximum number of lines that have scrolled away
}

// RecordOrder asks for a piece of an arm's recording, starting at an offset. Generation 0
// means the last one.
type RecordOrder struct {
	Arm        string `json:"arm"`
	Generation int    `json:"generation,omitempty"`
	From       int64  `json:"from"`
}

// OutputOrder asks for terminal output, starting at an offset. It waits for output for up
// to Wait. A negative offset counts from the end.
type OutputOrder struct {
	Arm  string        `json:"arm"`
	From int64         `json:"from"`
	Wait time.Duration `json:"wait,omitempty"`
}

// InputOrder types raw keys under a lease.
type InputOrder struct {
	Arm   string `json:"arm"`
	Lease string `json:"lease"`
	Data  []byte `json:"data"`
}

// ResizeOrder changes the size of a terminal under a lease, in cells.
type ResizeOrder struct {
	Arm   string `json:"arm"`
	Lease string `json:"lease"`
	Cols  int    `json:"cols"`
	Rows  int    `json:"rows"`
}

// LeaseOrder takes, renews or releases the right to type by hand. Holder is the name of
// whoever has it, for users.
type LeaseOrder struct {
	Arm     string `json:"arm"`
	ID      string `json:"id,omitempty"` // empty: take a new one
	Holder  string `json:"holder,omitempty"`
	Release bool   `json:"release,omitempty"`
}

// EventsOrder asks for the events after the event with the number After and the epoch
// Epoch. If the log has no such event, the answer starts with the log's first event.
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
	Checked bool          `json:"checked,omitempty"` // the host agent has checked that it has the requested position
	Deleted uint64        `json:"deleted,omitempty"` // old events up to this number may have been deleted
}

// Beat is a host agent's heartbeat. It is sent every BeatEvery, and after each start and
// end of an arm.
type Beat struct {
	ID           string    `json:"id"`
	Hostname     string    `json:"hostname"`
	Platform     string    `json:"platform"`
	Version      string    `json:"version"`
	PID          int       `json:"pid"`
	StartedAt    time.Time `json:"started_at"`
	Capabilities []string  `json:"capabilities"` // harnesses whose agent CLI is installed
	MaxArms      int       `json:"max_arms"`
	// Arms are the arms with a session, whose identity is proven, and whose process is alive
	// and not stopped.
	Arms []ArmBeat `json:"arms"`
	// Of is the id of the only arm in this beat. Everything else is then unchanged. ""
	// means that the beat is about all arms.
	Of string `json:"of,omitempty"`
	// Pulse is the pulse of that arm, as of Epoch and Head. An older host agent sends
	// nil.
	Pulse *ArmPulse `json:"pulse,omitempty"`
	Epoch string    `json:"epoch"`
	Head  uint64    `json:"head"`
	// TakesGiven means that the host agent uses Env and Script of a SpawnOrder, and knows
	// the scripted model and OnPartition. An older host agent would start the arm without
	// them.
	TakesGiven bool `json:"takes_given,omitempty"`
}

// ArmBeat is one arm's part of a beat.
type ArmBeat struct {
	ID         string    `json:"id"`
	Generation int       `json:"generation,omitempty"`
	LastOutput time.Time `json:"last_output,omitzero"`
}

// BeatEvery is the time between two heartbeats of a host agent. A host agent without a
// heartbeat for HostStale counts as gone.
const (
	BeatEvery = 30 * time.Second
	HostStale = 90 * time.Second
)
