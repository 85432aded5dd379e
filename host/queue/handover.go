package queue

import (
	"slices"

	"coleo.dev"
)

// HandOver returns the queue of an arm whose task goes to the successor in h. It also returns the
// prompts that move to the successor's queue, in order. The returned queue is paused. The arm is no
// longer parked, because the successor continues the task. Prompts that Coleo itself has added
// belong to the arm's conversation, so they stay in the arm's queue.
func HandOver(q coleo.Queue, h coleo.Handover) (coleo.Queue, []coleo.Queued) {
	before := q
	before.Handover = nil
	h.Open, h.Before = true, &before
	out, _ := Unpark(q)
	moved := movableEntries(out.Entries)
	out.Entries = slices.DeleteFunc(slices.Clone(out.Entries), fromCaller)
	out.Paused, out.ByHand, out.Held = "handed over to arm "+h.Name+" ("+h.Harness+")", true, ""
	out.Handover = &h
	return out, moved
}

// HandedOver returns the queue of an arm whose successor has started.
func HandedOver(q coleo.Queue) coleo.Queue {
	if q.Handover != nil {
		told := q.Handover.WithoutQueue()
		told.Open = false
		q.Handover = &told
	}
	return q
}

// WithoutHandedOver returns the queue of a successor that could not start, without the first prompt and
// the prompts that come back to the first arm. h is the hand-over in the queue of the first arm.
func WithoutHandedOver(q coleo.Queue, h coleo.Handover) coleo.Queue {
	var back []coleo.Queued
	if h.Before != nil {
		back = h.Before.Entries
	}
	first := ""
	if len(q.Entries) > 0 {
		first = q.Entries[0].ID
	}
	q.Entries = slices.DeleteFunc(slices.Clone(q.Entries), func(e coleo.Queued) bool {
		return e.ID == h.Run || slices.ContainsFunc(back, func(b coleo.Queued) bool { return b.ID == e.ID })
	})
	return clearHeld(q, first)
}

// TakeBack returns the queue of an arm whose successor could not start. It is the queue from before
// the hand-over, followed by the prompts that were added since. The second result contains the
// prompts that come back from the successor.
func TakeBack(q coleo.Queue) (coleo.Queue, []coleo.Queued) {
	if q.Handover == nil || q.Handover.Before == nil {
		return q, nil
	}
	out := *q.Handover.Before
	had := func(e coleo.Queued) bool {
		return slices.ContainsFunc(out.Entries, func(old coleo.Queued) bool { return old.ID == e.ID })
	}
	back := movableEntries(out.Entries)
	out.Entries = append(slices.Clip(out.Entries), slices.DeleteFunc(slices.Clone(q.Entries), had)...)
	return out, back
}

// movableEntries returns the entries that callers have added. It leaves out the entries of Coleo
// itself.
func movableEntries(list []coleo.Queued) []coleo.Queued {
	return slices.DeleteFunc(slices.Clone(list), func(e coleo.Queued) bool { return !fromCaller(e) })
}

// fromCaller reports whether a caller has added the entry. Coleo itself adds entries that make a
// parked arm continue, or that ask a model again for an answer that fits a schema.
func fromCaller(e coleo.Queued) bool { return e.Continues == 0 && e.Check == nil }
