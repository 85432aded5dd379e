package coleo

import "time"

// These constants are the limits of an arm's queue.
const (
	// MaxQueued is the largest number of prompts in a queue. A longer list should be a file that
	// one prompt names.
	MaxQueued = 200
	// MaxQueuedBytes is the largest total size of the texts and paths in a queue, in bytes. It is
	// limited for two reasons. Each change of the queue writes the whole queue into the arm's record,
	// and the queue must fit into one message of the bus.
	MaxQueuedBytes = 1 << 20
)

// Queued is one prompt in the queue of an arm.
type Queued struct {
	ID    string    `json:"id"` // the id of the prompt, and later of the prompt's run
	Text  string    `json:"text"`
	Files []string  `json:"files,omitempty"` // files for the prompt, as absolute paths on the arm's machine
	Added time.Time `json:"added"`
	By    string    `json:"by,omitempty"`    // who added the prompt, for users
	Check *Check    `json:"check,omitempty"` // what Coleo checks; set only for a prompt that asks a model again
	// Continues is set for a prompt that makes a parked arm continue. It counts these prompts since
	// the arm's last turn without a limit, including this prompt. It is 0 for any other prompt.
	Continues int `json:"continues,omitempty"`
	// Tried is set for a prompt that makes a parked arm continue. It lists the alternatives to waiting
	// that were tried while the arm was parked.
	Tried OnLimit `json:"tried,omitempty"`
}

// Queue contains the prompts that wait until their arm is idle, in the order in which they are
// sent.
type Queue struct {
	Entries []Queued `json:"entries"`
	// Paused is the reason why Coleo sends nothing, or "" if the queue is not paused.
	Paused string `json:"paused,omitempty"`
	ByHand bool   `json:"by_hand,omitempty"` // whether a person has paused the queue
	// Held is the reason why Coleo could not send the first entry, or "".
	Held string `json:"held,omitempty"`
	// Parked says why the arm is parked. It is nil if the arm is not parked. While the arm is
	// parked, Coleo sends nothing from the queue.
	Parked *Parked `json:"parked,omitempty"`
	// Handover names the arm that has received the task of this arm. It is nil if there is no such
	// arm, or if a person has resumed the queue since then.
	Handover *Handover `json:"handover,omitempty"`
}

// State returns the summary of the queue. It returns nil if the queue is empty and is neither
// paused nor held nor parked.
func (q Queue) State() *QueueState {
	s := QueueState{Length: len(q.Entries), Paused: q.Paused, ByHand: q.ByHand, Held: q.Held}
	if q.Handover != nil {
		told := q.Handover.WithoutQueue()
		s.Handover = &told
	}
	if q.Parked != nil {
		told := q.Parked.WithoutPrompt()
		s.Parked = &told
	}
	if s == (QueueState{}) {
		return nil
	}
	return &s
}

// QueueState is a summary of an arm's queue. The fields Paused, ByHand, Held and Parked have the
// same meaning as in Queue.
type QueueState struct {
	Length int `json:"length"`
	// Sending is the id of the prompt that has left the queue and is being typed. It is "" if there
	// is no such prompt. It becomes "" when the prompt's run starts.
	Sending string  `json:"sending,omitempty"`
	Paused  string  `json:"paused,omitempty"`
	ByHand  bool    `json:"by_hand,omitempty"`
	Held    string  `json:"held,omitempty"`
	Parked  *Parked `json:"parked,omitempty"`

	Handover *Handover `json:"handover,omitempty"`
}

// Handover describes the hand-over of an arm's task to another arm, its successor. While the first
// arm's queue contains a Handover, that queue is paused.
type Handover struct {
	// Run is the id of the successor's first prompt, and also of the run that this prompt begins.
	Run     string `json:"run"`
	Arm     string `json:"arm"`     // the successor's id
	Name    string `json:"name"`    // the name that the successor had when it started
	Harness string `json:"harness"` // the successor's harness
	// Open means that the successor is being started.
	Open bool `json:"open,omitempty"`
	// Before is the former queue of the arm, while the hand-over is open. If the successor does not
	// start, the arm gets this queue back. Only the host agent's record of the arm contains Before.
	Before *Queue `json:"before,omitempty"`
}

// WithoutQueue returns a copy of h without the former queue, for events and rows.
func (h Handover) WithoutQueue() Handover {
	h.Before = nil
	return h
}

