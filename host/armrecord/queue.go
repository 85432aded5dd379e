package armrecord

import (
	"slices"

	"coleo.dev"
	"coleo.dev/store"
)

// Queue returns the queue in the record. It is empty if the record contains none.
func Queue(r *store.ArmRecord) coleo.Queue {
	if r.Queue == nil {
		return coleo.Queue{}
	}
	return *r.Queue
}

// SetQueue stores a queue in the record, and returns the event about the entry with the given id.
// An id of "" means no entry.
func SetQueue(r *store.ArmRecord, q coleo.Queue, step coleo.QueueStep, id string) []coleo.Event {
	change := coleo.QueueChange{Step: step, ID: id}
	keepQueue(r, q)
	if state := QueueState(r); state != nil {
		change.QueueState = *state
	}
	return []coleo.Event{Event(r.ID, coleo.EventQueue, change)}
}

// keepQueue stores a queue in the record. An empty queue is stored as nil.
func keepQueue(r *store.ArmRecord, q coleo.Queue) {
	if r.Queue = nil; q.State() != nil {
		r.Queue = &q
	}
}

// QueueState returns the summary of the queue in the record, with the prompt that has left the
// queue and has no run yet. It returns nil if there is nothing to report.
func QueueState(r *store.ArmRecord) *coleo.QueueState {
	state := Queue(r).State()
	at := slices.IndexFunc(r.Intended, func(p coleo.Receipt) bool { return p.FollowUp })
	if at < 0 {
		return state
	}
	if state == nil {
		state = &coleo.QueueState{}
	}
	state.Sending = r.Intended[at].ID
	return state
}
