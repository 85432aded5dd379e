package host

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/budget"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
	"coleo.dev/trace"
)

// prompt sends a prompt and begins a run. It stores the prompt before it sends it. If the host
// agent is killed after it has stored the prompt, the next host agent finds out whether the prompt
// has arrived.
func (a *arm) prompt(ctx context.Context, o bus.PromptOrder) (coleo.Receipt, error) {
	a.delivering.Lock() // while it is locked, no prompt of the queue is sent
	defer a.delivering.Unlock()
	return a.promptHeld(ctx, o)
}

// promptHeld is like prompt, for a caller that holds the lock delivering.
func (a *arm) promptHeld(ctx context.Context, o bus.PromptOrder) (coleo.Receipt, error) {
	s, err := a.liveSession()
	if err != nil {
		return coleo.Receipt{}, err
	}
	if err = a.notEnding(); err != nil {
		return coleo.Receipt{}, err
	}
	end, err := a.beginTyping(o.Lease)
	if err != nil {
		return coleo.Receipt{}, err
	}
	defer end()
	asked := o.Prompt.Text
	if o.Prompt.Text, err = a.withFiles(o.Prompt); err != nil {
		return coleo.Receipt{}, err
	}
	check, err := a.takeCheck(ctx, &o.Prompt)
	if err != nil {
		return coleo.Receipt{}, err
	}
	if err := a.meter.MayBegin(ctx, o.Prompt.Text); err != nil {
		return coleo.Receipt{}, err
	}
	o.Prompt.Files, o.Prompt.Check = nil, nil
	// SettleMode needs an idle arm. With Interrupt or Unproven, the arm may be working.
	if !o.Prompt.Interrupt && !o.Prompt.Unproven {
		if err := a.choices.SettleMode(ctx, s); err != nil {
			return coleo.Receipt{}, err
		}
	}
	o.Prompt.Text = a.choices.WithInstructions(o.Prompt.Text)
	run := coleo.Receipt{ID: rand.Text(), Time: time.Now(), Text: o.Prompt.Text, Check: check,
		SpecHash: a.specHash(check, asked)}
	receipt, err := a.deliver(ctx, s, run, func(ctx context.Context) (coleo.Receipt, error) {
		if p := &o.Prompt; p.Interrupt {
			if _, err := a.interruptHeld(ctx, s); err != nil {
				return coleo.Receipt{}, err
			}
			p.Interrupt = false
		}
		return s.SendPrompt(ctx, o.Prompt)
	})
	if err == nil {
		a.choices.ForgetInstructions(ctx, run.Text)
	}
	return receipt, err
}

// compact makes the agent CLI shorten its conversation, and begins a run for that. The rules for a
// prompt apply, with one exception: compact does not first switch to the mode that a user has
// ordered, because a compaction uses no tools. It returns EUnsupported if the session cannot
// shorten its conversation.
func (a *arm) compact(ctx context.Context) (coleo.Receipt, error) {
	a.delivering.Lock() // lock before the checks, because the previous prompt can change their results
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
	if err = a.notEnding(); err != nil {
		return coleo.Receipt{}, err
	}
	end, err := a.beginTyping("")
	if err != nil {
		return coleo.Receipt{}, err
	}
	defer end()
	if err := a.meter.MayBegin(ctx, coleo.CompactText); err != nil {
		return coleo.Receipt{}, err
	}
	run := coleo.Receipt{ID: rand.Text(), Time: time.Now(), Text: coleo.CompactText, Compact: true}
	return a.deliver(ctx, s, run, c.Compact)
}

// deliver stores a run's prompt as intended. Then it calls the function `send`, which sends the
// prompt and returns the receipt. After that, it begins the run. The caller must hold the lock
// delivering.
func (a *arm) deliver(ctx context.Context, s coleo.Session, run coleo.Receipt,
	send func(context.Context) (coleo.Receipt, error)) (coleo.Receipt, error) {
	a.errors.take() // forget the errors of the last turn
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
	ctx = context.WithoutCancel(ctx) // the prompt was sent, so do the rest even if the caller gives up
	receipt.ID, receipt.Check, receipt.SpecHash = run.ID, run.Check, run.SpecHash
	if err := a.open(ctx, receipt); err != nil {
		return receipt, err
	}
	a.endRun(ctx, s) // ends the run at once if its turn has ended before the run began
	return receipt, nil
}

