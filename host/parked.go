package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/queue"
	"coleo.dev/limit"
	"coleo.dev/store"
)

// maxWake is the longest time between two checks whether a parked arm may continue. The wake time
// is a time of day, so it can pass suddenly: a laptop may have slept, or somebody may have set its
// clock.
const maxWake = 15 * time.Second

// maxErrors is the largest number of errors that an arm keeps until the end of its turn. An agent
// CLI reports one or two.
const maxErrors = 10

// turnErrors contains the errors that the agent CLI has reported since the model last worked. One
// of them may end the turn.
type turnErrors struct {
	mu   sync.Mutex // guards list
	list []string
}

// keep adds the errors in the given work to the list. If the model has worked after an error, the
// turn has continued, so keep empties the list.
func (t *turnErrors) keep(w work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, activity := range w.list {
		switch told := activity.Work.(type) {
		case coleo.Problem:
			if !told.Retries && len(t.list) < maxErrors {
				t.list = append(t.list, told.Text)
			}
		case coleo.AssistantText, coleo.Thinking, coleo.ToolCall, coleo.ToolEnd:
			t.list = nil
		}
	}
}

// take returns the errors, and empties the list.
func (t *turnErrors) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.list
	t.list = nil
	return list
}

// If the turn has ended at a limit, noteLimit stores the limit and the outcome in end. There must
// be an error on the screen or in the agent CLI's record, and a proof that the turn has ended.
// Otherwise noteLimit does nothing.
func (a *arm) noteLimit(s coleo.Session, end *coleo.RunEnd) {
	errors := a.errors.take()
	l, ok := s.(coleo.Limiter)
	told := end.Status == coleo.Failed || end.Status == coleo.Idle && len(errors) > 0
	if !ok || !told || end.Outcome == coleo.OutcomeUnproven {
		return
	}
	if end.Limit = l.Limit(errors, a.host.Now()); end.Limit != nil {
		end.Outcome = coleo.OutcomeFailed
	}
}

// park parks an arm if its run has ended at a limit. It changes the arm's record and returns the
// events. The caller writes both together with the end of the run. A compaction does not park the
// arm, because the prompt that continues an arm would not repeat the compaction.
//
// hasReplied says whether the model has replied in the run. Some agent CLIs forget a turn without a
// reply. Their arms later continue with the prompt of the run.
func park(r *store.ArmRecord, run coleo.Receipt, end coleo.RunEnd, hasReplied bool) []coleo.Event {
	if end.Limit == nil || run.Compact {
		return nil
	}
	p := limit.Plan(*end.Limit, run.ID, r.ID, run.Continues, r.Spec.AtLimit(), run.Tried)
	if p.Forgets && !hasReplied {
		p.Prompt = run.Text
	}
	return setParked(r, queue.Park(queueOf(r), p), coleo.ParkChange{Step: coleo.ParkBegun, Parked: p.WithoutPrompt()})
}

// onLimit changes what an arm does at a limit. If the arm is parked, the change also applies to the
// present limit. One write stores both.
func (h *Host) onLimit(ctx context.Context, o bus.OnLimitOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err == nil {
		err = o.OnLimit.Check()
	}
	if err != nil {
		return nil, err
	}
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		from := r.Spec.AtLimit().OrDefault()
		r.Spec.Chosen = r.Spec.Chosen.Change(func(c *coleo.Chosen) { c.OnLimit = o.OnLimit })
		return append([]coleo.Event{event(r.ID, coleo.EventOnLimit, coleo.OnLimitChange{From: from, To: o.OnLimit})},
			replan(r)...)
	})
	if err != nil {
		return nil, err
	}
	a.fileOrLog()
	a.allowRetry()
	a.mu.Lock()
	defer a.mu.Unlock()
	out := coleo.OnLimitReport{Arm: a.record.Name, OnLimit: a.record.Spec.AtLimit().OrDefault()}
	if p := queueOf(&a.record).Parked; p != nil {
		told := p.WithoutPrompt()
		out.Parked = &told
	}
	return bus.OnLimitReport{OnLimitReport: out, Chosen: a.record.Spec.Chosen}, nil
}

