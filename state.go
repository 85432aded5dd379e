package coleo

import "slices"

// State is what an agent CLI is doing, according to its harness. The database stores the seven
// values, and the API sends them. So the meaning of a value must never change.
type State string

// The seven states of an agent CLI.
const (
	Initializing    State = "initializing"     // started, but not yet ready for a prompt
	Idle            State = "idle"             // its composer waits for input
	Processing      State = "processing"       // thinking or writing
	Executing       State = "executing"        // running a tool or a command
	WaitingApproval State = "waiting_approval" // a dialog waits for the user
	Failed          State = "error"            // the last turn ended in an error; Coleo can send a prompt
	Dead            State = "dead"             // the process has ended
)

// states lists all seven states, in the order in which an agent CLI usually enters them.
var states = []State{Initializing, Idle, Processing, Executing, WaitingApproval, Failed, Dead}

// transitions lists the legal changes of state. Real agent CLIs also make some changes that look
// wrong:
//   - At its start, an agent CLI can show a trust or login dialog.
//   - An idle agent CLI can start a tool directly.
//   - An agent CLI can ask for an approval in the middle of a tool.
//   - After an error, an agent CLI can take a prompt.
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

// CanBecome reports whether the state s is allowed to change to the given state. A state is always
// allowed to stay the same.
func (s State) CanBecome(next State) bool {
	return s == next || slices.Contains(transitions[s], next)
}

// Working reports whether s is processing or executing: the agent CLI is in a turn and
// needs nothing from the user.
func (s State) Working() bool { return s == Processing || s == Executing }

// caution is the rank of each state. If witnesses claim different states, Coleo
// believes the state with the higher rank.
var caution = map[State]int{
	Initializing: 0, Idle: 1, Failed: 2, Processing: 3, Executing: 4, WaitingApproval: 5, Dead: 6,
}

// MoreCautious returns the more cautious one of two states. From most to least
// cautious, the states are dead, waiting_approval, executing, processing, error, idle
// and initializing.
func MoreCautious(a, b State) State {
	if caution[b] > caution[a] {
		return b
	}
	return a
}
