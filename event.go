package coleo

import (
	"encoding/json"
	"time"
)

// EventKind tells the events of the log apart. Kinds are stored: they never
// change meaning.
type EventKind string

// The kinds of event. Payloads are the types named beside them.
const (
	EventSpawned      EventKind = "arm.spawned"         // Handle
	EventReattached   EventKind = "arm.reattached"      // Handle
	EventStopped      EventKind = "arm.stopped"         // Reading
	EventOrphaned     EventKind = "arm.orphaned"        // Note: what is left
	EventBlocked      EventKind = "arm.blocked"         // Note: why it stands still: its output cannot be kept, or its holder does not answer; "" when it goes on
	EventRules        EventKind = "arm.rules"           // Note: that its harness was read again and holds for it, or why what was written does not
	EventRemoved      EventKind = "arm.removed"         // nothing
	EventState        EventKind = "state"               // Change
	EventUnrecognised EventKind = "screen_unrecognised" // Change
	EventWitness      EventKind = "witness"             // Change
	EventConversation EventKind = "conversation"        // Note: the id
	EventRunStart     EventKind = "run_start"           // Receipt
	EventRunEnd       EventKind = "run_end"             // RunEnd
	EventPromptLost   EventKind = "prompt_lost"         // Error
	EventDecision     EventKind = "approval"            // Decided
)

// Event is one entry of a host's append-only log. Host, Epoch and Seq are its
// key; Seq has no gaps within an epoch.
type Event struct {
	Host    string          `json:"host"`
	Epoch   string          `json:"epoch"` // a new one when a host lost its log
	Seq     uint64          `json:"seq"`
	Run     string          `json:"run,omitempty"`    // one prompt to the next idle
	Parent  string          `json:"parent,omitempty"` // run that this one belongs to
	Arm     string          `json:"arm"`
	Time    time.Time       `json:"time"`
	Turn    int             `json:"turn,omitempty"` // 1-based
	Kind    EventKind       `json:"kind"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Rules of readings that a host agent gives for an arm that it does not hold, and
// that do not prove the end of its processes.
const (
	RuleUnproven = "unproven" // something is there that could not prove to be the arm's, and is left alone
	RuleOrphaned = "orphaned" // processes of the arm are left that could not be ended
)

// Note is the payload of events that carry only a text.
type Note struct {
	Text string `json:"text"`
}

// RunEnd closes a run.
type RunEnd struct {
	Status State  `json:"status"` // idle, error or dead
	Answer string `json:"answer,omitempty"`
	Source string `json:"source,omitempty"`
	Usage  *Usage `json:"usage,omitempty"` // of the whole conversation so far, where the agent CLI tells it
}

// LastRun is the run that an arm has ended last.
type LastRun struct {
	Run  string    `json:"run"`
	Time time.Time `json:"time"` // of its end
	RunEnd
}

// Decided records who answered which dialog how.
type Decided struct {
	Dialog   Dialog   `json:"dialog"`
	Decision Decision `json:"decision"`
}

// DecodeRunEnd returns the payload of a run_end event.
func DecodeRunEnd(e Event) (RunEnd, error) {
	var end RunEnd
	if err := json.Unmarshal(e.Payload, &end); err != nil {
		return end, Errorf(EInternal, "read the end of run %s: %v", e.Run, err)
	}
	return end, nil
}
