package host

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/budget"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
	"coleo.dev/trace"
	"coleo.dev/waitfor"
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

// keepUnsettled marks an intended prompt as unsettled, because a dialog hides whether the prompt
// has arrived. A later change of the session shows this. If the session or the host agent ends
// first, Coleo treats the prompt like any intended prompt: it looks for the prompt, or records it
// as lost.
func (a *arm) keepUnsettled(ctx context.Context, run coleo.Receipt) {
	err := a.change(context.WithoutCancel(ctx), func(r *store.ArmRecord) []coleo.Event {
		if !armrecord.IsIntended(r, run.ID) {
			return nil // the session has already shown what became of the prompt
		}
		run.Unsettled = true
		r.Intended = append(armrecord.WithoutReceipt(r.Intended, run.ID), run)
		return nil
	})
	if err != nil {
		a.host.Log.Error("record that a dialog hides a prompt", "arm", a.name(), "error", err)
	}
}

// unsettledRun returns the prompt whose arrival is unknown because a dialog hides it. Usually
// keepUnsettled has marked this prompt. The caller passes the session's note, which contains the
// text of the prompt that has arrived or is lost. unsettledRun returns false if that is another
// prompt, for example one that was called lost before.
//
// The session can report the arrival or the loss before keepUnsettled has marked the prompt. So if
// no marked prompt has that text, unsettledRun returns the intended prompt with exactly that text.
func (a *arm) unsettledRun(note string) (coleo.Receipt, bool) {
	exact := func(r coleo.Receipt) bool { return note == r.Text || strings.HasSuffix(note, ": "+r.Text) }
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, is := range []func(coleo.Receipt) bool{
		func(r coleo.Receipt) bool { return r.Unsettled && exact(r) },
		func(r coleo.Receipt) bool { return r.Unsettled && armrecord.Mentions(note, r) },
		exact,
	} {
		if at := slices.IndexFunc(a.record.Intended, is); at >= 0 {
			return a.record.Intended[at], true
		}
	}
	return coleo.Receipt{}, false
}

// forgetUnsettled removes the prompt that a dialog has hidden, after the session has reported that
// the prompt is lost. `note` is the session's note about that: see unsettledRun.
func (a *arm) forgetUnsettled(ctx context.Context, note string) error {
	run, ok := a.unsettledRun(note)
	if !ok {
		return nil
	}
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Intended = armrecord.WithoutReceipt(r.Intended, run.ID)
		return armrecord.PauseAfter(r, run)
	})
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

// resolve settles the prompts that an earlier host agent was about to type when it was killed. If
// there is proof that a prompt has arrived, resolve begins the prompt's run. Otherwise it records
// the prompt as lost. It never types a prompt again. `intended` must contain only prompts from
// before the attach.
func (a *arm) resolve(ctx context.Context, s coleo.Session, intended []coleo.Receipt) {
	for _, p := range intended {
		if err := a.settle(ctx, s, p); err != nil {
			a.host.Log.Error("look for a prompt that was about to be typed", "arm", a.name(), "error", err)
			a.settleLater(s, p)
		}
	}
	if len(intended) > 0 {
		a.endRun(ctx, s)
	}
}

func (a *arm) settle(ctx context.Context, s coleo.Session, p coleo.Receipt) error {
	if prover, ok := s.(coleo.Prover); ok {
		before := waitfor.NewestCursor(s)
		proof, err := prover.Prove(ctx, p)
		if err != nil {
			return err // see settleLater
		}
		if proof == coleo.ProofStarted && (s.State().State.Working() || waitfor.NewestCursor(s) > before) {
			// The session may have been idle before the prompt was found. That is not the end of this turn.
			p.Cursor = before
		}
		if p.Proof = proof; proof != "" {
			return a.open(ctx, p)
		}
	}
	return a.losePrompt(ctx, p, s.State())
}

// losePrompt records that a prompt is lost, unless another goroutine has already recorded what became of it.
func (a *arm) losePrompt(ctx context.Context, p coleo.Receipt, reading coleo.Reading) error {
	return a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		if !armrecord.IsIntended(r, p.ID) {
			return nil
		}
		r.Intended = armrecord.WithoutReceipt(r.Intended, p.ID)
		return armrecord.LosePrompt(r, p, reading)
	})
}

// settleHidden settles the prompts whose arrival a dialog still hides when the agent CLI has ended. It looks
// for each prompt, as after a kill of the host agent. Nobody else would report what became of the prompt.
func (a *arm) settleHidden(ctx context.Context, s coleo.Session) {
	for _, p := range a.recordNow().Intended {
		if !p.Unsettled {
			continue // the goroutine that sends the prompt settles it
		}
		p.Unsettled = false
		if err := a.settleOrLose(ctx, s, p); err != nil {
			a.host.Log.Error("record what became of a prompt", "arm", a.name(), "error", err)
		}
	}
	a.endRun(ctx, s)
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