// When a user changes what an arm does at a limit, replan plans the present parking of the arm
// again. It returns the events, or nil if nothing has changed. It does not change a parking whose
// alternative is being carried out.
func replan(r *store.ArmRecord) []coleo.Event {
	q := queueOf(r)
	if q.Parked == nil || q.Parked.Kind.SetByColeo() || q.Parked.Doing != "" {
		return nil
	}
	was := *q.Parked
	p := limit.Plan(was.Limit, was.Run, r.ID, was.Try-1, r.Spec.AtLimit(), was.Tried)
	if p.Prompt, p.Failed = was.Prompt, was.Failed; p == was {
		return nil
	}
	q.Parked = &p
	return setParked(r, q, coleo.ParkChange{Step: coleo.ParkChanged, Parked: p.WithoutPrompt()})
}

// unpark ends the parking of an arm in its record, and removes a waiting prompt that would continue
// the arm. It returns the events, or nil if there was nothing to change.
func unpark(r *store.ArmRecord, why string) []coleo.Event {
	q, changed := queue.Unpark(queueOf(r))
	if !changed {
		return nil
	}
	return setParked(r, q, coleo.ParkChange{Step: coleo.ParkEnded, Why: why})
}

// setParked stores the queue of an arm whose parking has begun, changed or ended. It returns the
// events.
func setParked(r *store.ArmRecord, q coleo.Queue, c coleo.ParkChange) []coleo.Event {
	if c.IsParked() {
		c = coleo.ParkedNow(c.Step, c.Parked)
	} else if r.Queue != nil && r.Queue.Parked != nil {
		c.Parked = r.Queue.Parked.WithoutPrompt()
	}
	if r.Queue = nil; q.State() != nil {
		r.Queue = &q
	}
	return []coleo.Event{event(r.ID, coleo.EventParked, c)}
}

// goOn makes a parked arm continue if its wake time has come and a prompt may be sent now. One
// write ends the parking and adds the prompt to the queue. So a kill of the host agent neither
// loses nor repeats the prompt. The caller must hold the lock delivering.
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
		events, _ := a.continued(r, "the limit has passed")
		return events
	})
	if err != nil && ctx.Err() == nil {
		a.host.Log.Error("continue a parked arm", "arm", a.name(), "error", err)
	}
}

// continued ends the parking of an arm in its record, and adds the prompt that continues the arm.
// It returns the events, and the id of the prompt. If a budget refused a prompt and so parked the
// arm, no turn was cut off. In this case, continued adds no prompt, and id is "".
func (a *arm) continued(r *store.ArmRecord, why string) (events []coleo.Event, id string) {
	text := coleo.ContinuePrompt
	switch p := queueOf(r).Parked; {
	case p != nil && p.Prompt == "" && p.Run == "":
		return unpark(r, why), ""
	case p != nil && p.Prompt != "":
		text = p.Prompt
	case strings.TrimSpace(r.Spec.ContinueWith) != "":
		text = r.Spec.ContinueWith
	}
	id = rand.Text()
	q := queue.Continue(queueOf(r), id, text, a.host.Now())
	events = setParked(r, q, coleo.ParkChange{Step: coleo.ParkContinued, Why: why, Run: id})
	return append(events, setQueue(r, q, coleo.QueueAdded, id)...), id
}