// HandoverStep is the progress of a hand-over. The log stores steps, so the meaning of a step never
// changes.
type HandoverStep string

// The steps. The log of the successor contains HandoverReceived. The log of the first arm contains
// the other steps.
const (
	HandoverBegun HandoverStep = "begun" // the first arm is paused, and the successor is about to start
	HandoverDone  HandoverStep = "done"  // the start of the successor succeeded
	// the start of the successor failed, and the first arm has its queue back
	HandoverFailed   HandoverStep = "failed"
	HandoverReceived HandoverStep = "received" // the task is in the queue of the successor
)

// HandoverChange is the payload of a handover event.
type HandoverChange struct {
	Step HandoverStep `json:"step"`
	From ArmLink      `json:"from"` // the first arm
	To   ArmLink      `json:"to"`   // its successor
	// Run is the id of the successor's first prompt.
	Run string `json:"run"`
	// Moved lists the ids of the prompts that move from the queue of the first arm to the
	// successor's queue, in their order. With HandoverFailed, these prompts are back in the first
	// arm's queue.
	Moved []string `json:"moved,omitempty"`
	Why   string   `json:"why,omitempty"` // why the hand-over failed; set only with HandoverFailed
}

// ArmLink identifies one of the two arms of a hand-over. Name and Harness are the values at the
// time of the hand-over.
type ArmLink struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Harness string `json:"harness"`
}

// Predecessor is the arm whose task another arm has received in a hand-over.
type Predecessor struct {
	ArmLink
	Conversation string `json:"conversation,omitempty"` // the id of the predecessor's conversation; "" if it had none
}

// String returns the predecessor in a few words, for users.
func (p Predecessor) String() string { return "arm " + p.Name + " (" + p.Harness + ")" }

// QueueStep says what was done to a queue. The log stores steps, so the meaning of a step must
// never change.
type QueueStep string

// The steps.
const (
	QueueAdded   QueueStep = "added"
	QueueEdited  QueueStep = "edited"
	QueueMoved   QueueStep = "moved"
	QueueRemoved QueueStep = "removed" // a person has removed the entry
	// QueueSent means that the entry is about to be sent. The next event is one of these three: the
	// start of the run with the entry's id, QueueHeld, or QueuePaused with the entry's id.
	QueueSent QueueStep = "sent"
	QueueHeld QueueStep = "held" // the entry could not be sent, and is again the first of the queue
	// the queue is paused; if ID is set, the reason is that nothing proves that the entry with this id
	// has arrived
	QueuePaused  QueueStep = "paused"
	QueueResumed QueueStep = "resumed"

	// QueueContinued and QueueUnparked are orders for a parked arm. The log records them as events
	// of the kind parked.
	QueueContinued QueueStep = "continued" // the arm continues now
	QueueUnparked  QueueStep = "unparked"  // Coleo sends prompts from the queue again, but does not continue the turn
)

// QueueChange is the payload of a queue event: a step has changed the arm's queue. The payload
// contains a summary of the queue after the step.
type QueueChange struct {
	Step QueueStep `json:"step"`
	ID   string    `json:"id,omitempty"` // the id of the entry
	QueueState
}

// QueueReport is the answer to a QueueOrder, with the queue after the order.
type QueueReport struct {
	ID    string `json:"id,omitempty"` // the id of the entry that the order changed
	Queue Queue  `json:"queue"`
}

// QueueOrder is an order to change the queue of an arm, or a request for the queue.
type QueueOrder struct {
	Step QueueStep `json:"step,omitempty"` // the wanted change; "" asks only for the present queue
	// ID is the id of the entry to edit, to move or to remove. If Step is QueueAdded, ID is the id
	// of the new entry, or "". If the arm already has or had a prompt with this id, the order
	// changes nothing.
	ID    string   `json:"id,omitempty"`
	Text  string   `json:"text,omitempty"` // with QueueAdded and QueueEdited
	Files []string `json:"files,omitempty"`
	To    int      `json:"to,omitempty"`  // the new position, from 1; used only with QueueMoved
	By    string   `json:"by,omitempty"`  // who adds the prompt; used only with QueueAdded
	Why   string   `json:"why,omitempty"` // the reason, for users; used only with QueuePaused
}
