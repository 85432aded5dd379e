package coleo

import "slices"

// State is what an agent CLI is doing, according to its harness. The database and the
// API use the seven values unchanged, so the meaning of a value never changes.
type State string

// The seven states of an agent CLI.
const (
	Initializing    State = "initializing"     // started, not yet ready for a prompt
	Idle            State = "idle"             // its composer waits for input
	Processing      State = "processing"       // thinking or writing
	Executing       State = "executing"        // running a tool or a command
	WaitingApproval State = "waiting_approval" // a dialog waits for the user
	Failed          State = "error"            // the last turn ended in an error; a prompt may be sent
	Dead            State = "dead"             // the process has ended
)

// states has all seven states, in the order in which an agent CLI usually reaches them.
var states = []State{Initializing, Idle, Processing, Executing, WaitingApproval, Failed, Dead}

// transitions is the table of legal changes. Some of these changes may look wrong, but
// real agent CLIs make them. An agent CLI may show a trust or login dialog at the
// start. It may start a tool directly from idle. It may ask for an approval in the
// middle of a tool. It may take a prompt after an error.
var transitions = map[State][]State{
	Initializing:    {Idle, Processing, Executing, WaitingApproval, Failed, Dead},
	Idle:            {Processing, Executing, WaitingApproval, Failed, Dead},
	Processing:      {Idle, Executing, WaitingApproval, Failed, Dead},
	Executing:       {Processing, Idle, WaitingApproval, Failed, Dead},
	WaitingApproval: {Processing, Executing, Idle, Failed, Dead},
	Failed:          {Idle, Processing, Executing, WaitingApproval, Dead},
	Dead:            {},
}

// States returns the seven states.
func States() []State { return slices.Clone(states) }

// Valid reports whether s is one of the seven states.
func (s State) Valid() bool { return slices.Contains(states, s) }

// CanBecome reports whether the table allows a change from s to next. A state may always
// stay the same.
func (s State) CanBecome(next State) bool {
	return s == next || slices.Contains(transitions[s], next)
}

// Working reports whether s is processing or executing. In these states the agent CLI
// is in the middle of a turn and needs nothing from the user.
func (s State) Working() bool { return s == Processing || s == Executing }

// caution has a rank for each state. If witnesses disagree, the state with the higher
// rank wins.
var caution = map[State]int{
	Initializing: 0, Idle: 1, Failed: 2, Processing: 3, Executing: 4, WaitingApproval: 5, Dead: 6,
}

// MoreCautious returns the more cautious of two states. The most cautious state is
// dead. Then come waiting_approval, executing, processing, error, idle and
// initializing.
func MoreCautious(a, b State) State {
	if caution[b] > caution[a] {
		return b
	}
	return a
}
