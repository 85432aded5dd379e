package coleo

import "slices"

// State is what a harness says its agent CLI is doing. The seven values are
// stored and sent as they stand and never change meaning.
type State string

// The seven states of an agent CLI.
const (
	Initializing    State = "initializing"     // started, not yet ready for a prompt
	Idle            State = "idle"             // its composer waits for input
	Processing      State = "processing"       // thinking or writing
	Executing       State = "executing"        // running a tool or a command
	WaitingApproval State = "waiting_approval" // a dialog waits for a person
	Failed          State = "error"            // the last turn ended in an error; a prompt may be sent
	Dead            State = "dead"             // the process has ended
)

// States lists all seven, in the order in which an agent CLI usually meets them.
var states = []State{Initializing, Idle, Processing, Executing, WaitingApproval, Failed, Dead}

// transitions is the table of legal changes. Beyond the published contract of
// the original it holds those that real agent CLIs make: a trust or login
// dialog at the start, a tool that starts straight from idle, an approval in
// the middle of a tool, and a prompt after an error.
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

// Valid tells whether s is one of the seven.
func (s State) Valid() bool { return slices.Contains(states, s) }

// CanBecome tells whether the table allows a change from s to next. A state
// may always stay as it is.
func (s State) CanBecome(next State) bool {
	return s == next || slices.Contains(transitions[s], next)
}

// Working tells whether the agent CLI is in the middle of a turn that needs no
// person: processing or executing.
func (s State) Working() bool { return s == Processing || s == Executing }

// caution ranks states for witnesses that disagree; the higher one wins.
var caution = map[State]int{
	Initializing: 0, Idle: 1, Failed: 2, Processing: 3, Executing: 4, WaitingApproval: 5, Dead: 6,
}

// MoreCautious returns the one of two states that promises less: dead before
// waiting_approval, executing, processing, error, idle, initializing.
func MoreCautious(a, b State) State {
	if caution[b] > caution[a] {
		return b
	}
	return a
}