// mayFollow reports whether a prompt of the queue may be sent now. It must be proven that the
// session is idle, and the session must show no dialog. No run may be open, no prompt may be on its
// way, and nobody may be typing by hand. mayFollow returns false if nothing has changed since a
// prompt was refused.
//
// While the session shows the error of the last turn, mayFollow returns true for only two prompts.
// One is a prompt that continues a parked arm. The other is the next prompt after a person has
// resumed the queue. The caller must hold mu.
func (a *arm) mayFollow(s coleo.Session, now coleo.Reading, e coleo.Queued) bool {
	past := e.Continues > 0 || a.sending.pastError
	return a.sending.tried != a.sending.changes && a.isCalm(s, now, func(state coleo.State) bool {
		return state == coleo.Idle || state == coleo.Failed && past
	})
}

// isCalm checks all conditions of mayFollow except those about the queue and its refused prompts.
// The last parameter decides whether the session's state is acceptable. The caller must hold mu.
func (a *arm) isCalm(s coleo.Session, now coleo.Reading, right func(coleo.State) bool) bool {
	calm := func(r coleo.Reading) bool {
		return right(r.State) && r.Known && r.Dialog == nil && r.Rule != coleo.RuleUnprovenIdle
	}
	return a.session == s && !a.gone && !a.done && calm(now) && calm(a.reading) &&
		a.run == nil && a.record.Run == nil && len(a.record.Intended) == 0 && !a.lease.Taken()
}

// behindError begins the text for users that says why nothing is sent after a turn that ended with
// an error.
const behindError = "its agent CLI shows the error of its last turn"

// isBehindError reports whether only the error of the last turn delays the first prompt of the
// queue. It returns false if the queue already shows this reason. The caller must hold mu.
func (a *arm) isBehindError(s coleo.Session, now coleo.Reading, e coleo.Queued) bool {
	return e.Continues == 0 && !a.sending.pastError && !strings.HasPrefix(queueOf(&a.record).Held, behindError) &&
		a.isCalm(s, now, func(state coleo.State) bool { return state == coleo.Failed })
}

// holdBehindError records that the first prompt of the queue waits because of the error of the last turn.
func (a *arm) holdBehindError(ctx context.Context, first coleo.Queued) {
	err := a.change(context.WithoutCancel(ctx), func(r *store.ArmRecord) []coleo.Event {
		q := queueOf(r)
		if len(q.Entries) == 0 || !sameEntry(q.Entries[0], first) {
			return nil
		}
		q.Held = behindError + ": 'coleo arm resume " + r.Name + "' sends the prompt despite the error"
		return setQueue(r, q, coleo.QueueHeld, first.ID)
	})
	if err != nil {
		a.host.Log.Error("record that a queue waits behind an error", "arm", a.name(), "error", err)
	}
}

// When a new turn begins, leaveError clears the note that a prompt waits because of the error of an
// earlier turn. It returns the events. The caller must hold mu.
func (a *arm) leaveError(r *store.ArmRecord) []coleo.Event {
	a.sending.pastError = false
	q := queueOf(r)
	if !strings.HasPrefix(q.Held, behindError) {
		return nil
	}
	q.Held = ""
	return setQueue(r, q, coleo.QueueResumed, "")
}

// untilWake returns the time until the next check of a parked arm, or of a queue whose prompt could
// not be recorded. It returns 0 if the arm does not continue by itself.
func (a *arm) untilWake() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sending.unrecorded {
		a.sending.unrecorded = false
		return maxWake
	}
	p := queueOf(&a.record).Parked
	if p == nil || p.Wake.IsZero() {
		return 0
	}
	return min(max(p.Wake.Sub(a.host.Now()), time.Second), maxWake)
}

// obeyParked carries out an order about a parked arm, and returns the events. o.ID becomes the id
// of the prompt that continues the arm, or "". After an error, nothing has changed.
func (a *arm) obeyParked(r *store.ArmRecord, o *coleo.QueueOrder) (events []coleo.Event, err error) {
	if queueOf(r).Parked == nil {
		return nil, coleo.Errorf(coleo.EConflict, "arm %s is not parked: nothing was changed", r.Name)
	}
	if o.ID = ""; o.Step == coleo.QueueUnparked {
		return unpark(r, "a person has cancelled the wait"), nil
	}
	events, o.ID = a.continued(r, "a person does not wait any longer")
	return events, nil
}

