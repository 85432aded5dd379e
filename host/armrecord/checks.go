package armrecord

import (
	"crypto/rand"
	"time"

	"coleo.dev"
	"coleo.dev/checked"
	"coleo.dev/host/queue"
	"coleo.dev/store"
)

// CheckAnswer checks the answer of an ending run whose prompt had a schema, and sets end.Validated.
// If Coleo must ask the model again, CheckAnswer also sets end.Retry to a random id.
func CheckAnswer(run coleo.Receipt, end *coleo.RunEnd) {
	if run.Check == nil || len(run.Check.Schema) == 0 {
		return
	}
	told := *end
	told.Whole = isWhole(*end)
	v, canRetry := checked.Answer(*run.Check, told)
	if end.Validated = &v; !v.OK && canRetry && run.Check.Retries > 0 {
		end.Retry = rand.Text()
	}
}

// resultWithoutAnswer returns the result of the check for a run without its own answer. The turn of
// such a run ended together with the turn of a later prompt, and no record contains its answer.
// resultWithoutAnswer returns nil if the run's prompt had no schema.
func resultWithoutAnswer(run coleo.Receipt) *coleo.Validated {
	if run.Check == nil || len(run.Check.Schema) == 0 {
		return nil
	}
	return &coleo.Validated{Error: "another prompt arrived before the turn had ended, so it is not known which " +
		"answer belongs to this prompt"}
}

// checkEvents returns the events for the check of an ending run. If Coleo must ask the model again,
// checkEvents puts a prompt for that at the head of the queue. The caller writes the events, the
// queue and the end of the run in one write. So a kill of the host agent neither loses nor repeats
// this prompt. If the run has not finished, checkEvents only removes the result of the check from
// end.
func checkEvents(r *store.ArmRecord, run coleo.Receipt, end *coleo.RunEnd) []coleo.Event {
	v := end.Validated
	if v == nil {
		return nil
	}
	if end.Outcome != coleo.OutcomeFinished {
		end.Validated, end.Retry = nil, ""
		return nil
	}
	end.Validated = &coleo.Validated{OK: v.OK, Error: v.Error, Path: v.Path}
	events := []coleo.Event{RunEvent(r.ID, run.ID, coleo.EventOutputValidated, *v)}
	if end.Retry == "" {
		return events
	}
	next, text := checked.RetryPrompt(run, *v)
	events = append(events, RunEvent(r.ID, run.ID, coleo.EventOutputRetry, coleo.Retry{Attempt: next.Attempt,
		Left: next.Retries, Error: v.Error, Path: v.Path, Run: end.Retry}))
	entry := coleo.Queued{ID: end.Retry, Text: text, Added: time.Now().UTC(), By: "coleo", Check: &next}
	return append(events, SetQueue(r, queue.PutBack(Queue(r), entry, ""), coleo.QueueAdded, entry.ID)...)
}