// notSent settles a prompt that could not be sent:
//   - If the prompt was refused or lost, notSent removes it from the intended prompts.
//   - If ctx ended while the prompt was being sent, the prompt may have arrived, and notSent looks for it.
//   - If the host agent is ending, the next host agent looks for the prompt.
func (a *arm) notSent(ctx context.Context, s coleo.Session, run coleo.Receipt) {
	var err error
	switch cut := ctx.Err() != nil; {
	case a.host.ctx.Err() != nil:
	case cut:
		if err = a.settle(context.WithoutCancel(ctx), s, run); err != nil {
			a.settleLater(s, run)
		}
	default:
		err = a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
			r.Intended = armrecord.WithoutReceipt(r.Intended, run.ID)
			return nil
		})
	}
	if err != nil {
		a.host.Log.Error("record that a prompt was not sent", "arm", a.name(), "error", err)
	}
}

// open begins the run of a prompt that has arrived, and removes the prompt from the intended
// prompts. If Coleo sent the prompt and it is no longer intended, another goroutine has already
// recorded what became of it. open then does nothing.
func (a *arm) open(ctx context.Context, receipt coleo.Receipt) error {
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		if receipt.Origin == "" && !armrecord.IsIntended(r, receipt.ID) {
			return nil
		}
		if r.Run != nil {
			r.Earlier = append(slices.Clip(r.Earlier), *r.Run)
		}
		receipt.Interrupted = receipt.Interrupted || receipt.Origin == "" && receipt.Time.Before(a.interrupted)
		a.run, r.Run = &receipt, &receipt
		r.Intended = armrecord.WithoutReceipt(r.Intended, receipt.ID)
		events := append(a.leaveError(r), armrecord.RunEvent(r.ID, receipt.ID, coleo.EventRunStart, receipt))
		if receipt.Continues == 0 {
			events = append(events, armrecord.Unpark(r, "another turn has begun")...)
		}
		// A prompt with a wrong input begins no run, so this input fits its schema.
		if c := receipt.Check; c != nil && len(c.InputSchema) > 0 {
			events = append(events, armrecord.RunEvent(r.ID, receipt.ID, coleo.EventInputValidated, coleo.Validated{OK: true}))
		}
		return append(events, a.inputWork(receipt)...)
	})
}

// work is a part of the agent CLI's work, as one source has reported it.
type work struct {
	record string // the name of the source, a record of the agent CLI: see coleo.Change.Record
	list   []coleo.Activity
}

// noteWork appends the events of work to the log, each with its run and its turn. The work of a
// prompt that is being sent waits until the prompt's run has begun.
func (a *arm) noteWork(ctx context.Context, w work) error {
	calls, circles, err := a.writeWork(ctx, w)
	for _, call := range calls {
		a.host.keepBudgets(ctx, a, call)
	}
	if circles != "" {
		a.meter.BreakLoop(ctx, circles)
	}
	return err
}

// writeWork writes the events for noteWork. It returns the calls of the model that it has counted.
// If the agent CLI repeats itself in a loop, `circles` says how. Otherwise it is "".
func (a *arm) writeWork(ctx context.Context, w work) (calls []budget.Call, circles string, err error) {
	of := a.meter.Arm.Account()
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	a.late = append(a.late, w)
	a.errors.keep(w)
	events := a.takeWork()
	open := ""
	if a.run != nil {
		open = a.run.ID
	}
	a.mu.Unlock()
	calls, cost := a.meter.Count(of, events)
	return calls, a.meter.FindLoop(events, open),
		a.host.write(ctx, happened, diskWrite{events: events, traced: a, cost: cost})
}

// noteLateWork appends the events of work that was waiting for the beginning of its run.
func (a *arm) noteLateWork(ctx context.Context) error {
	a.mu.Lock()
	none := len(a.late) == 0
	a.mu.Unlock()
	if none {
		return nil
	}
	return a.noteWork(ctx, work{})
}

// takeWork moves the reported activities, such as calls and texts, from a.late to the arm's trace. It
// returns the events that they cause. An activity whose run has not begun stays in a.late. The caller
// holds mu.
func (a *arm) takeWork() (events []coleo.Event) {
	runs := trace.Runs{Open: armrecord.OpenRuns(a.record), Intended: a.record.Intended}
	for len(a.late) > 0 {
		w := a.late[0]
		next, more, left := a.record.Trace.Take(w.record, w.list, runs)
		a.record.Trace = next
		events = append(events, more...)
		if len(left) > 0 {
			a.late[0].list = left
			break
		}
		a.late = a.late[1:]
	}
	for i := range events {
		events[i].Arm = a.record.ID
	}
	return events
}

