package host

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/changes"
	"coleo.dev/store"
)

// prompt sends a prompt and begins a run. It first stores the prompt, and then sends it. If the
// host agent is killed between these steps, the next host agent finds out whether the prompt has
// arrived.
func (a *arm) prompt(ctx context.Context, o bus.PromptOrder) (coleo.Receipt, error) {
	a.delivering.Lock() // so that no prompt of the queue is sent meanwhile
	defer a.delivering.Unlock()
	return a.promptHeld(ctx, o)
}

// promptHeld is like prompt, but must be called with delivering held.
func (a *arm) promptHeld(ctx context.Context, o bus.PromptOrder) (coleo.Receipt, error) {
	s, err := a.liveSession()
	if err != nil {
		return coleo.Receipt{}, err
	}
	if err = a.notEnding(); err == nil {
		err = a.mayType(o.Lease)
	}
	if err != nil {
		return coleo.Receipt{}, err
	}
	asked := o.Prompt.Text
	if o.Prompt.Text, err = a.withFiles(o.Prompt); err != nil {
		return coleo.Receipt{}, err
	}
	check, err := a.takeCheck(ctx, &o.Prompt)
	if err != nil {
		return coleo.Receipt{}, err
	}
	if err := a.mayBegin(ctx, o.Prompt.Text); err != nil {
		return coleo.Receipt{}, err
	}
	o.Prompt.Files, o.Prompt.Check = nil, nil
	if !o.Prompt.Interrupt && !o.Prompt.Unproven { // both are for an arm that may be at work, in its present mode
		if err := a.settleMode(ctx, s); err != nil {
			return coleo.Receipt{}, err
		}
	}
	o.Prompt.Text = a.withModeInstructions(o.Prompt.Text)
	run := coleo.Receipt{ID: rand.Text(), Time: time.Now(), Text: o.Prompt.Text, Check: check,
		SpecHash: a.specHash(check, asked)}
	receipt, err := a.deliver(ctx, s, run, func(ctx context.Context) (coleo.Receipt, error) {
		undo := func(error) {}
		if o.Prompt.Interrupt {
			undo = a.interrupting(ctx, s)
		}
		receipt, err := s.SendPrompt(ctx, o.Prompt)
		if err != nil {
			undo(err)
		}
		return receipt, err
	})
	if err == nil {
		a.forgetInstructions(ctx)
	}
	return receipt, err
}

// compact makes the agent CLI shorten its conversation, and begins a run for that. The rules of a
// prompt apply, except one: a compaction uses no tools, so compact does not wait for an ordered mode.
// compact returns EUnsupported if the session cannot shorten its conversation.
func (a *arm) compact(ctx context.Context) (coleo.Receipt, error) {
	a.delivering.Lock() // before the checks, because the prompt before can change what they find
	defer a.delivering.Unlock()
	s, err := a.liveSession()
	if err != nil {
		return coleo.Receipt{}, err
	}
	c, ok := s.(coleo.Compactor)
	if !ok {
		return coleo.Receipt{}, coleo.Errorf(coleo.EUnsupported, "the harness of arm %s cannot compact a conversation",
			a.name())
	}
	if err = a.notEnding(); err == nil {
		err = a.mayType("")
	}
	if err != nil {
		return coleo.Receipt{}, err
	}
	if err := a.mayBegin(ctx, coleo.CompactText); err != nil {
		return coleo.Receipt{}, err
	}
	run := coleo.Receipt{ID: rand.Text(), Time: time.Now(), Text: coleo.CompactText, Compact: true}
	return a.deliver(ctx, s, run, c.Compact)
}

