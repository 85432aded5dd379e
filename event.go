package coleo

import (
	"encoding/json"
	"time"
)

// EventKind is the kind of an event in the log. The log stores kinds, so the meaning of
// a kind never changes.
type EventKind string

// The kinds of event, with the types of their payloads.
const (
	EventSpawned    EventKind = "arm.spawned"    // Handle
	EventReattached EventKind = "arm.reattached" // Handle
	EventStopped    EventKind = "arm.stopped"    // Reading
	EventOrphaned   EventKind = "arm.orphaned"   // Note: the processes that are left
	// EventBlocked has a Note with the reason why the arm cannot continue. Either the
	// arm's output cannot be stored, or the arm's holder does not answer. A Note with
	// the text "" means that the arm continues.
	EventBlocked EventKind = "arm.blocked"
	// EventRules means that the description of the arm's harness has changed. Its Note
	// says that the arm now uses the new description, or why the arm does not use it.
	EventRules        EventKind = "arm.rules"
	EventRemoved      EventKind = "arm.removed"         // nothing
	EventState        EventKind = "state"               // Change
	EventUnrecognised EventKind = "screen_unrecognised" // Change
	EventWitness      EventKind = "witness"             // Change
	EventConversation EventKind = "conversation"        // Note: the id, and the port of the agent CLI's server
	EventRunStart     EventKind = "run_start"           // Receipt
	EventRunEnd       EventKind = "run_end"             // RunEnd
	EventPromptLost   EventKind = "prompt_lost"         // Change
	EventDecision     EventKind = "approval"            // Decided
	EventWindow       EventKind = "window"              // Change: the arm's window was opened or closed, or has failed
)

// Event is one entry of a host's append-only log. Host, Epoch and Seq are the key of
// the event. The sequence numbers have no gaps.
type Event struct {
	Host    string          `json:"host"`
	Epoch   string          `json:"epoch"` // the host agent makes a new one each time it opens its log
	Seq     uint64          `json:"seq"`
	Run     string          `json:"run,omitempty"`    // a run lasts from one prompt to the end of the prompt's turn
	Parent  string          `json:"parent,omitempty"` // the run that this run belongs to
	Arm     string          `json:"arm"`
	Time    time.Time       `json:"time"`
	Turn    int             `json:"turn,omitempty"` // reserved: nothing sets it
	Kind    EventKind       `json:"kind"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// A host agent puts one of these rules into the reading of an arm that it has no
// session for. Such a reading does not prove that the arm's processes have ended.
const (
	RuleUnproven = "unproven" // a process could not prove that it belongs to the arm; Coleo leaves this process alone
	// RuleUnprovenIdle means that the screen is idle, and that nothing proves that the turn
	// has ended. Reading.Detail says why.
	RuleUnprovenIdle = "unproven idle"
	RuleOrphaned     = "orphaned" // Coleo could not end some processes of the arm
)

// Note is the payload of events that have only a text.
type Note struct {
	Text string `json:"text"`
	Port int    `json:"port,omitempty"` // with EventConversation: on which the agent CLI's server listens
}

// Outcome is what became of a turn: how it ended, or that it goes on (OutcomeAsks). The log
// stores outcomes, so the meaning of an outcome never changes.
type Outcome string

// The outcomes of a turn. A run_end event never has OutcomeAsks, but may have any other
// outcome.
const (
	OutcomeFinished    Outcome = "finished"    // the agent CLI ended the turn by itself, without an error
	OutcomeFailed      Outcome = "failed"      // the agent CLI shows an error
	OutcomeInterrupted Outcome = "interrupted" // the turn was interrupted, or one of its dialogs was denied
	OutcomeDied        Outcome = "died"        // the agent CLI has ended
	OutcomeUnproven    Outcome = "unproven"    // the screen is idle, and nothing proves that the turn has ended
	OutcomeAsks        Outcome = "asks"        // the turn has not ended: it continues when somebody answers a dialog
)

// OutcomeOf returns the outcome of a turn after which the agent CLI is in state s.
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
	Outcome Outcome `json:"outcome,omitempty"` // empty in events of older versions; DecodeRunEnd then sets it
	Answer  string  `json:"answer,omitempty"`
	Source  string  `json:"source,omitempty"`
	// Whole means that the turn has finished, and that the answer comes from the agent
	// CLI's own report. An answer that Coleo has read from the screen may be
	// incomplete.
	Whole bool `json:"whole"`
	// Background is what still went on in the background when the turn ended.
	Background string `json:"background,omitempty"`
	Usage      *Usage `json:"usage,omitempty"` // of the whole conversation so far, if the agent CLI reports it
	// Compact means that the agent CLI was to shorten its conversation. See Receipt.Compact.
	Compact bool `json:"compact,omitempty"`
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
