package coleo

import (
	"encoding/json"
	"time"
)

// EventKind is the kind of an event in the log. Kinds are stored. They never change
// meaning.
type EventKind string

// The kinds of event, with the types of their payloads.
const (
	EventSpawned    EventKind = "arm.spawned"    // Handle
	EventReattached EventKind = "arm.reattached" // Handle
	EventStopped    EventKind = "arm.stopped"    // Reading
	EventOrphaned   EventKind = "arm.orphaned"   // Note: what is left
	// EventBlocked has a Note with the reason why the arm stands still. Either its output
	// cannot be stored, or its holder does not answer. The text is "" when the arm goes
	// on.
	EventBlocked EventKind = "arm.blocked"
	// EventRules has a Note. It says that a changed harness is in use for the arm, or why
	// the change is not.
	EventRules        EventKind = "arm.rules"
	EventRemoved      EventKind = "arm.removed"         // nothing
	EventState        EventKind = "state"               // Change
	EventUnrecognised EventKind = "screen_unrecognised" // Change
	EventWitness      EventKind = "witness"             // Change
	EventConversation EventKind = "conversation"        // Note: the id
	EventRunStart     EventKind = "run_start"           // Receipt
	EventRunEnd       EventKind = "run_end"             // RunEnd
	EventPromptLost   EventKind = "prompt_lost"         // Change
	EventDecision     EventKind = "approval"            // Decided
)

// Event is one entry of a host's append-only log. Host, Epoch and Seq are its key. Seq is
// assigned without gaps.
type Event struct {
	Host    string          `json:"host"`
	Epoch   string          `json:"epoch"` // a new one each time the host agent opens its log
	Seq     uint64          `json:"seq"`
	Run     string          `json:"run,omitempty"`    // from one prompt to the end of its turn, whatever state that is
	Parent  string          `json:"parent,omitempty"` // the run that this one belongs to
	Arm     string          `json:"arm"`
	Time    time.Time       `json:"time"`
	Turn    int             `json:"turn,omitempty"` // reserved: nothing sets it
	Kind    EventKind       `json:"kind"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// These rules are in readings that a host agent gives for an arm whose session it does
// not hold. They do not prove that the arm's processes have ended.
const (
	RuleUnproven = "unproven" // something could not prove that it belongs to the arm, and is left alone
	RuleOrphaned = "orphaned" // processes of the arm are left that could not be ended
)

// Note is the payload of events that have only a text.
type Note struct {
	Text string `json:"text"`
}

// Outcome is how a turn ended. Outcomes are stored. They never change meaning.
type Outcome string

// The outcomes of a turn. A run_end event has any of them but OutcomeAsks.
const (
	OutcomeFinished    Outcome = "finished"    // the agent CLI ended it by itself, without an error
	OutcomeFailed      Outcome = "failed"      // the agent CLI shows an error
	OutcomeInterrupted Outcome = "interrupted" // it was interrupted, or one of its dialogs was denied
	OutcomeDied        Outcome = "died"        // the agent CLI has ended
	OutcomeAsks        Outcome = "asks"        // it goes on when a dialog is answered
)

// OutcomeOf returns the outcome of a turn that has left the agent CLI in state s.
func OutcomeOf(s State, interrupted bool) Outcome {
	switch {
	case s == Dead:
		return OutcomeDied
	case interrupted:
		return OutcomeInterrupted
	case s == Failed:
		return OutcomeFailed
	}
	return OutcomeFinished
}

// RunEnd is the payload of the event that ends a run.
type RunEnd struct {
	Status  State   `json:"status"`            // idle, error or dead
	Outcome Outcome `json:"outcome,omitempty"` // empty in events of older versions; DecodeRunEnd fills it in
	Answer  string  `json:"answer,omitempty"`
	Source  string  `json:"source,omitempty"`
	// Whole means that the turn has finished and that the agent CLI itself gave the
	// answer. An answer from the screen may be incomplete.
	Whole bool   `json:"whole"`
	Usage *Usage `json:"usage,omitempty"` // of the whole conversation so far, if the agent CLI reports it
}

// LastRun is the run of an arm that ended last.
type LastRun struct {
	Run  string    `json:"run"`
	Time time.Time `json:"time"` // of its end
	RunEnd
}

// Decided records how a dialog was answered.
type Decided struct {
	Dialog   Dialog   `json:"dialog"`
	Decision Decision `json:"decision"`
}

// DecodeRunEnd returns the payload of a run_end event. It returns EInternal if the
// payload is unreadable.
func DecodeRunEnd(e Event) (RunEnd, error) {
	var end RunEnd
	if err := json.Unmarshal(e.Payload, &end); err != nil {
		return end, Errorf(EInternal, "read the end of run %s: %v", e.Run, err)
	}
	if end.Outcome == "" {
		end.Outcome = OutcomeOf(end.Status, false)
	}
	return end, nil
}
