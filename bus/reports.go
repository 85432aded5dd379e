package bus

import (
	"time"

	"coleo.dev"
)

// ArmReport contains what a host agent knows about an arm. The host agent collects these facts
// again for each report.
type ArmReport struct {
	ID         string        `json:"id"`
	Name       string        `json:"name"`
	Harness    string        `json:"harness"`
	Generation int           `json:"generation"`
	Desired    coleo.Desired `json:"desired"`
	Handle     *coleo.Handle `json:"handle,omitempty"`
	Reading    coleo.Reading `json:"reading"`
	Attached   bool          `json:"attached"` // whether the host agent has a live session of the arm
	Proof      Proof         `json:"proof"`
	Process    ProcessState  `json:"process"`
	// Blocked is the reason why the arm cannot continue. For example, if the arm's output cannot be
	// written to its journal, the agent CLI waits until the journal can be written again.
	Blocked      string      `json:"blocked,omitempty"`
	LastOutput   time.Time   `json:"last_output,omitzero"`
	LastActivity time.Time   `json:"last_activity,omitzero"`
	Lease        coleo.Lease `json:"lease,omitzero"`
	// Queue is the summary of the arm's queue, or nil.
	Queue *coleo.QueueState `json:"queue,omitempty"`
	// Config is the configuration of the arm's last start, without the nonce, the environment, and
	// values that apply only to that start. If serve has lost its database, it takes the
	// configuration from this field.
	Config *coleo.SpawnConfig `json:"config,omitempty"`
}

// Proof says what a host agent has found when it looked for the arm's holder by the arm's handle.
type Proof string

// The values of Proof.
const (
	Proven   Proof = "proven"
	Unproven Proof = "unproven" // there is a holder or a process, but it cannot prove that it belongs to the arm
	Silent   Proof = "silent"   // the arm's holder exists, but does not reply
	Gone     Proof = "gone"     // neither a holder nor a process exists
)

// ProcessState is the state of the agent CLI's process.
type ProcessState string

// The states of a process.
const (
	ProcessAlive   ProcessState = "alive"
	ProcessStopped ProcessState = "stopped" // a signal such as SIGSTOP has stopped the process
	ProcessDead    ProcessState = "dead"
	ProcessUnknown ProcessState = "unknown" // the host agent could not check the process
)

// PulseOrder asks for a Pulse, a short report about one arm or about all arms.
type PulseOrder struct {
	// the arm's id; "" means all arms; an older host agent ignores it and reports about all arms
	Arm   string `json:"arm,omitempty"`
	Known string `json:"known,omitempty"` // the Mark of the last pulse that the sender has; "" if it has none
}

// Pulse is a short report about a host agent's arms at one moment. The host agent makes it without
// asking the holders. Serve relies on a pulse for the time SilentAfter.
type Pulse struct {
	PID int `json:"pid"`
	// Epoch and Head are the end of the host's log just before the host agent made the pulse.
	Epoch string     `json:"epoch"`
	Head  uint64     `json:"head"`
	Arms  []ArmPulse `json:"arms"`
	Of    string     `json:"of,omitempty"` // the arm's id if the pulse is about one arm; "" if it is about all arms

	// Mark identifies the content of Arms in a pulse about all arms. Different contents have different
	// marks. If Mark equals PulseOrder.Known, serve already has the content. Then Same is true, and
	// the pulse omits Arms.
	Mark string `json:"mark,omitempty"`
	Same bool   `json:"same,omitempty"`
}

// ArmPulse is the part of a pulse for one arm.
type ArmPulse struct {
	ID         string `json:"id"`
	Generation int    `json:"generation"`
	Attached   bool   `json:"attached"` // whether the host agent has a live session and reads the arm's screen
	// Starting means that the host agent is carrying out an order to start the arm, to end it, or
	// to attach to it.
	Starting bool         `json:"starting,omitempty"`
	Process  ProcessState `json:"process"`
	PID      int          `json:"pid,omitempty"` // the pid of the agent CLI
	// the reason why the arm cannot continue, as the host agent last noted it
	Blocked string `json:"blocked,omitempty"`

	NeedsPermit bool `json:"needs_permit,omitempty"` // whether typing into the arm needs a permit

	Unjudged string `json:"unjudged,omitempty"` // the agent CLI's version if the rules were not tested on it; otherwise ""

	// Chosen is the number of the coleo.Chosen that the host agent has stored for the arm, or 0. An
	// older host agent does not set it.
	Chosen int `json:"chosen,omitempty"`
}

// PulseEvery is the time between two pulse requests from serve to the same host agent. A request
// takes about 100 µs. A host agent checks a living process at most every 2 s, so only every second
// request causes such a check.
//
// If a host agent does not reply for SilentAfter, serve reports that nobody watches the host's arms.
// SilentAfter is long enough for one lost reply. Serve checks for silence before each request, so that users
// see the report within 5 s.
const (
	PulseEvery  = 1500 * time.Millisecond
	SilentAfter = 3500 * time.Millisecond
)

