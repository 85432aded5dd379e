package queue

import (
	"slices"
	"time"

	"coleo.dev"
)

// Park returns the queue of an arm that is now parked. No entry of this queue is sent.
func Park(q coleo.Queue, p coleo.Parked) coleo.Queue {
	q = withoutContinuation(q)
	q.Parked = &p
	return q
}

// Unpark returns the queue of an arm that is no longer parked. It removes the prompt with which the
// arm would have continued by itself. It returns false if the arm was not parked and the queue had
// no such prompt.
func Unpark(q coleo.Queue) (coleo.Queue, bool) {
	next := withoutContinuation(q)
	next.Parked = nil
	return next, q.Parked != nil || len(next.Entries) < len(q.Entries)
}

// ContinuesWith returns the prompt with which the arm will continue by itself. It returns "" if the
// arm will not continue. It also returns "" for a parked arm whose prompt comes from its start
// configuration, because the queue does not contain that prompt.
func ContinuesWith(q coleo.Queue) string {
	if q.Parked != nil {
		return q.Parked.Prompt
	}
	for _, e := range q.Entries {
		if e.Continues > 0 {
			return e.Text
		}
	}
	return ""
}

// Due reports whether a parked arm must continue by itself at the given time. A paused queue is
// never due.
func Due(q coleo.Queue, now time.Time) bool {
	return q.Parked != nil && !q.Parked.Wake.IsZero() && !now.Before(q.Parked.Wake) && q.Paused == ""
}

// Continue returns the queue of a parked arm that now continues. The arm is no longer parked, and
// the first entry of the queue is the prompt with the given id and text.
func Continue(q coleo.Queue, id, text string, now time.Time) coleo.Queue {
	try, tried := 1, coleo.OnLimit("")
	if q.Parked != nil {
		try, tried = q.Parked.Try, q.Parked.Tried
	}
	q, _ = Unpark(q)
	return PutBack(q, coleo.Queued{ID: id, Text: text, Added: now.UTC(), By: "coleo", Continues: try, Tried: tried}, "")
}

func withoutContinuation(q coleo.Queue) coleo.Queue {
	first := ""
	if len(q.Entries) > 0 {
		first = q.Entries[0].ID
	}
	q.Entries = slices.DeleteFunc(slices.Clone(q.Entries), func(e coleo.Queued) bool { return e.Continues > 0 })
	return clearHeld(q, first)
}
