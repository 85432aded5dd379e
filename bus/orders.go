package bus

import (
	"time"

	"coleo.dev"
)

// Op names a command to a host agent. The types of its order and its report
// are named beside it.
type Op string

// The commands.
const (
	OpSpawn     Op = "spawn"     // SpawnOrder -> ArmReport: start an arm, or its next generation
	OpAdopt     Op = "adopt"     // ArmOrder -> ArmReport: take up a session again, on proof
	OpKill      Op = "kill"      // ArmOrder -> ArmReport
	OpRemove    Op = "remove"    // ArmOrder -> nothing: forget a stopped arm and its journal
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
	OpPulse     Op = "pulse"     // PulseOrder -> Pulse: cheap, asked every PulseEvery
	OpPermit    Op = "permit"    // PermitOrder -> Clock: let arms be typed into that need it
)

// Types tells whether the command types into the arm's terminal.
func (o Op) Types() bool {
	return o == OpPrompt || o == OpRespond || o == OpInterrupt || o == OpInput
}

// SpawnOrder starts an arm. Config.Dir, Nonce and Environ are the host agent's to
// fill in, and so is Generation, which must be newer than any that it had here:
// Config.Generation is newer than any that serve knows of, on whatever host.
type SpawnOrder struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Harness string            `json:"harness"`
	Config  coleo.SpawnConfig `json:"config"`
	Resume  bool              `json:"resume,omitempty"` // take up the arm's last conversation
	// Env is the environment that is given for the arm, with its values. This is
	// the only place where they are sent. Empty: what was given before holds.
	Env map[string]string `json:"env,omitempty"`
	// Script is what the scripted model answers, as JSON. Empty: what was given
	// before holds.
	Script string `json:"script,omitempty"`

	// Drawn says that ID was drawn at random for this very order. Then no process
	// can carry the arm's mark, and nothing of an earlier start can be there.
	Drawn bool `json:"drawn,omitempty"`
}

// ArmOrder is about one arm.
type ArmOrder struct {
	Arm        string `json:"arm"`
	Generation int    `json:"generation,omitempty"` // of OpKill: end the arm only if this is its last start; 0: whichever is
}

// ArmReport is what a host agent knows of an arm, looked up when it is asked.
type ArmReport struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Harness      string        `json:"harness"`
	Generation   int           `json:"generation"`
	Desired      coleo.Desired `json:"desired"`
	Handle       *coleo.Handle `json:"handle,omitempty"`
	Reading      coleo.Reading `json:"reading"`
	Attached     bool          `json:"attached"` // the host agent holds a live session
	Proof        Proof         `json:"proof"`
	Process      ProcessState  `json:"process"`
	Blocked      string        `json:"blocked,omitempty"` // why the arm's journal cannot be written: its agent CLI stands still
	LastOutput   time.Time     `json:"last_output,omitzero"`
	LastActivity time.Time     `json:"last_activity,omitzero"`
	Lease        coleo.Lease   `json:"lease,omitzero"`
	// Config is how the arm was started last, without what proves its session.
	// A serve that has lost its database learns it here.
	Config *coleo.SpawnConfig `json:"config,omitempty"`
}

// Proof says whether a holder is the one that an arm's handle names.
type Proof string

// The outcomes of a proof.
const (
	Proven   Proof = "proven"
	Unproven Proof = "unproven" // something is there, and it is not the arm's
	Silent   Proof = "silent"   // its holder is there and does not answer
	Gone     Proof = "gone"     // nothing is there
)

// ProcessState says how the agent CLI's process is.
type ProcessState string

// The states of a process.
const (
	ProcessAlive   ProcessState = "alive"
	ProcessStopped ProcessState = "stopped" // by a signal, such as SIGSTOP
	ProcessDead    ProcessState = "dead"
)

// PulseOrder asks for a pulse: of one arm, or of all.
type PulseOrder struct {
	Arm   string `json:"arm,omitempty"`   // id; "": all. An older host agent tells of all.
	Known string `json:"known,omitempty"` // the Mark of a pulse that the sender has; "": none
}

// Pulse is what a host agent knows of its arms without asking their holders. It
// is evidence of this moment: serve believes it for SilentAfter, no longer.
type Pulse struct {
	PID   int        `json:"pid"`
	Epoch string     `json:"epoch"` // of the log, with Head: where it ended before the arms were looked at
	Head  uint64     `json:"head"`
	Arms  []ArmPulse `json:"arms"`
	Of    string     `json:"of,omitempty"` // id: the pulse is about this arm alone; "": about all

	// Mark names what Arms says of all arms: whatever differs has another mark. Same
	// says that it is the mark that the sender knows, and that Arms is left out.
	Mark string `json:"mark,omitempty"`
	Same bool   `json:"same,omitempty"`
}

// ArmPulse is one arm's part of a pulse.
type ArmPulse struct {
	ID         string       `json:"id"`
	Generation int          `json:"generation"`
	Attached   bool         `json:"attached"`           // the host agent holds a live session and reads its screen
	Starting   bool         `json:"starting,omitempty"` // an order to start, end or take up the arm is being carried out
	Process    ProcessState `json:"process"`
	PID        int          `json:"pid,omitempty"`     // of the agent CLI
	Blocked    string       `json:"blocked,omitempty"` // why the arm stands still, as it was noted last

	NeedsPermit bool `json:"needs_permit,omitempty"` // it is typed into only under a permit
}