// deliver stores a run's prompt as intended, sends it, and begins the run. It calls send, which
// sends the prompt and returns its receipt. The caller must hold delivering.
func (a *arm) deliver(ctx context.Context, s coleo.Session, run coleo.Receipt,
	send func(context.Context) (coleo.Receipt, error)) (coleo.Receipt, error) {
	a.forgetErrors()
	if err := a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Intended = append(slices.Clip(r.Intended), run)
		return nil
	}); err != nil {
		return coleo.Receipt{}, err
	}
	receipt, err := send(ctx)
	if err != nil {
		if coleo.ErrorCode(err) == coleo.EUnsettled {
			a.keepUnsettled(ctx, run)
		} else {
			a.notSent(ctx, s, run)
		}
		return receipt, err
	}
	ctx = context.WithoutCancel(ctx) // the prompt was sent, so complete the rest
	receipt.ID, receipt.Check, receipt.SpecHash = run.ID, run.Check, run.SpecHash
	if err := a.open(ctx, receipt); err != nil {
		return receipt, err
	}
	a.endRun(ctx, s) // the turn may have ended before the run was opened
	return receipt, nil
}

// notSent settles a prompt that could not be sent. There are three cases:
//   - If the prompt was refused or lost, notSent removes it from the intended prompts.
//   - If ctx ended while the prompt was being sent, the prompt may have arrived, and
//     notSent looks for it.
//   - If the host agent is ending, the next host agent looks for the prompt.
func (a *arm) notSent(ctx context.Context, s coleo.Session, run coleo.Receipt) {
	var err error
	switch cut := ctx.Err() != nil; {
	case a.host.ctx.Err() != nil:
	case cut:
		err = a.settle(context.WithoutCancel(ctx), s, run)
	default:
		err = a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
			r.Intended = withoutReceipt(r.Intended, run.ID)
			return nil
		})
	}
	if err != nil {
		a.host.Log.Error("record that a prompt was not sent", "arm", a.name(), "error", err)
	}
}

// keepUnsettled keeps a prompt if a dialog hides whether the prompt has arrived. A later change of
// the session shows whether the prompt has arrived. If the session or the host agent ends before
// that, the prompt is treated like any intended prompt. Coleo then looks for the prompt, or records
// it as lost.
func (a *arm) keepUnsettled(ctx context.Context, run coleo.Receipt) {
	err := a.change(context.WithoutCancel(ctx), func(r *store.ArmRecord) []coleo.Event {
		run.Unsettled = true
		r.Intended = append(withoutReceipt(r.Intended, run.ID), run)
		return nil
	})
	if err != nil {
		a.host.Log.Error("record that a dialog hides a prompt", "arm", a.name(), "error", err)
	}
}

// unsettled returns the prompt whose arrival a dialog hides. It returns false if there is no such
// prompt.
func (a *arm) unsettled() (coleo.Receipt, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.record.Intended {
		if r.Unsettled {
			return r, true
		}
	}
	return coleo.Receipt{}, false
}

// forgetUnsettled removes the prompt whose arrival a dialog has hidden. Call it when the session
// has reported this prompt as lost.
func (a *arm) forgetUnsettled(ctx context.Context) error {
	run, ok := a.unsettled()
	if !ok {
		return nil
	}
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Intended = withoutReceipt(r.Intended, run.ID)
		return pauseAfter(r, run)
	})
}

// open begins the run of a prompt that has arrived, and removes the prompt from the intended
// prompts.
func (a *arm) open(ctx context.Context, receipt coleo.Receipt) error {
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		if r.Run != nil {
			r.Earlier = append(slices.Clip(r.Earlier), *r.Run)
		}
		a.run, r.Run = &receipt, &receipt
		r.Intended = withoutReceipt(r.Intended, receipt.ID)
		events := []coleo.Event{runEvent(r.ID, receipt.ID, coleo.EventRunStart, receipt)}
		if receipt.Continues == 0 {
			events = append(events, unpark(r, "another turn has begun")...)
		}
		if c := receipt.Check; c != nil && len(c.InputSchema) > 0 { // an input that does not fit begins no run
			events = append(events, runEvent(r.ID, receipt.ID, coleo.EventInputValidated, coleo.Validated{OK: true}))
		}
		return append(events, a.inputWork(receipt)...)
	})
}

