package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
	"coleo.dev/waitfor"
)

// beginTyping returns EBusy if another caller has the arm's lease, the right to type by hand.
// Otherwise the caller may type into the arm, and must then call the function `end`. Until that
// call, nobody else receives the lease.
func (a *arm) beginTyping(lease string) (end func(), err error) {
	return a.lease.Begin(lease, a.name())
}

// respond answers a dialog. It returns EStale if the arm has no open dialog.
func (a *arm) respond(ctx context.Context, o bus.RespondOrder) error { return a.respondBy(ctx, o, "") }

// respondBy is like respond, for an answer of a policy. `rule` names the policy's rule that
// decided. It is "" if a person answers.
func (a *arm) respondBy(ctx context.Context, o bus.RespondOrder, rule string) error {
	s, err := a.liveSession()
	if err != nil {
		return err
	}
	end, err := a.beginTyping(o.Lease)
	if err != nil {
		return err
	}
	defer end()
	d := s.State().Dialog
	if d == nil {
		return coleo.Errorf(coleo.EStale, "arm %s asks nothing now (it is %s)", a.name(), s.State().State)
	}
	if o.Dialog == "" {
		o.Dialog = d.Fingerprint
	}
	words, unmark := "", func() {}
	if o.Decision.Choice == coleo.ChoiceDeny {
		unmark = a.markInterrupted(ctx, s)
	}
	err = s.Respond(ctx, o.Dialog, o.Decision)
	if o.Decision.Choice == coleo.ChoiceDeny && o.Decision.Words != "" && coleo.ErrorCode(err) == coleo.EUnsupported {
		// With EUnsupported, the session has typed nothing. So deny without the words, and send the words
		// later.
		words, o.Decision.Words = o.Decision.Words, ""
		err = s.Respond(ctx, o.Dialog, o.Decision)
	}
	if err != nil {
		if !mayHaveTyped(err) {
			unmark()
		}
		return err
	}
	if err := a.host.append(ctx, armrecord.RunEvent(a.record.ID, a.openRun(), coleo.EventDecision,
		coleo.Decided{Dialog: *d, Decision: o.Decision, Policy: rule})); err != nil || words == "" {
		return err
	}
	return a.promptAfterDenial(ctx, s, o.Dialog, words, o.Lease)
}

// promptAfterDenial handles a denial with words that say what to do instead. It sends the words as
// the next prompt, because this agent CLI's dialogs do not accept words.
func (a *arm) promptAfterDenial(ctx context.Context, s coleo.Session, denied coleo.Fingerprint, words,
	lease string) error {
	err := waitfor.SendInstead(ctx, s, denied, func(ctx context.Context) error {
		_, err := a.prompt(ctx, bus.PromptOrder{Arm: a.record.ID, Prompt: coleo.Prompt{Text: words}, Lease: lease})
		return err
	})
	var e *coleo.Error
	if !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Message = "it was denied, but the words did not reach the agent CLI: " + e.Message
	return &told
}

// usage returns the tokens that the arm's conversation has used so far.
func usage(ctx context.Context, a *arm) (any, error) {
	s, err := a.liveSession()
	if err != nil {
		return nil, err
	}
	m, ok := s.(coleo.UsageMeter)
	if !ok {
		return nil, coleo.Errorf(coleo.EUnsupported, "the harness of arm %s does not report tokens", a.name())
	}
	return m.Usage(ctx)
}

func (a *arm) interrupt(ctx context.Context) (coleo.Interruption, error) {
	s, err := a.liveSession()
	if err != nil {
		return coleo.Interruption{}, err
	}
	end, err := a.beginTyping("")
	if err != nil {
		return coleo.Interruption{}, err
	}
	defer end()
	return a.interruptHeld(ctx, s)
}

// interruptHeld interrupts the running turn. The caller has checked that the order may type.
func (a *arm) interruptHeld(ctx context.Context, s coleo.Session) (coleo.Interruption, error) {
	a.interrupting.Lock()
	defer a.interrupting.Unlock()
	unmark := a.markInterrupted(ctx, s)
	out, err := s.Interrupt(ctx)
	if !out.Stopped() && !mayHaveTyped(err) {
		unmark()
	}
	a.markSubmitted(ctx, out.Time)
	return out, err
}