// openRun returns the id of the newest open run, or "" if no run is open.
func (a *arm) openRun() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run == nil {
		return ""
	}
	return a.run.ID
}

// inputWork returns the events for the prompt of a program without a model, such as a shell. For
// such a program, the prompt is a command. The caller holds mu.
func (a *arm) inputWork(run coleo.Receipt) []coleo.Event {
	if a.harness == nil || !a.harness.Info().NoModel {
		return nil
	}
	return []coleo.Event{armrecord.ScreenWork(a.record.ID, run.ID, coleo.ShellInput{ID: run.ID, Command: run.Text})}
}

// The following functions open a run for a turn that Coleo did not start with a prompt. A person has typed the
// prompt by hand, or the agent CLI has started the turn by itself.

// openOther begins the run of a turn that the session has found in the agent CLI's record. There
// are two kinds:
//
//   - The turn of a prompt from Coleo that seemed lost and has arrived late. It always gets its own
//     run.
//   - A turn that Coleo did not begin. It gets its own run if no other run is open and no prompt is
//     being sent. Otherwise the turn belongs to that run or prompt. If the session reports that the
//     previous turn has ended, the turn gets its own run in any case.
func (a *arm) openOther(ctx context.Context, s coleo.Session, c coleo.Change) error {
	if c.Origin == coleo.OriginLate {
		run, ok := a.unsettledRun(c.Note)
		if !ok {
			run = coleo.Receipt{ID: rand.Text(), Text: c.Note}
		}
		run.Time, run.Origin, run.Cursor, run.Proof, run.Unsettled = c.Time, c.Origin, c.Cursor, coleo.ProofReported, false
		return a.open(ctx, run)
	}
	run := coleo.Receipt{ID: rand.Text(), Time: c.Time, Text: c.Note, Origin: c.Origin, Cursor: c.Cursor,
		Proof: coleo.ProofReported}
	if c.Ended != "" {
		return a.openSelf(ctx, s, run, coleo.Reading{State: c.Ended, Known: true})
	}
	a.mu.Lock()
	taken := a.record.Run != nil || slices.ContainsFunc(a.record.Intended,
		func(r coleo.Receipt) bool { return !r.Unsettled })
	a.mu.Unlock()
	if taken {
		return nil
	}
	return a.open(ctx, run)
}

// openSelf begins `run`, the run of a turn that the agent CLI has begun by itself. `reading` says
// how the turn before has ended. If the run of that earlier turn is still open, openSelf first ends
// it. Another prompt may still wait in the agent CLI's queue, or be about to be typed. The run of
// such a prompt comes after the new run.
func (a *arm) openSelf(ctx context.Context, s coleo.Session, run coleo.Receipt, reading coleo.Reading) error {
	if err := a.noteLateWork(ctx); err != nil {
		return err
	}
	over, found := a.takeBegun()
	var end coleo.RunEnd
	var cost []store.Spending
	var earlier map[string]coleo.AssistantText
	if found {
		end, cost = a.endOf(ctx, s, over, reading)
		earlier = a.earlierAnswers(ctx, s, over.ID)
	}
	err := a.changeAndCount(ctx, cost, func(r *store.ArmRecord) []coleo.Event {
		var events []coleo.Event
		if found {
			events = append(armrecord.ShownWork(*r, over.ID, end, false), armrecord.EndRuns(r, over.ID, end, earlier)...)
		}
		open := append([]coleo.Receipt{run}, armrecord.OpenRuns(*r)...)
		newest := len(open) - 1
		if r.Earlier, r.Run = open[:newest:newest], &open[newest]; newest == 0 {
			a.run, r.Earlier = r.Run, nil
		}
		events = append(append(events, a.leaveError(r)...), armrecord.RunEvent(r.ID, run.ID, coleo.EventRunStart, run))
		return append(events, armrecord.Unpark(r, "another turn has begun")...)
	})
	if found {
		a.runEnded(ctx, over.ID)
	}
	return err
}

// takeBegun returns the newest open run whose prompt the agent CLI has begun, according to the
// agent CLI's own record. Later open runs belong to prompts that the agent CLI has not begun. If
// there is no later open run, takeBegun sets a.run to nil, so that nobody except the caller ends
// the run.
func (a *arm) takeBegun() (run coleo.Receipt, found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	open := armrecord.OpenRuns(a.record)
	i := slices.IndexFunc(open, func(r coleo.Receipt) bool { return r.ID == a.record.Trace.Run })
	if i < 0 {
		return coleo.Receipt{}, false
	}
	if i == len(open)-1 {
		a.run = nil
	}
	return open[i], true
}
