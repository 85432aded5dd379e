package host

import (
	"context"
	"errors"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/queue"
	"coleo.dev/store"
)

// maxWake is the longest time between two checks whether a parked arm may continue. The arm
// continues at a certain time of day. This time can come suddenly, because a laptop has slept or
// somebody has set its clock.
const maxWake = 15 * time.Second

// onLimit changes what an arm does when it reaches a limit of its model. If the arm is waiting at a
// limit now, the change also applies to this limit. One write stores both.
func (h *Host) onLimit(ctx context.Context, o bus.OnLimitOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err == nil {
		err = o.OnLimit.Check()
	}
	if err != nil {
		return nil, err
	}
	leave, err := a.stay()
	if err != nil {
		return nil, err
	}
	defer leave()
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		from := r.Spec.AtLimit().OrDefault()
		r.Spec.Chosen = r.Spec.Chosen.Change(func(c *coleo.Chosen) { c.OnLimit = o.OnLimit })
		changed := armrecord.Event(r.ID, coleo.EventOnLimit, coleo.OnLimitChange{From: from, To: o.OnLimit})
		return append([]coleo.Event{changed}, armrecord.Replan(r)...)
	})
	if err != nil {
		return nil, err
	}
	a.fileOrLog()
	a.allowRetry()
	a.mu.Lock()
	defer a.mu.Unlock()
	out := coleo.OnLimitReport{Arm: a.record.Name, OnLimit: a.record.Spec.AtLimit().OrDefault()}
	if p := armrecord.Queue(&a.record).Parked; p != nil {
		told := p.WithoutPrompt()
		out.Parked = &told
	}
	return bus.OnLimitReport{OnLimitReport: out, Chosen: a.record.Spec.Chosen}, nil
}

// goOn makes a parked arm continue if its wake time has come and a prompt may be sent now. A parked
// arm waits at a limit of its model. One write ends this wait and adds the prompt to the queue. So
// a kill of the host agent neither loses nor repeats the prompt. The caller must hold the lock
// delivering.
func (a *arm) goOn(ctx context.Context, s coleo.Session) {
	reading := s.State()
	may := func(r *store.ArmRecord) bool {
		return queue.Due(armrecord.Queue(r), a.host.Now()) && a.mayFollow(s, reading, coleo.Queued{Continues: 1})
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
		events, _ := armrecord.Continue(r, "the limit has passed", a.host.Now())
		return events
	})
	if err != nil && ctx.Err() == nil {
		a.host.Log.Error("continue a parked arm", "arm", a.name(), "error", err)
	}
}

// mayFollow reports whether the queue's prompt e may be sent now. All of these conditions must
// hold:
//
//   - It is proven that the session is idle, and the session shows no dialog.
//   - No run is open, and no other prompt is being sent.
//   - Nobody types by hand.
//   - Something has changed since a prompt of the queue was last refused.
//
// If the session shows the error of the last turn instead of idle, mayFollow allows only two
// prompts: the prompt that continues a parked arm, and the next prompt after a person has resumed
// the queue. The caller must hold mu.
func (a *arm) mayFollow(s coleo.Session, now coleo.Reading, e coleo.Queued) bool {
	past := e.Continues > 0 || a.sending.pastError
	return a.sending.tried != a.sending.changes && a.isCalm(s, now, func(state coleo.State) bool {
		return state == coleo.Idle || state == coleo.Failed && past
	})
}

// isCalm checks all conditions of mayFollow except those about the queue and its refused prompts.
// The function `right` decides which states of the session are acceptable. The caller must hold mu.
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
	return e.Continues == 0 && !a.sending.pastError && !strings.HasPrefix(armrecord.Queue(&a.record).Held, behindError) &&
		a.isCalm(s, now, func(state coleo.State) bool { return state == coleo.Failed })
}

// holdBehindError records that the first prompt of the queue waits because of the error of the last turn.
func (a *arm) holdBehindError(ctx context.Context, first coleo.Queued) {
	err := a.change(context.WithoutCancel(ctx), func(r *store.ArmRecord) []coleo.Event {
		q := armrecord.Queue(r)
		if len(q.Entries) == 0 || !sameEntry(q.Entries[0], first) {
			return nil
		}
		q.Held = behindError + ": 'coleo arm resume " + r.Name + "' sends the prompt despite the error"
		return armrecord.SetQueue(r, q, coleo.QueueHeld, first.ID)
	})
	if err != nil {
		a.host.Log.Error("record that a queue waits behind an error", "arm", a.name(), "error", err)
	}
}

// leaveError is called when a new turn begins. A note in the queue can say that a prompt waits
// because of the error of an earlier turn. leaveError removes this note and returns the events. The
// caller must hold mu.
func (a *arm) leaveError(r *store.ArmRecord) []coleo.Event {
	a.sending.pastError = false
	q := armrecord.Queue(r)
	if !strings.HasPrefix(q.Held, behindError) {
		return nil
	}
	q.Held = ""
	return armrecord.SetQueue(r, q, coleo.QueueResumed, "")
}

// untilWake returns the time until sendQueue must check the arm again. There are two reasons for a
// check: a parked arm may have to continue, or a prompt of the queue could not be recorded.
// untilWake returns 0 if there is no reason.
func (a *arm) untilWake() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sending.unrecorded {
		a.sending.unrecorded = false
		return maxWake
	}
	p := armrecord.Queue(&a.record).Parked
	if p == nil || p.Wake.IsZero() {
		return 0
	}
	return min(max(p.Wake.Sub(a.host.Now()), time.Second), maxWake)
}

// obeyParked carries out an order about a parked arm, and returns the events. o.ID becomes the id
// of the prompt that continues the arm, or "". After an error, nothing has changed.
func (a *arm) obeyParked(r *store.ArmRecord, o *coleo.QueueOrder) (events []coleo.Event, err error) {
	if armrecord.Queue(r).Parked == nil {
		return nil, coleo.Errorf(coleo.EConflict, "arm %s is not parked: nothing was changed", r.Name)
	}
	if o.ID = ""; o.Step == coleo.QueueUnparked {
		return armrecord.Unpark(r, "a person has cancelled the wait"), nil
	}
	events, o.ID = armrecord.Continue(r, "a person does not wait any longer", a.host.Now())
	return events, nil
}

// changeParked changes the record of an arm if the arm still waits at the limit that `at` names. It
// returns the errors of armrecord.StillParked and of intend.
func (a *arm) changeParked(ctx context.Context, at bus.ParkedAt,
	fn func(*store.ArmRecord, coleo.Parked) []coleo.Event) error {
	var refusal error
	err := a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		var p coleo.Parked
		if p, refusal = armrecord.StillParked(r, at); refusal != nil {
			return nil
		}
		return fn(r, p)
	})
	return errors.Join(refusal, err)
}
