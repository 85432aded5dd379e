package host

import (
	"context"
	"errors"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/queue"
	"coleo.dev/store"
)

// succeed starts a second arm, the successor, which continues the task of the first arm. Each step
// is one write. So after a kill, nothing is lost and nothing is done twice:
//
//  1. The first arm is paused. Its record keeps its former queue.
//  2. The intended start of the successor is stored with the successor's queue. This queue contains
//     the successor's first prompt, and the prompts that move. Until the start is done, nothing is
//     sent from this queue.
//  3. The first arm forgets its former queue.
//
// If the successor does not start, its queue is emptied, and the first arm receives its former
// queue back. After a kill between these steps, settleHandovers does the rest.
//
// succeed returns the errors of spawn, and these errors:
//
//   - EBusy: the first arm works or is being prompted.
//   - EBlocked: the first arm asks something.
//   - EUnproven: it is unknown whether the first arm works.
//   - EStale: the order names a limit at which the first arm no longer waits.
func (h *Host) succeed(ctx context.Context, o bus.SucceedOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if o.Failed != "" {
		return nil, h.noHandover(ctx, a, o)
	}
	first := o.Spawn.First
	if first == nil || first.ID == "" || strings.TrimSpace(first.Text) == "" || o.Spawn.ID == a.record.ID {
		return nil, coleo.Errorf(coleo.EInvalid, "a hand-over needs another arm, and a first prompt: nothing was done")
	}
	defer a.begin()()
	to := coleo.ArmLink{ID: o.Spawn.ID, Name: o.Spawn.Name, Harness: o.Spawn.Harness}
	if o.Spawn.Then, err = a.beginHandover(ctx, to, first.ID, o.At); err != nil {
		return nil, err
	}
	report, err := h.spawn(ctx, o.Spawn)
	if err != nil {
		return nil, errors.Join(err, h.failHandover(context.WithoutCancel(ctx), a, err.Error()))
	}
	a.endHandover(context.WithoutCancel(ctx))
	return bus.SucceedReport{ArmReport: report.(bus.ArmReport), Moved: idsOf(o.Spawn.Then)}, nil
}

// noHandover records that the task of an arm was not handed over, because serve never ordered the
// start of the successor. If the host agent has received that order after all, noHandover returns
// EConflict.
func (h *Host) noHandover(ctx context.Context, a *arm, o bus.SucceedOrder) error {
	ordered := coleo.Errorf(coleo.EConflict, "the successor %s was ordered", o.Spawn.Name)
	if _, err := h.arm(o.Spawn.ID); err == nil {
		return ordered
	}
	leave, err := a.stay()
	if err != nil {
		return err
	}
	defer leave()
	var refusal error
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		if to := armrecord.Queue(r).Handover; to != nil && to.Arm == o.Spawn.ID {
			refusal = ordered
			return nil
		}
		return []coleo.Event{armrecord.Event(r.ID, coleo.EventHandover, coleo.HandoverChange{Step: coleo.HandoverFailed,
			From: linkOf(r), To: coleo.ArmLink{ID: o.Spawn.ID, Name: o.Spawn.Name, Harness: o.Spawn.Harness},
			Why: o.Failed})}
	})
	return errors.Join(refusal, err)
}

// beginHandover pauses the arm if it is at rest. It returns the prompts that move from the arm's
// queue to the successor. firstPrompt is the id of the successor's first prompt. If the arm waits
// at a limit, the same write ends this wait. If `at` is not nil, the arm must still wait at the
// limit that `at` names.
func (a *arm) beginHandover(ctx context.Context, to coleo.ArmLink, firstPrompt string, at *bus.ParkedAt) (
	moved []coleo.Queued, err error) {
	a.typing.RLock()
	defer a.typing.RUnlock()
	a.delivering.Lock() // while it is locked, no prompt is sent
	defer a.delivering.Unlock()
	if s, err := a.liveSession(); err == nil {
		a.endRun(ctx, s) // ends the run if its turn has just ended
	}
	var refusal error
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		if at != nil {
			_, refusal = armrecord.StillParked(r, *at)
		}
		if refusal == nil {
			refusal = a.checkAtRest(r)
		}
		if refusal != nil {
			return nil
		}
		var q coleo.Queue
		q, moved = queue.HandOver(armrecord.Queue(r), coleo.Handover{Run: firstPrompt, Arm: to.ID, Name: to.Name,
			Harness: to.Harness})
		var events []coleo.Event
		if p := armrecord.Queue(r).Parked; p != nil {
			events = append(events, armrecord.Event(r.ID, coleo.EventParked, coleo.ParkChange{Step: coleo.ParkEnded,
				Why: "its task was handed over", Parked: p.WithoutPrompt()}))
		}
		events = append(events, armrecord.SetQueue(r, q, coleo.QueuePaused, "")...)
		return append(events, handoverEvent(r, coleo.HandoverBegun, moved, ""))
	})
	return moved, errors.Join(refusal, err)
}