// markSubmitted marks those runs as interrupted whose prompts were submitted before the last key of an interrupt, at
// the time `pressed`. A prompt can have been submitted between markInterrupted and the key. Its run may even
// begin only after the interrupt, when its arrival is proven.
func (a *arm) markSubmitted(ctx context.Context, pressed time.Time) {
	if pressed.IsZero() {
		return
	}
	a.mu.Lock()
	a.interrupted = pressed
	later := a.run != nil && !a.run.Interrupted && a.run.Time.Before(pressed)
	a.mu.Unlock()
	if later {
		a.noteInterrupted(context.WithoutCancel(ctx), func(run *coleo.Receipt) {
			run.Interrupted = run.Interrupted || run.Time.Before(pressed)
		})
	}
}

// steer sends a prompt at once, even during a turn. If it is safe to type during the turn, the
// agent CLI takes the prompt into its own queue. Otherwise, or if the order says so, steer first
// stops the turn. It never sends the prompt while a dialog is open. If steer returns an error after
// it has stopped the turn, the result says so.
func (a *arm) steer(ctx context.Context, o bus.PromptOrder) (coleo.Steering, error) {
	a.delivering.Lock() // no prompt of the queue must come between the interrupt and this prompt
	defer a.delivering.Unlock()
	out, stop := coleo.Steering{How: coleo.SteerPrompted}, o.Prompt.Interrupt
	o.Prompt.Interrupt = false
	s, err := a.liveSession()
	if err != nil {
		return out, err
	}
	if now := s.State(); now.State == coleo.WaitingApproval {
		return out, coleo.Blocked(now.Dialog)
	}
	if !stop || !s.State().State.Working() {
		out.Receipt, err = a.promptHeld(ctx, o)
		if out.Receipt.Proof == coleo.ProofQueued {
			out.How = coleo.SteerQueued
		}
		if coleo.ErrorCode(err) != coleo.EBusy || !s.State().State.Working() {
			return out, err
		}
	}
	// Ask before the interrupt, because a prompt that a budget refuses must not stop the turn.
	if err := a.meter.MayBegin(ctx, o.Prompt.Text); err != nil {
		return out, err
	}
	done, err := a.interrupt(ctx)
	out.How, out.Interruption = coleo.SteerInterrupted, &done
	if err != nil {
		return out, err
	}
	out.Receipt, err = a.promptHeld(ctx, o)
	return out, steeringError(done, err)
}

// steeringError returns the error for a prompt that failed after an interrupt. Its message also
// says that the turn was interrupted.
func steeringError(done coleo.Interruption, err error) error {
	var e *coleo.Error
	if !errors.As(err, &e) || !done.Stopped() {
		return err
	}
	told := *e
	told.Message = "the turn was interrupted, but the prompt did not reach the agent CLI: " + e.Message
	return &told
}

// abort stops the running turn, and pauses the queue if it is not empty. If a prompt is just being
// sent, abort waits until it has been sent and stops its turn. So the arm is idle after the abort.
func (a *arm) abort(ctx context.Context) (coleo.Aborted, error) {
	var out coleo.Aborted
	if _, err := a.liveSession(); err != nil {
		return out, err
	}
	end, err := a.beginTyping("")
	if err != nil {
		return out, err
	}
	defer end()
	if err := a.pauseAborted(ctx); err != nil {
		return out, err
	}
	a.delivering.Lock()
	done, err := a.interrupt(ctx)
	// Meanwhile, a refused prompt may have come back into the queue, or a prompt that asks the model again.
	err = errors.Join(err, a.pauseAborted(context.WithoutCancel(ctx)))
	a.delivering.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	return coleo.Aborted{Interruption: done, Queue: armrecord.QueueState(&a.record)}, err
}

