// Package recovery decides what to do about an arm: it takes evidence and returns a
// remedy.
//
// It is pure. It does not start, kill or ask anything. The host agents gather the
// evidence, and the brain carries out the remedy.
package recovery

import "coleo.dev"

// Action is the kind of a remedy.
type Action string

// The actions. If Remedy.Sweep is set, an action that starts an agent CLI sweeps first.
// Nothing is started while a process of an earlier generation may still run.
const (
	Reattach        Action = "reattach"         // attach to the session that was found
	KillAndRestart  Action = "kill_and_restart" // end the proven session with its whole tree, then start
	Restart         Action = "restart"          // start with a new conversation
	RestartResuming Action = "restart_resuming" // start and resume the old conversation
	Refuse          Action = "refuse"           // nothing can be done; Reason tells the user why
	Nothing         Action = "nothing"          // nothing needs to be done
)

// LocalHost means this process itself, without a host agent.
const LocalHost = "local"

// Proof tells whether the session that was found is the one that the arm's handle names.
// The values are those of package bus. "" means that nobody could look.
type Proof string

// The outcomes of a proof.
const (
	Proven   Proof = "proven"
	Unproven Proof = "unproven" // something is there, but it is not known to be the arm's
	Silent   Proof = "silent"   // its holder is there but does not answer: it is stopped, or its disk hangs
	Gone     Proof = "gone"     // nothing is there
)

// Process is the state of the agent CLI's process that was found. The values are those of
// package bus. "" means that nobody looked.
type Process string

// The states of a process.
const (
	Alive   Process = "alive"
	Stopped Process = "stopped" // frozen by a signal such as SIGSTOP
	Unknown Process = "unknown" // the host agent could not look at it
	Dead    Process = "dead"
)

// Sweep is the result of a search for processes of earlier generations. "" means that
// there was no search.
type Sweep string

// The outcomes of a sweep.
const (
	SweptClean Sweep = "clean"
	SweptLeft  Sweep = "left" // a process that may be the arm's still runs
)

// Harness is the part of the arm's harness that a decision needs.
type Harness struct {
	Name          string
	DaemonManaged bool // runs under a host agent unless the user overrides that
	Resumes       bool // can resume a conversation
}

// Arm is the part of the arm's row that a decision needs.
type Arm struct {
	Status       coleo.Status
	Desired      coleo.Desired // the wanted state; a user who asks for recovery wants the arm to run
	Workdir      string
	HasHandle    bool // it has been started before
	Conversation string
	AgentID      string // the host agent that had it last; may be gone for a long time
	Ended        bool   // its host agent has recorded that the whole tree of its last start has ended
	Hostname     string // the machine of that host agent
}

// Finding is the result of a search for the arm's session.
type Finding struct {
	Host       string // id of the host agent that looked, or LocalHost
	Proof      Proof
	Process    Process
	State      coleo.State // as just read from the session; "" if it was not read
	ServerOnly bool        // found by the port and process of its own server, not through a holder
	Sweep      Sweep
}

// Evidence is everything that a decision depends on.
type Evidence struct {
	Harness Harness
	Arm     Arm
	Health  coleo.Health
	Found   Finding
	Hosts   []coleo.HostInfo // hosts that are not live are ignored

	Preferred          string // id of the requested host agent
	AllowLocalFallback bool
	RemoteOnly         bool // overrides AllowLocalFallback
	Force              bool // the user wants a start without proof that the last start has ended
}

// Remedy is what to do, where, and why.
type Remedy struct {
	Action Action `json:"action"`
	Host   string `json:"host,omitempty"` // id of the host agent that carries it out, or LocalHost
	// Mode is what to report afterwards. A new process is always reported as restarted.
	Mode   coleo.RecoveryMode `json:"mode,omitempty"`
	Resume bool               `json:"resume,omitempty"` // resume the conversation
	// Sweep requires proof before the start that no process of an earlier start is left.
	Sweep  bool   `json:"sweep,omitempty"`
	Reason string `json:"reason"` // never empty; for the user
}

// Starts reports whether the remedy starts an agent CLI.
func (r Remedy) Starts() bool {
	return r.Action == KillAndRestart || r.Action == Restart || r.Action == RestartResuming
}
