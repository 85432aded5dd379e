package coleo

import "time"

// Bounds of the queue of one arm.
const (
	// MaxQueued is the largest number of prompts in a queue. A longer list is a plan, and belongs
	// in a file.
	MaxQueued = 200
	// MaxQueuedBytes is the largest total size of the texts and paths in a queue, in bytes. Each
	// change of the queue writes the whole queue into the arm's record. The queue must also fit
	// into one message of the bus.
	MaxQueuedBytes = 1 << 20
)

// Queued is one prompt in the queue of an arm.
type Queued struct {
	ID    string    `json:"id"` // becomes the id of the prompt's run
	Text  string    `json:"text"`
	Files []string  `json:"files,omitempty"` // absolute paths on the arm's machine
	Added time.Time `json:"added"`
	By    string    `json:"by,omitempty"`    // who added it, for users
	Check *Check    `json:"check,omitempty"` // only if the prompt asks a model again
	// Continues is 0 unless this prompt continues a parked arm. Otherwise it counts such prompts
	// since the arm's last turn without a limit, including this prompt.
	Continues int `json:"continues,omitempty"`
	// Tried lists the alternatives that were tried in the parking that this prompt ended.
	Tried OnLimit `json:"tried,omitempty"`
}

// Queue holds the prompts that wait until their arm is idle, in the order in which they are sent.
type Queue struct {
	Entries []Queued `json:"entries"`
	// Paused is the reason why Coleo sends nothing, or "" if the queue is not paused.
	Paused string `json:"paused,omitempty"`
	ByHand bool   `json:"by_hand,omitempty"` // a person has paused the queue
	// Held is the reason why the first entry was not sent when its turn came, or "".
	Held string `json:"held,omitempty"`
	// Parked says why the arm is parked. It is nil if the arm is not parked. While the arm is
	// parked, Coleo sends nothing from the queue.
	Parked *Parked `json:"parked,omitempty"`
	// Handover says which arm has got the task of this arm. It is nil if none has, or if a
	// person has resumed the queue since.
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

// Handover is in the queue of an arm whose task goes to another arm, its successor. The queue
// is paused then.
type Handover struct {
	// Run is the id of the successor's first prompt, and of the run that it begins.
	Run     string `json:"run"`
	Arm     string `json:"arm"`     // the successor's id
	Name    string `json:"name"`    // the successor's name at its start
	Harness string `json:"harness"` // the successor's harness
	// Open means that the successor is being started.
	Open bool `json:"open,omitempty"`
	// Before is the queue before the hand-over, while the hand-over is open. If the successor does
	// not start, the arm gets this queue back. Only the host agent's record of the arm contains it.
	Before *Queue `json:"before,omitempty"`
}

// WithoutQueue returns a copy of h without the former queue. Events and rows contain this copy.
func (h Handover) WithoutQueue() Handover {
	h.Before = nil
	return h
}

// HandoverStep says how far a hand-over has come. The log stores steps, so the meaning of a
// step never changes.
type HandoverStep string

// The steps. HandoverReceived is in the log of the successor. The other steps are in the log of the
// first arm.
const (
	HandoverBegun    HandoverStep = "begun"    // the first arm is paused, and the successor is about to start
	HandoverDone     HandoverStep = "done"     // the successor has started
	HandoverFailed   HandoverStep = "failed"   // the successor has not started, and the first arm is as it was
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
	// successor's queue, in their order. With HandoverFailed, they have moved back.
	Moved []string `json:"moved,omitempty"`
	Why   string   `json:"why,omitempty"` // with HandoverFailed: why the hand-over failed
}

// ArmLink names an arm, with its name and its harness at that time.
type ArmLink struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Harness string `json:"harness"`
}

// Predecessor is the arm whose task another arm has got.
type Predecessor struct {
	ArmLink
	Conversation string `json:"conversation,omitempty"` // its conversation; "" if it had none
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
	QueueRemoved QueueStep = "removed" // by a person
	// QueueSent means that the entry is about to be sent. One of these steps or events follows: the
	// start of the run with the entry's id, QueueHeld, or QueuePaused with the entry's id.
	QueueSent    QueueStep = "sent"
	QueueHeld    QueueStep = "held"   // the entry was not sent, and is the first of the queue again
	QueuePaused  QueueStep = "paused" // with an ID: because nothing proves that this entry has arrived
	QueueResumed QueueStep = "resumed"

	// QueueContinued and QueueUnparked are orders for a parked arm. The log records them as events
	// of the kind parked.
	QueueContinued QueueStep = "continued" // the arm continues now
	QueueUnparked  QueueStep = "unparked"  // the arm does not continue by itself; Coleo sends the queue again
)

// QueueChange is the payload of a queue event: a step has changed the queue. The payload contains a
// summary of the queue after the step.
type QueueChange struct {
	Step QueueStep `json:"step"`
	ID   string    `json:"id,omitempty"` // the id of the entry
	QueueState
}

// QueueReport is the answer to a QueueOrder: the queue after the order.
type QueueReport struct {
	ID    string `json:"id,omitempty"` // of the entry that the order was about
	Queue Queue  `json:"queue"`
}

// QueueOrder is an order to change the queue of an arm, or a request for the queue.
type QueueOrder struct {
	Step QueueStep `json:"step,omitempty"` // "" only asks for the queue; otherwise one of the orders
	// ID is the id of the entry to edit, to move or to remove. With added, it is the id of the new
	// entry, or "". If the arm has a prompt with this id, the order changes nothing.
	ID    string   `json:"id,omitempty"`
	Text  string   `json:"text,omitempty"` // with added and edited
	Files []string `json:"files,omitempty"`
	To    int      `json:"to,omitempty"`  // with moved: the new place, from 1
	By    string   `json:"by,omitempty"`  // with added: who adds it
	Why   string   `json:"why,omitempty"` // with paused: the reason, for users
}