// checkAtRest returns an error if the agent CLI is working, asks something or is being prompted, or
// if this is unknown. An arm that has ended is at rest. The caller holds mu.
func (a *arm) checkAtRest(r *store.ArmRecord) error {
	if a.gone {
		return coleo.Errorf(coleo.ENotFound, "this host no longer has an arm called %q", r.Name)
	}
	if r.Status == coleo.StatusStopped && a.session == nil {
		return nil
	}
	if a.session == nil {
		return coleo.Errorf(coleo.EUnproven, "nothing was done, because nobody reads the screen of arm %s now: "+
			"'coleo arm recover %s' recovers it", r.Name, r.Name)
	}
	now := a.session.State()
	switch {
	case now.State == coleo.WaitingApproval:
		return coleo.Blocked(now.Dialog)
	case now.State == coleo.Initializing || now.State.Working() || a.run != nil || r.Run != nil || len(r.Intended) > 0:
		return coleo.Errorf(coleo.EBusy, "arm %s is working: nothing was done; --interrupt stops its turn first, and "+
			"'coleo arm wait %s' waits for its end", r.Name, r.Name)
	case now.Rule == coleo.RuleUnprovenIdle:
		return coleo.Errorf(coleo.EUnproven, "nothing was done, because nothing proves that the turn of arm %s has ended: "+
			"look at its screen, or kill it first", r.Name)
	}
	return a.lease.MayType("", r.Name)
}

// endHandover records that the successor has started.
func (a *arm) endHandover(ctx context.Context) {
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		events := armrecord.SetQueue(r, queue.HandedOver(armrecord.Queue(r)), coleo.QueuePaused, "")
		return append(events, handoverEvent(r, coleo.HandoverDone, nil, ""))
	})
	if err != nil {
		a.host.Log.Error("record that a successor has started", "arm", a.name(), "error", err)
	}
}

// failHandover gives the first arm its prompts back if the successor has not started. It first
// removes these prompts from the successor's queue, so that no two arms have the same prompt. Other
// prompts, which somebody has added to that queue since, stay there.
func (h *Host) failHandover(ctx context.Context, a *arm, why string) error {
	a.mu.Lock()
	to := armrecord.Queue(&a.record).Handover
	a.mu.Unlock()
	if s, err := h.arm(to.Arm); err == nil {
		err = s.change(ctx, func(r *store.ArmRecord) []coleo.Event {
			if r.Queue == nil {
				return nil
			}
			return armrecord.SetQueue(r, queue.WithoutHandedOver(*r.Queue, *to), coleo.QueuePaused, "")
		})
		if err != nil {
			return err // the next host agent will try again
		}
	}
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		q, back := queue.TakeBack(armrecord.Queue(r))
		events := []coleo.Event{handoverEvent(r, coleo.HandoverFailed, back, why)}
		if q.Parked != nil {
			events = append(events, armrecord.Event(r.ID, coleo.EventParked, coleo.ParkedNow(coleo.ParkBegun, *q.Parked)))
		}
		step := coleo.QueueResumed
		if q.Paused != "" {
			step = coleo.QueuePaused
		}
		events = append(events, armrecord.SetQueue(r, q, step, "")...)
		for _, e := range back {
			events = append(events, armrecord.SetQueue(r, q, coleo.QueueAdded, e.ID)...)
		}
		return events
	})
}

// settleHandovers completes the hand-overs that were open when the last host agent ended. If the
// successor has started, it keeps the task. It may already have moved to another host, because only a
// successor that has started can move. Otherwise the first arm receives the task back, and the successor
// is removed.
func (h *Host) settleHandovers(ctx context.Context) {
	for _, a := range h.allArms() {
		a.mu.Lock()
		to := armrecord.Queue(&a.record).Handover
		a.mu.Unlock()
		if to == nil || !to.Open {
			continue
		}
		if s, err := h.arm(to.Arm); err == nil && s.recordNow().Handle != nil || h.isDisowned(to.Arm) {
			a.endHandover(ctx)
			continue
		}
		err := h.failHandover(ctx, a, "the host agent has ended before arm "+to.Name+" had started")
		if err != nil {
			h.Log.Error("take back what was handed over", "arm", a.name(), "error", err)
			continue
		}
		_, err = h.remove(ctx, bus.ArmOrder{Arm: to.Arm})
		if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
			h.Log.Error("remove a successor that has not started", "arm", to.Name, "error", err)
		}
	}
}

// handoverEvent returns the event about one step of the hand-over in the record.
func handoverEvent(r *store.ArmRecord, step coleo.HandoverStep, moved []coleo.Queued, why string) coleo.Event {
	c := coleo.HandoverChange{Step: step, From: linkOf(r), Moved: idsOf(moved), Why: why}
	if to := armrecord.Queue(r).Handover; to != nil {
		c.To, c.Run = coleo.ArmLink{ID: to.Arm, Name: to.Name, Harness: to.Harness}, to.Run
	}
	return armrecord.Event(r.ID, coleo.EventHandover, c)
}

func linkOf(r *store.ArmRecord) coleo.ArmLink {
	return coleo.ArmLink{ID: r.ID, Name: r.Name, Harness: r.Harness}
}

func idsOf(list []coleo.Queued) (ids []string) {
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}

// queueFirst puts the first prompts of a start at the head of the arm's queue, and returns the
// events. The same write stores the intended start, so a kill of the host agent during the start
// loses no prompt.
func queueFirst(r *store.ArmRecord, o bus.SpawnOrder) (events []coleo.Event) {
	if o.First == nil {
		return nil
	}
	for at, e := range append([]coleo.Queued{*o.First}, o.Then...) {
		if isQueued(r, e.ID) {
			continue
		}
		q := armrecord.Queue(r)
		q.Entries = slices.Insert(slices.Clone(q.Entries), min(at, len(q.Entries)), e)
		events = append(events, armrecord.SetQueue(r, q, coleo.QueueAdded, e.ID)...)
	}
	if by := o.Config.Succeeds; by != nil {
		events = append(events, armrecord.Event(r.ID, coleo.EventHandover, coleo.HandoverChange{Step: coleo.HandoverReceived,
			From: by.ArmLink, To: linkOf(r), Run: o.First.ID, Moved: idsOf(o.Then)}))
	}
	return events
}
