package host

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/checked"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/queue"
	"coleo.dev/store"
)

// These constants limit the time for the delivery of one prompt of a queue. Serve allows the same
// times for a prompt. An agent CLI can stop responding while it reads a long prompt.
const (
	followUpTime  = 90 * time.Second
	followUpPerKB = 6 * time.Second // the additional time for each 1,000 bytes of the prompt
)

// queueSending is the state of the goroutine that sends the prompts of an arm's queue.
type queueSending struct {
	nudge chan struct{} // wakes sendQueue; nil before the first session
	// changes counts events after which the agent CLI may accept a refused prompt: changes of the
	// session, orders about the queue, and ends of leases.
	changes uint64
	tried   uint64 // the value of `changes` when the last refused attempt to send a prompt began; 0 if none was refused

	unpermitted bool // the last prompt was refused because the arm had no permit, serve's permission to type
	unrecorded  bool // the last attempt to send a prompt could not be recorded, for example on a full disk

	// pastError means that a person has resumed the queue while the session showed the error of the
	// last turn. The next prompt may then be sent despite the error. The next turn clears
	// pastError.
	pastError bool
}

// queue carries out an order about the queue of an arm, and returns the queue.
func (h *Host) queue(ctx context.Context, o bus.QueueOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	leave, err := a.stay() // the queue must not change while the arm moves to another host
	if err != nil {
		return nil, err
	}
	defer leave()
	if len(o.Files) > 0 {
		if _, err := a.withFiles(coleo.Prompt{Text: o.Text, Files: o.Files}); err != nil {
			return nil, err
		}
	}
	if o.Step != "" {
		if err := a.orderQueue(ctx, &o.QueueOrder); err != nil {
			return nil, err
		}
		a.allowRetry()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	q := armrecord.Queue(&a.record)
	if q.Handover != nil {
		told := q.Handover.WithoutQueue()
		q.Handover = &told
	}
	return coleo.QueueReport{ID: o.ID, Queue: q}, nil
}

// notGone returns ENotFound if the arm was removed or has moved to another host.
func (a *arm) notGone() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.gone {
		return nil
	}
	return coleo.Errorf(coleo.ENotFound, "this host no longer has an arm called %q", a.record.Name)
}

// stay keeps the arm on this host until the caller calls the function `leave`. It first waits until no
// move or removal of the arm is running. It returns ENotFound if the arm was removed or has moved to
// another host. The caller must then write nothing, because the other host now writes the arm's folder.
func (a *arm) stay() (leave func(), err error) {
	a.typing.RLock()
	if err := a.notGone(); err != nil {
		a.typing.RUnlock()
		return nil, err
	}
	return a.typing.RUnlock, nil
}

// orderQueue carries out a person's order about the queue. When it returns, the change is on the
// disk. For an added entry, orderQueue sets o.ID. If a client repeats the order to add an entry,
// nothing changes.
func (a *arm) orderQueue(ctx context.Context, o *coleo.QueueOrder) error {
	if o.Step == coleo.QueueContinued {
		if err := a.meter.MayGoOn(); err != nil {
			return err
		}
	}
	if o.Step == coleo.QueueAdded && o.ID != "" {
		a.adding.Lock()
		defer a.adding.Unlock()
		if had, err := a.hasHad(ctx, o.ID); had || err != nil {
			return err
		}
	}
	var refusal error
	err := a.intend(ctx, func(r *store.ArmRecord) (events []coleo.Event) {
		if o.Step == coleo.QueueContinued || o.Step == coleo.QueueUnparked {
			events, refusal = a.obeyParked(r, o)
			return events
		}
		events, refusal = applyQueueOrder(r, o)
		return events
	})
	if refusal != nil {
		return refusal
	}
	if err == nil && o.Step == coleo.QueueResumed {
		a.mu.Lock()
		a.sending.pastError = a.reading.State == coleo.Failed
		a.mu.Unlock()
	}
	return err
}