// openOther begins the run of a turn that Coleo did not begin, or of a turn whose prompt arrived
// late. If Coleo did not begin the turn, openOther does nothing while a run is open or a prompt is
// being sent. The turn then belongs to the open run, or to the run of that prompt.
func (a *arm) openOther(ctx context.Context, c coleo.Change) error {
	if c.Origin == coleo.OriginLate {
		run, ok := a.unsettled()
		if !ok {
			run = coleo.Receipt{ID: rand.Text(), Text: c.Note}
		}
		run.Time, run.Origin, run.Cursor, run.Proof, run.Unsettled = c.Time, c.Origin, c.Cursor, coleo.ProofReported, false
		return a.open(ctx, run)
	}
	a.mu.Lock()
	taken := a.record.Run != nil || slices.ContainsFunc(a.record.Intended,
		func(r coleo.Receipt) bool { return !r.Unsettled })
	a.mu.Unlock()
	if taken {
		return nil
	}
	return a.open(ctx, coleo.Receipt{ID: rand.Text(), Time: c.Time, Text: c.Note, Origin: c.Origin, Cursor: c.Cursor,
		Proof: coleo.ProofReported})
}

// withoutReceipt returns a copy of a list that leaves out the receipt with the given id. It returns
// nil if the copy is empty.
func withoutReceipt(list []coleo.Receipt, id string) []coleo.Receipt {
	var out []coleo.Receipt
	for _, r := range list {
		if r.ID != id {
			out = append(out, r)
		}
	}
	return out
}

// endRun ends the open runs if the session has become calm after the newest prompt. Only the run of
// the newest prompt gets an answer, because nothing shows which answers belong to earlier prompts.
func (a *arm) endRun(ctx context.Context, s coleo.Session) {
	a.mu.Lock()
	run, reading := a.run, a.reading
	if run == nil || a.settledCursor <= run.Cursor {
		a.mu.Unlock()
		return
	}
	a.run = nil // a prompt that arrives after this opens another run
	noModel := a.harness != nil && a.harness.Info().NoModel
	a.mu.Unlock()
	end := endBy(reading)
	if reading.State != coleo.Dead {
		if answer, err := s.Answer(ctx, *run); err == nil && !run.Compact {
			end.Answer, end.Source = answer.Text, answer.Source
		}
		if m, ok := s.(coleo.UsageMeter); ok {
			if u, err := m.Usage(ctx); err == nil && u.Total() > 0 {
				end.Usage = &u
			}
		}
	}
	a.countAccount(ctx, end.Usage)
	a.noteLimit(s, &end)
	checkAnswer(*run, &end)
	asks := a.hasOpenSuspension(ctx)
	done := false
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		shown := shownWork(*r, run.ID, end, noModel) // must come before endRuns, which changes the trace
		finished := finishes(*r, run.ID, end)
		events := append(shown, endRuns(r, run.ID, end)...)
		if a.done = finished && !asks && isDone(*r); a.done {
			done, r.Desired = true, coleo.DesiredStopped
			events = append(events, runEvent(r.ID, run.ID, coleo.EventInfo, coleo.Remark{Text: doneText}))
		}
		return events
	})
	if err != nil {
		a.host.Log.Error("end a run", "arm", a.name(), "error", err)
	}
	a.turnStopped(run.ID)
	a.tellSpent(ctx, run.ID)
	a.keepFiles(changes.AfterTurn, run.ID)
	if done {
		a.host.runs.Go(a.endDone)
	}
}

// endBy makes the end of a run from the arm's reading at the end of the run.
func endBy(reading coleo.Reading) coleo.RunEnd {
	end := coleo.RunEnd{Status: reading.State, Background: reading.Background}
	if reading.Rule == coleo.RuleUnprovenIdle {
		end.Outcome = coleo.OutcomeUnproven
	}
	return end
}

// onScreen is the name of the source of an answer that was read from the screen. Such an answer
// lacks the lines that have scrolled off the top, and its long lines are cut.
const onScreen = "screen"

