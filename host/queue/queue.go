// Package queue has the rules for the queue of an arm: what a caller may add, change and take, and
// in which order. Its functions are pure. Each function returns a new queue and does not change the
// given one. Package host stores the queue and sends its entries.
package queue

import (
	"slices"
	"strings"

	"coleo.dev"
)

// Add returns the queue with the given entry at its end. It returns EInvalid for an empty prompt,
// and EConflict if the queue is full.
func Add(q coleo.Queue, e coleo.Queued) (coleo.Queue, error) {
	if err := check(e); err != nil {
		return q, err
	}
	if len(q.Entries) >= coleo.MaxQueued {
		return q, coleo.Errorf(coleo.EConflict, "the queue is full, with %d prompts: nothing was added", len(q.Entries))
	}
	out := q
	out.Entries = append(slices.Clip(q.Entries), e)
	return checkSize(q, out, "added")
}

// Edit returns the queue with another text and other files for the entry with the given id. It
// returns ENotFound if there is no such entry. It also returns the errors of Add.
func Edit(q coleo.Queue, id, text string, files []string) (coleo.Queue, error) {
	at, err := find(q, id)
	if err != nil {
		return q, err
	}
	out := q
	out.Entries = slices.Clone(q.Entries)
	e := &out.Entries[at]
	e.Text, e.Files = text, files
	if err := check(*e); err != nil {
		return q, err
	}
	if at == 0 {
		out.Held = "" // Held is about the old text; the agent CLI may accept the new one
	}
	return checkSize(q, out, "changed")
}

// Move returns the queue with the entry at a new position. The first position is 1. If the position
// is past the end, the entry becomes the last one. Move returns ENotFound if there is no entry with
// the given id, and EInvalid if the position is below 1.
func Move(q coleo.Queue, id string, to int) (coleo.Queue, error) {
	at, err := find(q, id)
	if err != nil {
		return q, err
	}
	if to < 1 {
		return q, coleo.Errorf(coleo.EInvalid, "there is no place %d in a queue: the first place is 1", to)
	}
	e, first := q.Entries[at], q.Entries[0].ID
	rest := slices.Delete(slices.Clone(q.Entries), at, at+1)
	q.Entries = slices.Insert(rest, min(to-1, len(rest)), e)
	return clearHeld(q, first), nil
}

// Remove returns the queue without the entry with the given id. It returns ENotFound if
// there is no such entry.
func Remove(q coleo.Queue, id string) (coleo.Queue, error) {
	at, err := find(q, id)
	if err != nil {
		return q, err
	}
	first := q.Entries[0].ID
	q.Entries = slices.Delete(slices.Clone(q.Entries), at, at+1)
	return clearHeld(q, first), nil
}

// Take returns the first entry of the queue, and the queue without this entry. It returns false if
// the queue is empty or paused, or if its arm is parked.
func Take(q coleo.Queue) (coleo.Queued, coleo.Queue, bool) {
	if len(q.Entries) == 0 || q.Paused != "" || q.Parked != nil {
		return coleo.Queued{}, q, false
	}
	first := q.Entries[0]
	q.Entries, q.Held = slices.Clone(q.Entries[1:]), ""
	return first, q, true
}

// PutBack puts an entry that was taken from the queue back to the head of the queue. `why` says why
// the entry was not sent. PutBack ignores the limits of the queue, because the entry was in the
// queue before.
func PutBack(q coleo.Queue, e coleo.Queued, why string) coleo.Queue {
	q.Entries, q.Held = slices.Insert(slices.Clone(q.Entries), 0, e), why
	return q
}

// Pause returns the paused queue, with the given reason. byHand means that a person pauses it. A
// queue that is already paused keeps its reason, unless byHand is true.
func Pause(q coleo.Queue, why string, byHand bool) coleo.Queue {
	if q.Paused == "" || byHand {
		q.Paused, q.ByHand = why, byHand
	}
	return q
}

// Resume returns the queue without a pause. It returns EBusy while a successor of the arm is being
// started.
func Resume(q coleo.Queue) (coleo.Queue, error) {
	if q.Handover != nil && q.Handover.Open {
		return q, coleo.Errorf(coleo.EBusy, "the task is just being handed over to arm %s: nothing was resumed",
			q.Handover.Name)
	}
	q.Paused, q.ByHand, q.Held, q.Handover = "", false, "", nil
	return q, nil
}

// clearHeld removes Held, the reason why the first entry was not sent, if the first entry no longer
// has the given id. It returns the queue.
func clearHeld(q coleo.Queue, first string) coleo.Queue {
	if len(q.Entries) == 0 || q.Entries[0].ID != first {
		q.Held = ""
	}
	return q
}

func find(q coleo.Queue, id string) (int, error) {
	at := slices.IndexFunc(q.Entries, func(e coleo.Queued) bool { return e.ID == id })
	if at < 0 {
		return at, coleo.Errorf(coleo.ENotFound, "the queue has no prompt %q: it was sent, removed or never added", id)
	}
	return at, nil
}

// checkSize checks the queue q after a change. If its texts are too large, checkSize returns the
// queue from before the change and EConflict. Otherwise it returns q. `done` is a word for the
// error message, such as "added".
func checkSize(was, q coleo.Queue, done string) (coleo.Queue, error) {
	bytes := 0
	for _, e := range q.Entries {
		bytes += size(e)
	}
	if bytes > coleo.MaxQueuedBytes {
		return was, coleo.Errorf(coleo.EConflict,
			"the prompts of the queue would have %d bytes, more than %d: nothing was %s", bytes, coleo.MaxQueuedBytes, done)
	}
	return q, nil
}

func size(e coleo.Queued) int {
	n := len(e.Text)
	for _, f := range e.Files {
		n += len(f)
	}
	return n
}

// check returns EInvalid if the entry has no prompt.
func check(e coleo.Queued) error {
	if strings.TrimSpace(e.Text) == "" {
		return coleo.Errorf(coleo.EInvalid, "an empty prompt cannot be queued")
	}
	return nil
}
