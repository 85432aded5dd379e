package host

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/host/queue"
	"coleo.dev/limit"
	"coleo.dev/store"
)

// maxWake is the longest time between two looks whether a parked arm may go on. Its wake
// time is a time of day, which a laptop that slept or a new clock can reach suddenly.
const maxWake = 15 * time.Second

// maxErrors bounds the errors that an arm keeps for the end of its turn. An agent CLI tells
// one or two.
const maxErrors = 10

// keepErrors keeps what a record tells of errors that end a turn. What the model does after
// an error shows that the turn went on. The caller holds mu.
func (a *arm) keepErrors(w work) {
	for _, activity := range w.list {
		switch told := activity.Work.(type) {
		case coleo.Problem:
			if !told.Retries && len(a.errors) < maxErrors {
				a.errors = append(a.errors, told.Text)
			}
		case coleo.AssistantText, coleo.Thinking, coleo.ToolCall, coleo.ToolEnd:
			a.errors = nil
		}
	}
}

// forgetErrors forgets the errors of the last turn. Call it before a prompt is sent.
func (a *arm) forgetErrors() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errors = nil
}

// noteLimit sets the limit with which a turn has ended, and the outcome, in the turn's end. It
// does nothing if the turn has not ended by an error: neither the screen nor the record
// tells one, or nothing proves the end.
func (a *arm) noteLimit(s coleo.Session, end *coleo.RunEnd) {
	a.mu.Lock()
	errors := a.errors
	a.errors = nil
	a.mu.Unlock()
	l, ok := s.(coleo.Limiter)
	told := end.Status == coleo.Failed || end.Status == coleo.Idle && len(errors) > 0
	if !ok || !told || end.Outcome == coleo.OutcomeUnproven {
		return
	}
	if end.Limit = l.Limit(errors, a.host.Now()); end.Limit != nil {
		end.Outcome = coleo.OutcomeFailed
	}
}

// park parks the arm of a record if its run has ended at a limit, and returns the events. The
// caller writes them together with the end of the run. A compaction does not park the arm,
// because a prompt to go on would not repeat it.
//
// The parameter replied says whether the model has replied in the run. If not, and the agent
// CLI forgets such a turn, the arm goes on with the prompt of the run.
func park(r *store.ArmRecord, run coleo.Receipt, end coleo.RunEnd, replied bool) []coleo.Event {
	if end.Limit == nil || run.Compact {
		return nil
	}
	p := limit.Plan(*end.Limit, run.ID, r.ID, run.Continues, r.Spec.OnLimit)
	if p.Forgets && !replied {
		p.Prompt = run.Text
	}
	return setParked(r, queue.Park(queueOf(r), p), coleo.ParkChange{Step: coleo.ParkBegun, Parked: p.Told()})
}

// unpark makes sure that the arm of a record does not go on by itself, and returns the events.
// It returns nil if the arm was not about to.
func unpark(r *store.ArmRecord, why string) []coleo.Event {
	q, changed := queue.Unpark(queueOf(r))
	if !changed {
		return nil
	}
	return setParked(r, q, coleo.ParkChange{Step: coleo.ParkEnded, Why: why})
}

// setParked stores the queue of an arm that is parked, or is not parked any more.
func setParked(r *store.ArmRecord, q coleo.Queue, c coleo.ParkChange) []coleo.Event {
	if c.Step != coleo.ParkBegun && r.Queue != nil && r.Queue.Parked != nil {
		c.Parked = r.Queue.Parked.Told()
	}
	if r.Queue = nil; q.State() != nil {
		r.Queue = &q
	}
	return []coleo.Event{event(r.ID, coleo.EventParked, c)}
}

// goOn puts the prompt with which a parked arm goes on into the queue, if it is time and the
// prompt may be sent now. One write takes the arm out of its parking place and adds the
// prompt. So a kill neither loses the prompt nor makes it twice. The caller holds delivering.
func (a *arm) goOn(ctx context.Context, s coleo.Session) {
	reading := s.State()
	may := func(r *store.ArmRecord) bool {
		return queue.Due(queueOf(r), a.host.Now()) && a.mayFollow(s, reading, coleo.Queued{Continues: 1})
	}
	a.mu.Lock()
	due := may(&a.record)
	a.mu.Unlock()
	if !due || ctx.Err() != nil {
		return
	}
	err := a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		if !may(r) {
			return nil
		}
		return a.continued(r, "the limit has passed")
	})
	if err != nil && ctx.Err() == nil {
		a.host.Log.Error("make a parked arm go on", "arm", a.name(), "error", err)
	}
}

// continued takes the arm of a record out of its parking place, and adds the prompt with which
// it goes on. It returns the events.
func (a *arm) continued(r *store.ArmRecord, why string) []coleo.Event {
	text, id := coleo.ContinuePrompt, rand.Text()
	if p := queueOf(r).Parked; p != nil && p.Prompt != "" {
		text = p.Prompt
	} else if strings.TrimSpace(r.Spec.ContinueWith) != "" {
		text = r.Spec.ContinueWith
	}
	q := queue.Continue(queueOf(r), id, text, a.host.Now())
	events := setParked(r, q, coleo.ParkChange{Step: coleo.ParkContinued, Why: why, Run: id})
	return append(events, setQueue(r, q, coleo.QueueAdded, id)...)
}

// untilWake returns how long to wait before the next look whether a parked arm may go on. It
// returns 0 if the arm does not go on by itself.
func (a *arm) untilWake() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := queueOf(&a.record).Parked
	if p == nil || p.Wake.IsZero() {
		return 0
	}
	return min(max(p.Wake.Sub(a.host.Now()), time.Second), maxWake)
}

// obeyParked carries out an order for a parked arm. If it returns an error, it has changed
// nothing.
func (a *arm) obeyParked(r *store.ArmRecord, step coleo.QueueStep) ([]coleo.Event, error) {
	if queueOf(r).Parked == nil {
		return nil, coleo.Errorf(coleo.EConflict, "arm %s is not parked: nothing was changed", r.Name)
	}
	if step == coleo.QueueUnparked {
		return unpark(r, "a person has cancelled the wait"), nil
	}
	return a.continued(r, "a person does not wait any longer"), nil
}