// endRuns removes a run and all earlier runs from a record. It returns the events that end these
// runs. Only the given run gets the answer. If end has no outcome, or if the given run was
// interrupted, endRuns computes the outcome from the status. If the given run is not open, endRuns
// returns nil.
func endRuns(r *store.ArmRecord, run string, end coleo.RunEnd) []coleo.Event {
	open := slices.Clip(r.Earlier)
	if r.Run != nil {
		open = append(open, *r.Run)
	}
	last := slices.IndexFunc(open, func(c coleo.Receipt) bool { return c.ID == run })
	if last < 0 {
		return nil
	}
	r.Earlier, r.Run = nil, nil
	if later := open[last+1:]; len(later) > 0 { // these runs were opened while the answer was read
		r.Run = &later[len(later)-1]
		r.Earlier = append(r.Earlier, later[:len(later)-1]...)
	}
	var events []coleo.Event
	for _, c := range open[:last] {
		earlier := coleo.RunEnd{Status: end.Status, Outcome: coleo.OutcomeOf(end.Status, c.Interrupted),
			Compact: c.Compact, Orphans: r.Trace.Orphans(c.ID), Validated: unanswered(c)}
		r.Trace = r.Trace.End(c.ID)
		events = append(events, checkEvents(r, c, &earlier)...)
		events = append(events, runEvent(r.ID, c.ID, coleo.EventRunEnd, earlier))
	}
	end.Outcome = outcomeOf(open[last], end)
	if end.Limit != nil && open[last].Interrupted {
		end.Limit = nil // a person has stopped the turn
	}
	end.Compact, end.Orphans = open[last].Compact, r.Trace.Orphans(run)
	replied := r.Trace.Run == run && r.Trace.Turn > 0
	r.Trace = r.Trace.End(run)
	end.Whole = end.Outcome == coleo.OutcomeFinished && isWhole(end)
	events = append(events, checkEvents(r, open[last], &end)...)
	events = append(events, runEvent(r.ID, run, coleo.EventRunEnd, end))
	return append(events, park(r, open[last], end, replied)...)
}

// endAllRuns ends all open runs after the session of an arm has ended. It also marks the intended
// prompts as lost. It removes these runs and prompts from the record, and returns the events.
func endAllRuns(r *store.ArmRecord, reading coleo.Reading) []coleo.Event {
	var events []coleo.Event
	if r.Run != nil {
		events = endRuns(r, r.Run.ID, coleo.RunEnd{Status: reading.State})
	}
	intended := r.Intended
	r.Intended = nil
	for _, p := range intended {
		events = append(events, lostPromptEvents(r, p, reading)...)
	}
	return events
}

// resolve settles the prompts that an earlier host agent was about to type when it was killed. If
// there is proof that a prompt has arrived, resolve begins the prompt's run. Otherwise it records
// the prompt as lost. It never types a prompt again. The list must contain only prompts from before
// the attach.
func (a *arm) resolve(ctx context.Context, s coleo.Session, intended []coleo.Receipt) {
	for _, p := range intended {
		if err := a.settle(ctx, s, p); err != nil {
			a.host.Log.Error("look for a prompt that was about to be typed", "arm", a.name(), "error", err)
		}
	}
	if len(intended) > 0 {
		a.endRun(ctx, s)
	}
}

func (a *arm) settle(ctx context.Context, s coleo.Session, p coleo.Receipt) error {
	if prover, ok := s.(coleo.Prover); ok {
		proof, err := prover.Prove(ctx, p)
		if err != nil {
			return err // the host agent looks for the prompt again after the next attach
		}
		if p.Proof = proof; proof != "" {
			return a.open(ctx, p)
		}
	}
	reading := s.State()
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Intended = withoutReceipt(r.Intended, p.ID)
		return lostPromptEvents(r, p, reading)
	})
}

func runEvent(arm, run string, kind coleo.EventKind, payload any) coleo.Event {
	e := event(arm, kind, payload)
	e.Run = run
	return e
}
