package queue

import (
	"slices"
	"time"

	"coleo.dev"
)

// Park returns the queue of an arm that is parked: nothing is sent from it.
func Park(q coleo.Queue, p coleo.Parked) coleo.Queue {
	q = withoutContinuation(q)
	q.Parked = &p
	return q
}

// Unpark returns the queue of an arm that is not parked any more. The queue has no prompt
// with which the arm would go on by itself. It returns false if the arm was not parked and
// there was no such prompt.
func Unpark(q coleo.Queue) (coleo.Queue, bool) {
	next := withoutContinuation(q)
	next.Parked = nil
	return next, q.Parked != nil || len(next.Entries) < len(q.Entries)
}

// Due reports whether a parked arm is to go on by itself at the time now. A queue that is
// paused holds the arm too.
func Due(q coleo.Queue, now time.Time) bool {
	return q.Parked != nil && !q.Parked.Wake.IsZero() && !now.Before(q.Parked.Wake) && q.Paused == ""
}

// Continue returns the queue of a parked arm that goes on: it is not parked any more, and
// its first entry is the prompt with the given id and text.
func Continue(q coleo.Queue, id, text string, now time.Time) coleo.Queue {
	try := 1
	if q.Parked != nil {
		try = q.Parked.Try
	}
	q, _ = Unpark(q)
	return Back(q, coleo.Queued{ID: id, Text: text, Added: now.UTC(), By: "coleo", Continues: try}, "")
}

func withoutContinuation(q coleo.Queue) coleo.Queue {
	first := ""
	if len(q.Entries) > 0 {
		first = q.Entries[0].ID
	}
	q.Entries = slices.DeleteFunc(slices.Clone(q.Entries), func(e coleo.Queued) bool { return e.Continues > 0 })
	return unheld(q, first)
}