// PulseEvery is how often serve asks each host agent for its pulse: a request
// and one look at each process, some 100 µs. SilentAfter is after how long
// without an answer serve says that nobody watches the arms. It is looked at with
// each pulse, so people learn of it within 5 s, and one pulse may get lost.
const (
	PulseEvery  = 1500 * time.Millisecond
	SilentAfter = 3500 * time.Millisecond
)

// PromptOrder sends a prompt.
type PromptOrder struct {
	Arm    string       `json:"arm"`
	Prompt coleo.Prompt `json:"prompt"`
	Lease  string       `json:"lease,omitempty"` // of who sends it, when it holds one
}

// PermitOrder lets arms be typed into that need a permit. It is not carried out
// unless Clock names the clock that Until is on. An order without a clock asks for it.
type PermitOrder struct {
	Clock string        `json:"clock,omitempty"`
	Until time.Duration `json:"until,omitempty"`
	Arms  []ArmOrder    `json:"arms,omitempty"`
}

// Clock is a host agent's clock: the time since its machine was started, sleep
// included. ID names the run of the host agent that read it.
type Clock struct {
	ID  string        `json:"id"`
	Now time.Duration `json:"now"`
}

// RenameOrder gives an arm another name.
type RenameOrder struct {
	Arm  string `json:"arm"`
	Name string `json:"name"`
}

// RespondOrder answers a dialog. Without a fingerprint it answers the one that
// is open.
type RespondOrder struct {
	Arm      string            `json:"arm"`
	Dialog   coleo.Fingerprint `json:"dialog,omitempty"`
	Decision coleo.Decision    `json:"decision"`
	Lease    string            `json:"lease,omitempty"`
}

// ScreenOrder asks for an arm's screen, as it stands or as it stood at a time.
type ScreenOrder struct {
	Arm string    `json:"arm"`
	At  time.Time `json:"at,omitzero"`

	History int `json:"history,omitempty"` // how many lines that have scrolled away come with it, at most
}

// RecordOrder asks for the piece of an arm's recording from an offset on, of its
// last generation when it names none.
type RecordOrder struct {
	Arm        string `json:"arm"`
	Generation int    `json:"generation,omitempty"`
	From       int64  `json:"from"`
}

// OutputOrder asks for terminal output from an offset on. It waits for some up
// to Wait. An offset below 0 is counted from the end.
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

// ResizeOrder gives a terminal another size under a lease, in cells.
type ResizeOrder struct {
	Arm   string `json:"arm"`
	Lease string `json:"lease"`
	Cols  int    `json:"cols"`
	Rows  int    `json:"rows"`
}

// LeaseOrder takes, renews or gives back the right to type by hand. Holder
// tells others who has it.
type LeaseOrder struct {
	Arm     string `json:"arm"`
	ID      string `json:"id,omitempty"` // empty: take a new one
	Holder  string `json:"holder,omitempty"`
	Release bool   `json:"release,omitempty"`
}

// EventsOrder asks for events behind a position: a sequence number and the epoch
// of the event that has it. Where the log has no such event its answer begins
// with the first event.
type EventsOrder struct {
	After uint64 `json:"after"`
	Epoch string `json:"epoch,omitempty"` // "": whatever the epoch
	Limit int    `json:"limit"`
}

// Events is a piece of a host's log.
type Events struct {
	Epoch   string        `json:"epoch"` // of the newest event
	List    []coleo.Event `json:"list"`
	Head    uint64        `json:"head"`              // newest sequence number there is
	Checked bool          `json:"checked,omitempty"` // the host agent has looked for the position that was asked for
	Deleted uint64        `json:"deleted,omitempty"` // up to this number old events may have been deleted
}

// Beat is a host agent's sign of life, sent every BeatEvery and after each
// start.
type Beat struct {
	ID           string    `json:"id"`
	Hostname     string    `json:"hostname"`
	Platform     string    `json:"platform"`
	Version      string    `json:"version"`
	PID          int       `json:"pid"`
	StartedAt    time.Time `json:"started_at"`
	Capabilities []string  `json:"capabilities"` // harnesses whose agent CLI is installed
	MaxArms      int       `json:"max_arms"`
	Arms         []ArmBeat `json:"arms"`            // whose identity is proven, whose process is not stopped and whose reader lives
	Of           string    `json:"of,omitempty"`    // the beat is about this arm alone, and all else is as before; "": about all
	Pulse        *ArmPulse `json:"pulse,omitempty"` // of that arm, as of Epoch and Head; nil from an older host agent
	Epoch        string    `json:"epoch"`
	Head         uint64    `json:"head"`
	// TakesGiven says that the host agent heeds Env and Script of a SpawnOrder, and
	// knows the scripted model and OnPartition. Older ones would start the arm
	// without them.
	TakesGiven bool `json:"takes_given,omitempty"`
}

// ArmBeat is one arm's part of a beat.
type ArmBeat struct {
	ID         string    `json:"id"`
	Generation int       `json:"generation,omitempty"`
	LastOutput time.Time `json:"last_output,omitzero"`
}

// BeatEvery is how often a host agent beats, and HostStale after how long
// without a beat it counts as gone (spec section 5).
const (
	BeatEvery = 30 * time.Second
	HostStale = 90 * time.Second
)