// Beat is a host agent's sign of life. The host agent publishes it without being asked: every
// BeatEvery, and whenever an arm has started or ended.
type Beat struct {
	ID           string    `json:"id"`
	Hostname     string    `json:"hostname"`
	Platform     string    `json:"platform"`
	Version      string    `json:"version"`
	PID          int       `json:"pid"`
	StartedAt    time.Time `json:"started_at"`
	Capabilities []string  `json:"capabilities"` // the harnesses whose agent CLI is installed
	MaxArms      int       `json:"max_arms"`     // the largest number of arms that may run; 0 means no limit
	// Arms contains the arms that run. An arm runs if its session has proved its identity, and its
	// process is alive and not stopped by a signal.
	Arms []ArmBeat `json:"arms"`
	// Of is the id of the arm if the beat is about one arm, or "" if it is about all arms. A beat
	// about one arm also means that the other arms have not changed.
	Of string `json:"of,omitempty"`
	// Pulse is the pulse of the arm with the id Of, at the log position in Epoch and Head. It is
	// nil in the beat of an older host agent.
	Pulse *ArmPulse `json:"pulse,omitempty"`
	Epoch string    `json:"epoch"`
	Head  uint64    `json:"head"`
	// TakesGiven means that the host agent uses Env and Script of a SpawnOrder, and knows the
	// scripted model and OnPartition. An older host agent ignores these fields, but starts the arm.
	TakesGiven bool `json:"takes_given,omitempty"`
	// TakesForks means that the host agent knows SpawnConfig.Fork. An older host agent
	// would start a new conversation.
	TakesForks bool `json:"takes_forks,omitempty"`
	// TakesLocal means that the host agent knows OpTake. Such a host agent attaches to
	// an arm of host local only after OpTake.
	TakesLocal bool `json:"takes_local,omitempty"`
	// TakesFiles means that the host agent adds the Files of a prompt to the prompt's text. An
	// older host agent would send the prompt without them.
	TakesFiles bool `json:"takes_files,omitempty"`
	// TakesTools means that the host agent knows SpawnConfig.Tools.
	TakesTools bool `json:"takes_tools,omitempty"`
	// TakesSubarms means that the host agent knows the tools for subarms, and the first prompt of
	// a SpawnOrder.
	TakesSubarms bool `json:"takes_subarms,omitempty"`
	// TakesPolicy means that the host agent knows SpawnConfig.Policy. With an older host agent, a
	// person must answer each dialog.
	TakesPolicy bool `json:"takes_policy,omitempty"`
	// TakesWorktrees means that the host agent knows SpawnConfig.Worktree. An older host agent
	// would start the arm in the named folder itself.
	TakesWorktrees bool `json:"takes_worktrees,omitempty"`
	// TakesClones means that the host agent makes a clone for an arm with a worktree and a sandbox. An
	// older host agent would make a worktree, in which git cannot commit.
	TakesClones bool `json:"takes_clones,omitempty"`
	// TakesWith means that the host agent makes worktrees of several repositories for one arm. An
	// older host agent would make only a worktree of the first repository.
	TakesWith bool `json:"takes_with,omitempty"`
	// TakesDefault means that an order can change the model of the next start without changing the
	// present model.
	TakesDefault bool `json:"takes_default,omitempty"`
	// TakesSandbox means that the host agent knows SpawnConfig.Sandbox. An older host agent
	// would start the agent CLI without a sandbox.
	TakesSandbox bool `json:"takes_sandbox,omitempty"`
	// TakesSandboxNet means that the host agent knows sandbox networks that reach only some hosts.
	// An older host agent would refuse the start without a helpful reason.
	TakesSandboxNet bool `json:"takes_sandbox_net,omitempty"`
	// TakesSandboxLimit means that the host agent knows the limits of a sandbox. An older host
	// agent would ignore them.
	TakesSandboxLimit bool `json:"takes_sandbox_limit,omitempty"`
	// TakesContainers means that the host agent knows containers of docker and podman. An older
	// host agent would refuse the start without a helpful reason.
	TakesContainers bool `json:"takes_containers,omitempty"`
	// TakesBudget means that the host agent enforces budgets. An older host agent would ignore
	// them.
	TakesBudget bool `json:"takes_budget,omitempty"`
	// TakesTriggers means that the host agent accepts a SpawnOrder.Request for an arm without a
	// parent.
	TakesTriggers bool `json:"takes_triggers,omitempty"`
	// TakesEndWhenDone means that the host agent knows SpawnConfig.EndWhenDone. An older host agent
	// would never end such an arm.
	TakesEndWhenDone bool `json:"takes_end_when_done,omitempty"`
	// TakesAlternatives means that the host agent knows OpAlternative. With an older host agent, a
	// parked arm only waits.
	TakesAlternatives bool `json:"takes_alternatives,omitempty"`
	// TakesOnLimit means that the host agent knows OpOnLimit.
	TakesOnLimit bool `json:"takes_on_limit,omitempty"`
	// Requests is the number of approved requests that OpRequests would return.
	Requests int `json:"requests,omitempty"`
}

// HasRoom reports whether the host agent can run one more arm.
func (b Beat) HasRoom() bool { return b.MaxArms <= 0 || len(b.Arms) < b.MaxArms }

// ArmBeat is the part of a beat for one arm.
type ArmBeat struct {
	ID         string    `json:"id"`
	Generation int       `json:"generation,omitempty"`
	LastOutput time.Time `json:"last_output,omitzero"`
}

// BeatEvery is the time between two beats of a host agent. A host agent counts as gone if it sends
// no beat for HostStale.
const (
	BeatEvery = 30 * time.Second
	HostStale = 90 * time.Second
)

// Removed is the report about a removed arm. An older host agent sends no report.
type Removed struct {
	Dropped int    `json:"dropped"`        // the number of prompts that were in the arm's queue
	Kept    string `json:"kept,omitempty"` // the ref that contains the unsaved work of the arm's worktree
	// KeptToo contains the refs of the other worktrees, if the arm had worktrees of several
	// repositories. Stays is the folder above the worktrees, if the host agent kept it because it
	// contains other files.
	KeptToo []string `json:"kept_too,omitempty"`
	Stays   string   `json:"stays,omitempty"`
}
