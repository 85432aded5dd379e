// Package recovery decides what to do about an arm: evidence in, remedy out.
//
// It is pure. It starts, kills and asks nothing: the host agents gather the
// evidence, and the brain carries the remedy out.
package recovery

import "coleo.dev"

// Action is what shall be done.
type Action string

// The actions. Every one that starts an agent CLI goes through a sweep first
// when Remedy.Sweep says so: nothing is started while something of an earlier
// generation may still run.
const (
	Reattach        Action = "reattach"         // go on with the session that was found
	KillAndRestart  Action = "kill_and_restart" // end the proven session, whole tree, then start
	Restart         Action = "restart"          // start with a new conversation
	RestartResuming Action = "restart_resuming" // start, taking up the old conversation
	Refuse          Action = "refuse"           // nothing can be done; Reason is for the person
	Nothing         Action = "nothing"          // nothing needs to be done
)

// LocalHost stands for this process itself, where no host agent is involved.
const LocalHost = "local"

// Proof says whether what was found is the session that the arm's handle names.
// The values are those of the bus; "" means that nobody could look.
type Proof string

// The outcomes of a proof.
const (
	Proven   Proof = "proven"
	Unproven Proof = "unproven" // something is there, and it is not known to be the arm's
	Silent   Proof = "silent"   // its holder is there and does not answer: it is stopped, or its disk hangs
	Gone     Proof = "gone"     // nothing is there
)

// Process says how the found agent CLI's process is. The values are those of
// the bus; "" means unknown.
type Process string

// The states of a process.
const (
	Alive   Process = "alive"
	Stopped Process = "stopped" // by a signal, such as SIGSTOP: frozen
	Dead    Process = "dead"
)

// Sweep says what a search for processes of earlier generations has found; ""
// means that none was made.
type Sweep string

// The outcomes of a sweep.
const (
	SweptClean Sweep = "clean"
	SweptLeft  Sweep = "left" // something that may be the arm's still runs
)

// Harness is what matters of the arm's harness.
type Harness struct {
	Name          string
	DaemonManaged bool // runs under a host agent unless a person overrides that
	Resumes       bool // can take up a conversation
}

// Arm is what matters of the arm's row.
type Arm struct {
	Status       coleo.Status
	Desired      coleo.Desired // what is wanted now: a person who asks for recovery wants it running
	Workdir      string
	HasHandle    bool // it has been started before
	Conversation string
	AgentID      string // host agent that had it last; may be long gone
	Ended        bool   // its host agent has written down that its last start has ended, whole tree
	Hostname     string // its machine
}

// Finding is what was found when somebody looked for the arm's session.
type Finding struct {
	Host       string // id of the host agent that looked, or LocalHost
	Proof      Proof
	Process    Process
	State      coleo.State // as read from the session just now; "" when it was not read
	ServerOnly bool        // found by its own server's port and process, not through a holder
	Sweep      Sweep
}

// Evidence is all that a decision rests on.
type Evidence struct {
	Harness Harness
	Arm     Arm
	Health  coleo.Health
	Found   Finding
	Hosts   []coleo.HostInfo // those that are not live count for nothing

	Preferred          string // id of the host agent that was asked for
	AllowLocalFallback bool
	RemoteOnly         bool // wins over AllowLocalFallback
	Force              bool // a person wants it started without proof that its last start has ended
}

// Remedy is what to do, where, and why.
type Remedy struct {
	Action Action             `json:"action"`
	Host   string             `json:"host,omitempty"`   // id of the host agent that does it, or LocalHost
	Mode   coleo.RecoveryMode `json:"mode,omitempty"`   // what to report once it is done; a new process is always restarted
	Resume bool               `json:"resume,omitempty"` // take up the conversation
	Sweep  bool               `json:"sweep,omitempty"`  // prove before the start that nothing of an earlier one is left
	Reason string             `json:"reason"`           // never empty; for people
}

// Kills tells whether the remedy ends a process.
func (r Remedy) Kills() bool { return r.Action == KillAndRestart }

// Starts tells whether the remedy starts an agent CLI.
func (r Remedy) Starts() bool {
	return r.Action == KillAndRestart || r.Action == Restart || r.Action == RestartResuming
}