// applyQueueOrder applies an order to the queue in an arm's record, and returns the events. After
// an error, nothing has changed.
func applyQueueOrder(r *store.ArmRecord, o *coleo.QueueOrder) ([]coleo.Event, error) {
	if o.ID != "" && slices.ContainsFunc(r.Intended, func(p coleo.Receipt) bool { return p.ID == o.ID && p.FollowUp }) {
		return nil, coleo.Errorf(coleo.EBusy, "the prompt %s is just being sent: it was not changed", o.ID)
	}
	q, err := armrecord.Queue(r), error(nil)
	switch o.Step {
	case coleo.QueueAdded:
		if o.ID == "" {
			o.ID = rand.Text()
		}
		q, err = queue.Add(q, coleo.Queued{ID: o.ID, Text: o.Text, Files: o.Files, Added: time.Now().UTC(), By: o.By})
	case coleo.QueueEdited:
		q, err = queue.Edit(q, o.ID, o.Text, o.Files)
	case coleo.QueueMoved:
		q, err = queue.Move(q, o.ID, o.To)
	case coleo.QueueRemoved:
		q, err = queue.Remove(q, o.ID)
	case coleo.QueuePaused:
		q, o.ID = queue.Pause(q, o.Why, true), ""
	case coleo.QueueResumed:
		q, err = queue.Resume(q)
		o.ID = ""
	case coleo.QueueSent, coleo.QueueHeld, coleo.QueueContinued, coleo.QueueUnparked:
		err = coleo.Errorf(coleo.EInvalid, "a queue takes no order %q", o.Step)
	default:
		err = coleo.Errorf(coleo.EUnsupported, "this host agent does not know the order %q about a queue: update it",
			o.Step)
	}
	if err != nil {
		return nil, err
	}
	return armrecord.SetQueue(r, q, o.Step, o.ID), nil
}

// wakeQueue makes sendQueue check whether it can send a prompt.
func (a *arm) wakeQueue() {
	a.mu.Lock()
	nudge := a.sending.nudge
	if a.watched != nil {
		close(a.watched)
		a.watched = nil
	}
	a.mu.Unlock()
	select {
	case nudge <- struct{}{}:
	default: // a check is planned already, or the arm has no session
	}
}

// allowRetry makes sendQueue try a refused prompt again.
func (a *arm) allowRetry() {
	a.mu.Lock()
	a.sending.changes++
	a.mu.Unlock()
	a.wakeQueue()
}

// onPermit records that the arm's holder has received a permit, serve's permission to type into the
// arm. If a prompt was refused because there was no permit, it may be sent now.
func (a *arm) onPermit() {
	a.mu.Lock()
	lacked := a.sending.unpermitted
	a.sending.unpermitted = false
	a.mu.Unlock()
	if lacked {
		a.allowRetry()
	}
}

// sendQueue sends the prompts of the queue through a session, one at a time, each as soon as
// possible. It ends when ctx ends.
func (a *arm) sendQueue(ctx context.Context, s coleo.Session, nudge <-chan struct{}) {
	lease := time.NewTimer(0) // fires when a lease, a person's right to type, ends; and once at the beginning
	defer lease.Stop()
	wake := time.NewTimer(maxWake) // fires when the arm may continue, if it is parked
	defer wake.Stop()
	for {
		select {
		case <-nudge:
		case <-wake.C:
			a.allowRetry()
		case <-lease.C:
			a.allowRetry()
		case <-ctx.Done():
			return
		}
		if a.leasedUntil().IsZero() {
			a.sendFirst(ctx, s)
			if wait := a.untilWake(); wait > 0 {
				wake.Reset(wait)
			}
		}
		if until := a.leasedUntil(); !until.IsZero() { // a person may have taken the lease since the check above
			lease.Reset(time.Until(until))
		}
	}
}

// leasedUntil returns the time until which a person's lease, the right to type by hand, blocks the
// queue. It returns the zero time if no lease blocks the queue.
func (a *arm) leasedUntil() time.Time {
	if a.recordNow().Queue == nil || !a.lease.Taken() {
		return time.Time{}
	}
	return a.lease.Now().Until
}

// sendFirst sends the first prompt of the queue, if it may be sent now.
func (a *arm) sendFirst(ctx context.Context, s coleo.Session) {
	a.typing.RLock()
	defer a.typing.RUnlock()
	a.delivering.Lock()
	defer a.delivering.Unlock()
	a.goOn(ctx, s)
	reading := s.State()
	a.mu.Lock()
	begun, q := a.sending.changes, armrecord.Queue(&a.record)
	first, _, may := queue.Take(q)
	behind := may && a.isBehindError(s, reading, first)
	may = may && a.mayFollow(s, reading, first)
	a.mu.Unlock()
	if behind {
		a.holdBehindError(ctx, first)
	}
	if !may || ctx.Err() != nil {
		return
	}
	end, err := a.beginTyping("")
	if err != nil {
		return // a person has the arm's lease; when the lease ends, sendQueue tries again
	}
	defer end()
	text, err := a.withFiles(coleo.Prompt{Text: first.Text, Files: first.Files})
	if err == nil {
		if err = a.meter.MayBegin(ctx, text); coleo.ErrorCode(err) == coleo.EConflict {
			return // the arm is parked or about to end, and the prompt stays in its queue
		}
	}
	if err == nil {
		err = a.choices.SettleMode(ctx, s)
	}
	if err != nil {
		a.putBack(ctx, first, begun, err)
		return
	}
	reading = s.State() // read the state again, because SettleMode may have changed the mode
	run := coleo.Receipt{ID: first.ID, Time: time.Now(), Text: a.choices.WithInstructions(checked.Text(text, first.Check)),
		FollowUp: true, Check: first.Check, SpecHash: a.specHash(first.Check, first.Text), Continues: first.Continues,
		Tried: first.Tried}
	taken := false
	a.errors.take() // forget the errors of the last turn
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		head, rest, ok := queue.Take(armrecord.Queue(r))
		if taken = ok && a.mayFollow(s, reading, head) && sameEntry(head, first); !taken {
			return nil // the queue has changed meanwhile, and the change has woken sendQueue
		}
		r.Intended = append(slices.Clip(r.Intended), run)
		return armrecord.SetQueue(r, rest, coleo.QueueSent, run.ID)
	})
	switch {
	case err == nil && taken:
		a.sendTaken(ctx, s, first, run, begun)
	case err != nil && ctx.Err() == nil:
		a.mu.Lock()
		a.sending.unrecorded = true
		a.mu.Unlock()
		a.host.Log.Error("take a prompt from the queue", "arm", a.name(), "error", err)
	}
}

