// Package recovery decides what to do about an arm: it computes a remedy from evidence.
//
// The package contains only pure functions. It neither starts nor kills processes, and
// sends no messages. The brain gathers the evidence, partly from host agents, and carries
// out the remedy.
package recovery

import "coleo.dev"

// Action is the kind of a remedy.
type Action string

// These are the actions. If Remedy.Sweep is true, an action that starts an agent CLI first ends all
// processes of earlier generations.
const (
	Reattach        Action = "reattach"         // attach to the arm's session that was found
	KillAndRestart  Action = "kill_and_restart" // end all processes of the proven session, then start the agent CLI again
	Restart         Action = "restart"          // start the agent CLI with a new conversation
	RestartResuming Action = "restart_resuming" // start the agent CLI and resume its old conversation
	Refuse          Action = "refuse"           // the arm cannot be recovered now; Reason says why
	Nothing         Action = "nothing"          // no remedy is needed
)

// LocalHost is the id of serve when serve itself is the host of an arm without a host agent.
const LocalHost = coleo.LocalHost

// Proof says what a host found when it used the arm's handle to look for the session. Package bus
// has the same values. The value "" means that no host could look.
type Proof string

// The values of Proof.
const (
	Proven   Proof = "proven"
	Unproven Proof = "unproven" // there is a process, but it could not prove that it belongs to the arm
	Silent   Proof = "silent"   // the arm's holder does not reply: it is stopped, or its disk does not respond
	Gone     Proof = "gone"     // nothing is there
)

// Process is the state of the agent CLI's process, as a host found it. Package bus has the same
// values. The value "" means that no host looked.
type Process string

// The states of a process.
const (
	Alive   Process = "alive"
	Stopped Process = "stopped" // a signal such as SIGSTOP has stopped the process
	Unknown Process = "unknown" // the host agent could not check the process
	Dead    Process = "dead"
)

// Sweep is the result of a search for processes of earlier generations. The value "" means that no
// host searched.
type Sweep string

// The results of a search.
const (
	SweptClean Sweep = "clean"
	SweptLeft  Sweep = "left" // a process that could belong to the arm still runs
)

// Harness contains what a decision needs to know about the arm's harness.
type Harness struct {
	Name          string
	DaemonManaged bool // whether the harness needs a host agent; the user can allow a start without one
	Resumes       bool // whether the agent CLI can resume a conversation
}

// Arm contains what a decision needs to know from the arm's row.
type Arm struct {
	Status       coleo.Status
	Desired      coleo.Desired // what the arm should do; if a user asks for a recovery, the arm should run
	Workdir      string
	HasHandle    bool // whether the arm was started at least once
	Conversation string
	// Forgotten means that at its last start the agent CLI reported that it does not have the
	// conversation.
	Forgotten bool
	AgentID   string // the id of the host agent that last had the arm; this host agent may no longer exist
	Ended     bool   // whether the host agent has recorded that all processes of the last start have ended
	Hostname  string // the name of the machine of the host agent AgentID
}

// Finding is what a host found when it looked for the arm's session.
type Finding struct {
	Host       string // the id of the host agent that looked, or LocalHost
	Proof      Proof
	Process    Process
	State      coleo.State // the state that was just read from the session; "" if none was read
	ServerOnly bool        // whether only the agent CLI's server was found, by its port and process, and no holder
	Sweep      Sweep
}

// Evidence contains everything that Decide uses.
type Evidence struct {
	Harness Harness
	Arm     Arm
	Health  coleo.Health
	Found   Finding
	Hosts   []coleo.HostInfo // the known hosts; Decide ignores those that are not live

	Preferred          string // the id of the host agent that the user asks for
	AllowLocalFallback bool
	RemoteOnly         bool // whether LocalHost is forbidden, even if AllowLocalFallback is true
	Force              bool // whether the user wants a start even if processes of the last start may still run
}

// Remedy says what to do, where to do it, and why.
type Remedy struct {
	Action Action `json:"action"`
	Host   string `json:"host,omitempty"` // the id of the host agent that carries out the remedy, or LocalHost
	// Mode is the recovery mode to report after the remedy. If the remedy starts a new
	// process, Mode is always RecoveryRestarted.
	Mode   coleo.RecoveryMode `json:"mode,omitempty"`
	Resume bool               `json:"resume,omitempty"` // whether to resume the conversation of the arm
	// Sweep means that the start must first prove that all processes of earlier starts have ended.
	Sweep  bool   `json:"sweep,omitempty"`
	Reason string `json:"reason"` // the reason for the user; never empty
}

// Starts reports whether the remedy starts an agent CLI.
func (r Remedy) Starts() bool {
	return r.Action == KillAndRestart || r.Action == Restart || r.Action == RestartResuming
}
