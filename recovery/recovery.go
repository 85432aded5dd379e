// Package recovery decides what to do about an arm: it takes evidence and returns a
// remedy.
//
// Package recovery has pure functions only. It does not start or kill a process, and
// sends no messages. The host agents gather the evidence, and the brain carries out the
// remedy.
package recovery

import "coleo.dev"

// Action is the kind of a remedy.
type Action string

// The actions. If Remedy.Sweep is set, an action that starts an agent CLI first sweeps
// the processes of earlier generations. Nothing is started while such a process may
// still run.
const (
	Reattach        Action = "reattach"         // attach to the session that was found
	KillAndRestart  Action = "kill_and_restart" // end the whole process tree of the proven session, then start
	Restart         Action = "restart"          // start with a new conversation
	RestartResuming Action = "restart_resuming" // start and resume the old conversation
	Refuse          Action = "refuse"           // nothing can be done; Reason tells the user why
	Nothing         Action = "nothing"          // nothing needs to be done
)

// LocalHost means this process itself, without a host agent.
const LocalHost = coleo.LocalHost

// Proof says whether a session was found that belongs to the arm, by the arm's handle. The
// values are the same as in package bus. "" means that nobody could look.
type Proof string

// The outcomes of a proof.
const (
	Proven   Proof = "proven"
	Unproven Proof = "unproven" // something is there, but it could not prove that it belongs to the arm
	Silent   Proof = "silent"   // the arm's holder does not answer: the holder is stopped, or its disk hangs
	Gone     Proof = "gone"     // nothing is there
)

// Process is the state of the agent CLI's process that was found. The values are the
// same as in package bus. "" means that nobody looked.
type Process string

// The states of a process.
const (
	Alive   Process = "alive"
	Stopped Process = "stopped" // frozen by a signal such as SIGSTOP
	Unknown Process = "unknown" // the host agent could not look at the process
	Dead    Process = "dead"
)

// Sweep is the result of a search for processes of earlier generations. "" means that
// there was no search.
type Sweep string

// The outcomes of a sweep.
const (
	SweptClean Sweep = "clean"
	SweptLeft  Sweep = "left" // a process that may belong to the arm still runs
)

// Harness is the part of the arm's harness that a decision needs.
type Harness struct {
	Name          string
	DaemonManaged bool // needs a host agent, unless the user allows a local start
	Resumes       bool // can resume a conversation
}

// Arm is the part of the arm's row that a decision needs.
type Arm struct {
	Status       coleo.Status
	Desired      coleo.Desired // what the arm should do; a user who asks for recovery wants the arm to run
	Workdir      string
	HasHandle    bool // the arm was started before
	Conversation string
	AgentID      string // the last host agent of the arm; may have been gone for a long time
	Ended        bool   // the host agent has recorded that the whole process tree of the last start has ended
	Hostname     string // the machine of the host agent AgentID
}

// Finding is the result of a search for the arm's session.
type Finding struct {
	Host       string // id of the host agent that looked, or LocalHost
	Proof      Proof
	Process    Process
	State      coleo.State // the state just read from the session; "" if it was not read
	ServerOnly bool        // found by the port and process of the agent CLI's own server, without a holder
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

// Remedy says what to do, where to do it, and why.
type Remedy struct {
	Action Action `json:"action"`
	Host   string `json:"host,omitempty"` // id of the host agent that carries it out, or LocalHost
	// Mode is the recovery mode to report after the remedy. If the remedy starts a new
	// process, the mode is always restarted.
	Mode   coleo.RecoveryMode `json:"mode,omitempty"`
	Resume bool               `json:"resume,omitempty"` // resume the conversation
	// Sweep means that the start needs a proof first. The proof must show that no
	// process of an earlier start is left.
	Sweep  bool   `json:"sweep,omitempty"`
	Reason string `json:"reason"` // never empty; for the user
}

// Starts reports whether the remedy starts an agent CLI.
func (r Remedy) Starts() bool {
	return r.Action == KillAndRestart || r.Action == Restart || r.Action == RestartResuming
}