func sameEntry(a, b coleo.Queued) bool {
	return a.ID == b.ID && a.Text == b.Text && slices.Equal(a.Files, b.Files)
}

// sendTaken sends a prompt that was taken from the queue, and begins its run.
func (a *arm) sendTaken(ctx context.Context, s coleo.Session, e coleo.Queued, run coleo.Receipt, begun uint64) {
	limited, cancel := context.WithTimeout(ctx, followUpTime+time.Duration(len(run.Text)/1000)*followUpPerKB)
	defer cancel()
	receipt, err := s.SendPrompt(limited, coleo.Prompt{Text: run.Text})
	switch code := coleo.ErrorCode(err); {
	case err == nil:
		receipt.ID, receipt.FollowUp, receipt.Check, receipt.SpecHash = run.ID, true, run.Check, run.SpecHash
		receipt.Continues, receipt.Tried = run.Continues, run.Tried
		lasting := context.WithoutCancel(ctx)
		if err := a.open(lasting, receipt); err != nil {
			a.host.Log.Error("begin the run of a prompt from the queue", "arm", a.name(), "error", err)
		}
		a.choices.ForgetInstructions(lasting, run.Text)
		a.endRun(lasting, s) // ends the run at once if its turn has ended before the run began
	case code == coleo.EUnsettled:
		a.keepUnsettled(ctx, run)
	case a.host.ctx.Err() != nil: // this host agent is ending; the next one looks for the prompt
	case refusedUntyped(code):
		a.putBack(ctx, e, begun, err)
	default:
		a.settleTaken(context.WithoutCancel(ctx), s, run, err)
	}
}

// refusedUntyped reports whether an error of SendPrompt proves that the agent CLI has not taken the
// prompt.
func refusedUntyped(code coleo.Code) bool {
	switch code {
	case coleo.EBlocked, coleo.EBusy, coleo.EUnrecognised, coleo.EUnproven, coleo.EConflict, coleo.EInvalid,
		coleo.EUnsupported:
		return true
	default:
		return false
	}
}

// putBack puts a refused entry back at the head of the queue. changesBefore is the value of
// a.sending.changes when the attempt began. If the entry was refused because of its text or a file,
// every later attempt would be refused too. In this case, putBack also pauses the queue.
//
// If the entry was refused before it was taken out of the queue, a person may have moved, changed
// or removed it meanwhile. putBack then changes nothing.
func (a *arm) putBack(ctx context.Context, e coleo.Queued, changesBefore uint64, refusal error) {
	err := a.change(context.WithoutCancel(ctx), func(r *store.ArmRecord) (events []coleo.Event) {
		q := armrecord.Queue(r)
		if armrecord.IsIntended(r, e.ID) {
			q = queue.PutBack(q, e, refusal.Error())
		} else if len(q.Entries) == 0 || !sameEntry(q.Entries[0], e) {
			return nil
		}
		a.sending.tried, a.sending.unpermitted = changesBefore, coleo.ErrorCode(refusal) == coleo.EUnproven
		r.Intended = armrecord.WithoutReceipt(r.Intended, e.ID)
		q.Held = refusal.Error()
		events = armrecord.SetQueue(r, q, coleo.QueueHeld, e.ID)
		if code := coleo.ErrorCode(refusal); code == coleo.EInvalid || code == coleo.EUnsupported {
			q = queue.Pause(q, "its first prompt cannot be sent: "+refusal.Error(), false)
			events = append(events, armrecord.SetQueue(r, q, coleo.QueuePaused, "")...)
		}
		return events
	})
	if err != nil {
		a.host.Log.Error("put a prompt back into the queue", "arm", a.name(), "error", err)
	}
}