// pauseAborted pauses the queue of an arm that is being aborted, if the queue has a prompt and no person has
// paused it.
func (a *arm) pauseAborted(ctx context.Context) error {
	a.mu.Lock()
	q := armrecord.Queue(&a.record)
	a.mu.Unlock()
	if len(q.Entries) == 0 || q.ByHand {
		return nil
	}
	return a.orderQueue(ctx, &coleo.QueueOrder{Step: coleo.QueuePaused, Why: "the arm was aborted"})
}

// lease grants, renews or releases the lease of an arm.
func (h *Host) lease(ctx context.Context, o bus.LeaseOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if !o.Release {
		return a.lease.Take(ctx, o.ID, o.Holder, a.name())
	}
	if err := a.lease.Release(o.ID, a.name()); err != nil {
		return nil, err
	}
	a.allowRetry() // the queue may have a prompt that can be sent now
	return coleo.Lease{}, nil
}

// leasedTerminal returns the arm's terminal to a caller that has the arm's lease, the right to type
// by hand. It also renews the lease. It returns EBusy if `lease` is not the id of the arm's present
// lease.
func (h *Host) leasedTerminal(key, lease string) (coleo.Terminal, error) {
	a, err := h.arm(key)
	if err != nil {
		return nil, err
	}
	s, err := a.liveSession()
	if err != nil {
		return nil, err
	}
	t, ok := s.(coleo.Terminal)
	if !ok {
		return nil, coleo.Errorf(coleo.EUnsupported, "arm %s has no terminal: its harness uses HTTP", a.name())
	}
	return t, a.lease.Renew(lease, a.name())
}

func (a *arm) input(ctx context.Context, o bus.InputOrder) (any, error) {
	t, err := a.host.leasedTerminal(o.Arm, o.Lease)
	if err != nil {
		return nil, err
	}
	return nil, t.Input(ctx, o.Data)
}

func (h *Host) resize(ctx context.Context, o bus.ResizeOrder) (any, error) {
	t, err := h.leasedTerminal(o.Arm, o.Lease)
	if err != nil {
		return nil, err
	}
	const minCols, minRows = 80, 24 // a viewer with a smaller window shows only a part of the terminal
	return nil, t.Resize(ctx, max(o.Cols, minCols), max(o.Rows, minRows))
}

// markInterrupted marks the open runs as interrupted. The caller must call it before a key is
// typed, because the key can end the turn at once. If no key was typed, the caller must call
// unmark, which removes the marks.
func (a *arm) markInterrupted(ctx context.Context, s coleo.Session) (unmark func()) {
	now := s.State().State
	a.mu.Lock()
	needless := a.run == nil || a.run.Interrupted || !now.Working() && now != coleo.WaitingApproval
	a.mu.Unlock()
	if needless {
		return func() {}
	}
	marked := map[string]bool{} // the runs that an earlier interrupt has marked are not in it, and keep their mark
	a.noteInterrupted(ctx, func(run *coleo.Receipt) {
		if !run.Interrupted {
			marked[run.ID], run.Interrupted = true, true
		}
	})
	return func() {
		a.noteInterrupted(context.WithoutCancel(ctx), func(run *coleo.Receipt) {
			run.Interrupted = run.Interrupted && !marked[run.ID]
		})
	}
}

// mayHaveTyped reports whether a session may have typed a key, or sent a signal, although it has returned
// the given error. The key or the signal may then still end the turn.
func mayHaveTyped(err error) bool {
	return slices.Contains([]coleo.Code{coleo.ETimeout, coleo.EExited, coleo.EInternal}, coleo.ErrorCode(err))
}

// noteInterrupted calls the function `set` for each open run. It sets whether the run is interrupted.
func (a *arm) noteInterrupted(ctx context.Context, set func(*coleo.Receipt)) {
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Earlier = slices.Clone(r.Earlier)
		for i := range r.Earlier {
			set(&r.Earlier[i])
		}
		if r.Run != nil && a.run != nil {
			run := *r.Run
			// A cursor counts the changes of one session object. The cursor in the record can belong to an
			// earlier one.
			run.Cursor = a.run.Cursor
			set(&run)
			a.run, r.Run = &run, &run
		}
		return nil
	})
	if err != nil {
		a.host.Log.Error("record that a run is interrupted", "arm", a.name(), "error", err)
	}
}
