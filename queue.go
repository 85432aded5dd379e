package coleo

import "time"

// Bounds of the queue of one arm.
const (
	// MaxQueued is the largest number of prompts in a queue. A longer list is a plan. It
	// belongs in a file.
	MaxQueued = 200
	// MaxQueuedBytes is the largest total size of the texts and paths in a queue, in bytes.
	// The queue is written with the arm's record at each change, and has to fit into one
	// message of the bus.
	MaxQueuedBytes = 1 << 20
)

// Queued is one prompt in the queue of an arm.
type Queued struct {
	ID    string    `json:"id"` // becomes the id of the prompt's run
	Text  string    `json:"text"`
	Files []string  `json:"files,omitempty"` // absolute paths on the arm's machine
	Added time.Time `json:"added"`
	By    string    `json:"by,omitempty"`    // who added it, for users
	Check *Check    `json:"check,omitempty"` // of a prompt that asks a model again; nil for all others
	// Continues is not 0 if a parked arm goes on with this prompt. It is the number of such
	// prompts since the arm's last turn without a limit, this one included.
	Continues int `json:"continues,omitempty"`
}

// Queue has the prompts that wait until their arm is idle, in the order in which they are
// sent.
type Queue struct {
	Entries []Queued `json:"entries"`
	// Paused is the reason why nothing is sent, or "" if the queue is not paused.
	Paused string `json:"paused,omitempty"`
	ByHand bool   `json:"by_hand,omitempty"` // a person has paused the queue
	// Held is the reason why the first entry was not sent when its turn came, or "".
	Held string `json:"held,omitempty"`
	// Parked says why the arm is parked. Nothing is sent then. It is nil if the arm is not
	// parked.
	Parked *Parked `json:"parked,omitempty"`
}

// State returns the summary of the queue, or nil if there is nothing to say.
func (q Queue) State() *QueueState {
	s := QueueState{Length: len(q.Entries), Paused: q.Paused, ByHand: q.ByHand, Held: q.Held}
	if q.Parked != nil {
		told := q.Parked.Told()
		s.Parked = &told
	}
	if s == (QueueState{}) {
		return nil
	}
	return &s
}

// QueueState is a summary of an arm's queue. Its other fields are those of Queue.
type QueueState struct {
	Length int `json:"length"`
	// Sending is the id of the prompt that has left the queue and is being typed. It is ""
	// if there is none, and from the start of the prompt's run.
	Sending string  `json:"sending,omitempty"`
	Paused  string  `json:"paused,omitempty"`
	ByHand  bool    `json:"by_hand,omitempty"`
	Held    string  `json:"held,omitempty"`
	Parked  *Parked `json:"parked,omitempty"`
}

// QueueStep says what was done to a queue. The log stores steps, so the meaning of a step
// never changes.
type QueueStep string

// The steps.
const (
	QueueAdded   QueueStep = "added"
	QueueEdited  QueueStep = "edited"
	QueueMoved   QueueStep = "moved"
	QueueRemoved QueueStep = "removed" // by a person
	// QueueSent means that the entry is about to be sent. Then one of these follows: the
	// start of the run with the entry's id, QueueHeld, or QueuePaused with the entry's id.
	QueueSent    QueueStep = "sent"
	QueueHeld    QueueStep = "held"   // the entry was not sent, and is the first of the queue again
	QueuePaused  QueueStep = "paused" // with an ID: because nothing proves that this entry has arrived
	QueueResumed QueueStep = "resumed"

	// QueueContinued and QueueUnparked are orders for a parked arm. The log tells them as
	// events of the kind parked.
	QueueContinued QueueStep = "continued" // go on now
	QueueUnparked  QueueStep = "unparked"  // do not go on by itself; the queue is sent again
)

// QueueChange is the payload of a queue event: a step, and the summary of the queue after
// the step.
type QueueChange struct {
	Step QueueStep `json:"step"`
	ID   string    `json:"id,omitempty"` // of the entry
	QueueState
}

// QueueReport is the answer to a QueueOrder: the queue after the order.
type QueueReport struct {
	ID    string `json:"id,omitempty"` // of the entry that the order was about
	Queue Queue  `json:"queue"`
}

// QueueOrder changes the queue of an arm, or asks for it.
type QueueOrder struct {
	Step  QueueStep `json:"step,omitempty"` // "" only asks for the queue; otherwise one of the orders
	ID    string    `json:"id,omitempty"`   // of the entry to edit, to move or to remove
	Text  string    `json:"text,omitempty"` // with added and edited
	Files []string  `json:"files,omitempty"`
	To    int       `json:"to,omitempty"`  // with moved: the new place, from 1
	By    string    `json:"by,omitempty"`  // with added: who adds it
	Why   string    `json:"why,omitempty"` // with paused: the reason, for users
}