// changeParked changes the record of an arm that is still in the given parking. It returns the
// errors of stillParked and of intend.
func (a *arm) changeParked(ctx context.Context, at bus.ParkedAt,
	fn func(*store.ArmRecord, coleo.Parked) []coleo.Event) error {
	var refusal error
	err := a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		var p coleo.Parked
		if p, refusal = stillParked(r, at); refusal != nil {
			return nil
		}
		return fn(r, p)
	})
	return errors.Join(refusal, err)
}

// stillParked returns the parking of an arm. It returns EStale if the arm has left the given
// parking, or has already tried the given alternative. It returns EBusy if the queue is paused.
func stillParked(r *store.ArmRecord, at bus.ParkedAt) (coleo.Parked, error) {
	q := queueOf(r)
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

// pauseAfter pauses the queue if the lost prompt p came from the queue, and returns the event.
// After any other lost prompt, it does nothing.
func pauseAfter(r *store.ArmRecord, p coleo.Receipt) []coleo.Event {
	if !p.FollowUp {
		return nil
	}
	why := fmt.Sprintf("nothing proves that the prompt %s has arrived, and it is not sent again", p.ID)
	return setQueue(r, queue.Pause(queueOf(r), why, false), coleo.QueuePaused, p.ID)
}

// pauseAnew pauses the queue of an arm that starts with a new conversation, and ends the arm's
// parking. It returns the events. It does not pause an empty queue.
func pauseAnew(r *store.ArmRecord) []coleo.Event {
	events := unpark(r, "the arm was started with a new conversation")
	q := queueOf(r)
	if len(q.Entries) == 0 {
		return events
	}
	q = queue.Pause(q, "the arm was started with a new conversation", false)
	return append(events, setQueue(r, q, coleo.QueuePaused, "")...)
}

// settleTaken handles a prompt of the queue after an error of SendPrompt that leaves open whether
// the prompt has arrived. If something else proves the arrival, settleTaken begins the prompt's
// run. Otherwise it records the prompt as lost and pauses the queue.
func (a *arm) settleTaken(ctx context.Context, s coleo.Session, run coleo.Receipt, cause error) {
	var e *coleo.Error
	told := errors.As(cause, &e) && e.Code == coleo.EPromptLost && e.Screen != nil // the session has reported the loss
	err := errors.New("nothing proves that it has arrived")
	if !told {
		err = a.settle(ctx, s, run)
	}
	if err == nil {
		a.endRun(ctx, s)
		return
	}
	reading := s.State()
	err = a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		if !isIntended(r, run.ID) {
			return nil
		}
		r.Intended = withoutReceipt(r.Intended, run.ID)
		if told {
			return pauseAfter(r, run)
		}
		return lostPromptEvents(r, run, reading)
	})
	if err != nil {
		a.host.Log.Error("record that a prompt of the queue is lost", "arm", a.name(), "error", err)
	}
}

// lostPromptEvents returns the events about a lost prompt of an arm. If the prompt was in the
// queue, it also pauses the queue in the record.
func lostPromptEvents(r *store.ArmRecord, p coleo.Receipt, reading coleo.Reading) []coleo.Event {
	return append([]coleo.Event{lostPrompt(r.ID, p, reading)}, pauseAfter(r, p)...)
}

// lostPrompt returns the event about a lost prompt. Coleo was about to type this prompt, and
// nothing proves that it has arrived. A lost prompt has no run.
func lostPrompt(arm string, p coleo.Receipt, reading coleo.Reading) coleo.Event {
	return event(arm, coleo.EventPromptLost, coleo.Change{
		Time: time.Now().UTC(), Kind: coleo.ChangePrompt, Reading: reading,
		Note: "coleo was cut off while it sent a prompt, which cannot be proven to have arrived: " + p.Text,
	})
}
