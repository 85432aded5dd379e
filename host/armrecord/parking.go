package armrecord

import (
	"crypto/rand"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/queue"
	"coleo.dev/limit"
	"coleo.dev/store"
)

// Park parks an arm if its run has ended at a limit of its model. A parked arm receives no prompt
// from its queue until it continues. Park changes the arm's record and returns the events. The
// caller writes both together with the end of the run.
//
// A compaction does not park the arm, because the prompt that continues an arm would not repeat the
// compaction. hasReplied says whether the model has replied in the run. Some agent CLIs forget a
// turn without a reply, so their arms later continue with the prompt of that run.
func Park(r *store.ArmRecord, run coleo.Receipt, end coleo.RunEnd, hasReplied bool) []coleo.Event {
	if end.Limit == nil || run.Compact {
		return nil
	}
	p := limit.Plan(*end.Limit, run.ID, r.ID, run.Continues, r.Spec.AtLimit(), run.Tried)
	if p.Forgets && !hasReplied {
		p.Prompt = run.Text
	}
	return SetParked(r, queue.Park(Queue(r), p), coleo.ParkChange{Step: coleo.ParkBegun, Parked: p.WithoutPrompt()})
}

// Replan decides again how a parked arm continues, after a user has changed what the arm does at a
// limit. It returns the events, or nil if nothing has changed. It changes nothing while an
// alternative, such as another model, is being tried.
func Replan(r *store.ArmRecord) []coleo.Event {
	q := Queue(r)
	if q.Parked == nil || q.Parked.Kind.SetByColeo() || q.Parked.Doing != "" {
		return nil
	}
	was := *q.Parked
	p := limit.Plan(was.Limit, was.Run, r.ID, was.Try-1, r.Spec.AtLimit(), was.Tried)
	if p.Prompt, p.Failed = was.Prompt, was.Failed; p == was {
		return nil
	}
	q.Parked = &p
	return SetParked(r, q, coleo.ParkChange{Step: coleo.ParkChanged, Parked: p.WithoutPrompt()})
}

// Unpark records that an arm is no longer parked, and removes from the queue a prompt that would
// continue the arm. It returns the events, or nil if there was nothing to change.
func Unpark(r *store.ArmRecord, why string) []coleo.Event {
	q, changed := queue.Unpark(Queue(r))
	if !changed {
		return nil
	}
	return SetParked(r, q, coleo.ParkChange{Step: coleo.ParkEnded, Why: why})
}

// SetParked stores the queue of an arm that has been parked, is no longer parked, or waits for
// another reason now. It returns the events.
func SetParked(r *store.ArmRecord, q coleo.Queue, c coleo.ParkChange) []coleo.Event {
	if c.IsParked() {
		c = coleo.ParkedNow(c.Step, c.Parked)
	} else if r.Queue != nil && r.Queue.Parked != nil {
		c.Parked = r.Queue.Parked.WithoutPrompt()
	}
	keepQueue(r, q)
	return []coleo.Event{Event(r.ID, coleo.EventParked, c)}
}

// Continue records that an arm is no longer parked, and adds the prompt that continues the arm. It
// returns the events, and the id of the prompt. If a budget parked the arm before a prompt was
// sent, no turn was cut off. In this case, Continue adds no prompt, and `id` is "".
func Continue(r *store.ArmRecord, why string, now time.Time) (events []coleo.Event, id string) {
	text := coleo.ContinuePrompt
	switch p := Queue(r).Parked; {
	case p != nil && p.Prompt == "" && p.Run == "":
		return Unpark(r, why), ""
	case p != nil && p.Prompt != "":
		text = p.Prompt
	case strings.TrimSpace(r.Spec.ContinueWith) != "":
		text = r.Spec.ContinueWith
	}
	id = rand.Text()
	q := queue.Continue(Queue(r), id, text, now)
	events = SetParked(r, q, coleo.ParkChange{Step: coleo.ParkContinued, Why: why, Run: id})
	return append(events, SetQueue(r, q, coleo.QueueAdded, id)...), id
}

// StillParked returns the limit at which an arm is parked. It returns EStale if the arm is no
// longer parked at the limit that `at` names, or has already tried the alternative that `at` names.
// It returns EBusy if the queue is paused.
func StillParked(r *store.ArmRecord, at bus.ParkedAt) (coleo.Parked, error) {
	q := Queue(r)
	if q.Parked == nil || q.Parked.Run != at.Run || q.Parked.Try != at.Try {
		return coleo.Parked{}, coleo.Errorf(coleo.EStale, "arm %s is no longer parked at this limit: nothing was done",
			r.Name)
	}
	if step, ok := limit.First(*q.Parked); !ok || coleo.OnLimit(step.String()) != at.Step {
		return coleo.Parked{}, coleo.Errorf(coleo.EStale, "arm %s has already tried %s: nothing was done", r.Name,
			at.Step)
	}
	if q.Paused != "" {
		return coleo.Parked{}, coleo.Errorf(coleo.EBusy, "the queue of arm %s is paused: nothing was done", r.Name)
	}
	return *q.Parked, nil
}
