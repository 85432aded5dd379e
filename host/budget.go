package host

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/budget"
	"coleo.dev/bus"
	"coleo.dev/host/queue"
	"coleo.dev/host/spending"
	"coleo.dev/store"
)

// metering is what is known about the model calls of an arm. The arm's mu guards these fields.
type metering struct {
	context  int               // tokens of the conversation after the last call; 0 if not known
	warned   coleo.BudgetState // the last budget with a recorded warning, without Spent
	stopping bool              // a goroutine is interrupting the turn
	ending   bool              // a goroutine is ending the arm
	told     bool              // the log says that the turn could not be interrupted
}

// stopTime is how long the interrupt of a turn can take. Serve waits as long for an interrupt that a
// user orders.
const stopTime = 90 * time.Second

// mostParents is the largest number of parents that spends looks for above a subarm. No subarm has
// that many.
const mostParents = 16

// account returns the account of an arm, and the id of the arm's parent.
func (a *arm) account() (of spending.Arm, parent string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of = spending.Arm{ID: a.record.ID, Name: a.record.Name, Folder: a.record.Workdir}
	if tree := a.record.Spec.Worktree; tree != nil && tree.From != "" {
		of.Folder = tree.From
	}
	if a.record.Spec.Chosen != nil {
		of.Budget = a.record.Spec.Chosen.Budget
	}
	return of, a.record.Spec.Parent
}

// spends returns the account of an arm, together with the accounts of the arms above it. The caller
// must not hold mu.
func (a *arm) spends() spending.Arm {
	of, parent := a.account()
	for range mostParents {
		a.host.mu.Lock()
		above := a.host.arms[parent]
		a.host.mu.Unlock()
		if above == nil {
			break
		}
		var one spending.Arm
		one, parent = above.account()
		of.Parents = append(of.Parents, one)
	}
	return of
}

// budgets returns the budgets that apply to an arm. It returns none if the arm uses no model or the
// scripted model. The caller must not hold mu.
func (a *arm) budgets() []coleo.BudgetState {
	a.mu.Lock()
	free := a.usesNoModel()
	a.mu.Unlock()
	if free {
		return nil
	}
	return a.host.ledger.Budgets(a.spends(), a.host.Now())
}

// The caller holds mu.
func (a *arm) usesNoModel() bool {
	return a.record.Spec.Scripted() || a.harness != nil && a.harness.Info().NoModel
}

// keepBudgets stops each turn that a budget no longer allows. It is called after a call of an arm
// was counted. Several arms can share a budget, so keepBudgets also checks the turns of other arms.
func (h *Host) keepBudgets(ctx context.Context, a *arm, call budget.Call) {
	list := a.budgets()
	if len(list) == 0 {
		return // then the call counts for no budget of another arm either
	}
	if d := budget.DecideAll(list, call); !d.Allows() {
		a.overspent(ctx, d)
	}
	call.Price = &coleo.Price{} // the price of this call concerns no other arm
	for _, other := range h.allArms() {
		if other == a || other.openRun() == "" {
			continue
		}
		if d := budget.DecideAll(other.budgets(), call); !d.Allows() {
			other.overspent(ctx, d)
		}
	}
}

// overspent carries out a decision about an arm. A turn of the arm may be running.
func (a *arm) overspent(ctx context.Context, d budget.Decision) {
	run := a.openRun()
	switch d.Policy {
	case coleo.BudgetWarn:
		a.warn(ctx, d)
	case coleo.BudgetStop:
		a.endFor(ctx, d, d.Why+"; the arm is ended")
	case coleo.BudgetPark:
		why := d.Why
		if run != "" {
			why += "; its turn is interrupted"
		}
		a.parkFor(ctx, coleo.BudgetReached, d, why)
		a.stopTurn(true)
	}
}

// mayBegin returns an error if a budget does not allow a turn to begin with the given prompt.
// EConflict means that the arm is parked or about to end, unless a turn is running. EUnsupported
// means that the agent CLI reports its usage too late. In both cases, nothing is typed.
func (a *arm) mayBegin(ctx context.Context, prompt string) error {
	list := a.budgets()
	if len(list) == 0 {
		return nil
	}
	if err := a.checkReportsCalls(list); err != nil {
		return err
	}
	d := budget.DecideAll(list, a.nextCall(prompt))
	if !d.Allows() && d.Policy.Hard() && a.openRun() != "" {
		return coleo.Errorf(coleo.EConflict, "nothing was typed, and the turn that runs goes on: %s; %s", d.Why,
			a.budgetHint(d))
	}
	switch d.Policy {
	case "":
		return nil
	case coleo.BudgetWarn:
		a.warn(ctx, d)
		return nil
	case coleo.BudgetStop:
		a.endFor(ctx, d, d.Why+"; no turn was begun, and the arm is ended")
		return coleo.Errorf(coleo.EConflict, "nothing was typed, and the arm is ended: %s", d.Why)
	case coleo.BudgetPark:
	}
	a.parkFor(ctx, coleo.BudgetRefused, d, d.Why+"; no turn was begun")
	return coleo.Errorf(coleo.EConflict, "nothing was typed: %s; %s", d.Why, a.budgetHint(d))
}

// checkReportsCalls returns EUnsupported if one of the budgets is hard, and the arm's agent CLI
// does not report each call during the turn.
func (a *arm) checkReportsCalls(list []coleo.BudgetState) error {
	a.mu.Lock()
	harness := a.harness
	a.mu.Unlock()
	if harness == nil {
		return nil // a prompt is refused without a session
	}
	for _, s := range list {
		info := harness.Info()
		if err := budget.CanKeep(s.Budget, info.Name, budget.TellingOf(info), "known", &coleo.Price{}); err != nil {
			return coleo.Errorf(coleo.EUnsupported, "nothing was typed, because of %s: %w", s.Name(), err)
		}
	}
	return nil
}

// nextCall returns the first call of a turn that begins with the given prompt.
func (a *arm) nextCall(prompt string) budget.Call {
	a.mu.Lock()
	model, tokens := a.modelNow(), a.metering.context
	a.mu.Unlock()
	return a.host.ledger.Next(model, tokens, len(prompt))
}

// budgetHint returns a hint for people: what they can do if a budget does not allow a call.
func (a *arm) budgetHint(d budget.Decision) string {
	if d.State.Scope == coleo.BudgetOfArm {
		return fmt.Sprintf("'coleo arm budget %s DOLLARS' sets another budget", d.State.Of)
	}
	return "[budget] in config.toml sets it, and 'coleo down' and 'coleo up' read it again"
}

// warn records that a budget does not allow a call, although the arm continues. It records each
// warning only once.
func (a *arm) warn(ctx context.Context, d budget.Decision) {
	of := d.State
	of.Spent = 0
	a.mu.Lock()
	known := a.metering.warned == of
	a.metering.warned = of
	a.mu.Unlock()
	if !known {
		a.tellBudget(ctx, coleo.BudgetWarned, d, d.Why+"; the arm goes on")
	}
}

// parkFor parks an arm because a budget does not allow a call. If Coleo itself has already parked
// the arm, parkFor does nothing.
func (a *arm) parkFor(ctx context.Context, step coleo.BudgetStep, d budget.Decision, why string) {
	err := a.change(context.WithoutCancel(ctx), func(r *store.ArmRecord) []coleo.Event {
		if p := queueOf(r).Parked; p != nil && p.Kind.Own() {
			return nil
		}
		p := coleo.Parked{Limit: coleo.Limit{Kind: coleo.LimitBudget, Text: d.Why, Seen: a.host.Now().UTC()}, Try: 1,
			Why: a.budgetHint(d)}
		if a.run != nil {
			p.Run = a.run.ID
		}
		a.metering.told = false
		change := coleo.BudgetChange{Step: step, Why: why, BudgetState: d.State}
		return append(setParked(r, queue.Park(queueOf(r), p), coleo.ParkChange{Step: coleo.ParkBegun, Parked: p}),
			runEvent(r.ID, p.Run, coleo.EventBudget, change))
	})
	if err != nil {
		a.host.Log.Error("park an arm at its budget", "arm", a.name(), "error", err)
	}
}

func (a *arm) tellBudget(ctx context.Context, step coleo.BudgetStep, d budget.Decision, why string) {
	change := coleo.BudgetChange{Step: step, Why: why, BudgetState: d.State}
	err := a.host.append(context.WithoutCancel(ctx), runEvent(a.record.ID, a.openRun(), coleo.EventBudget, change))
	if err != nil {
		a.host.Log.Error("record what a budget does not allow", "arm", a.name(), "budget", change, "error", err)
	}
}

// endFor ends an arm because a budget does not allow a call. It ends the arm in the background,
// because the caller may hold a lock that the end of the arm needs.
func (a *arm) endFor(ctx context.Context, d budget.Decision, why string) {
	a.mu.Lock()
	known, generation := a.metering.ending, a.record.Generation
	a.metering.ending = true
	a.mu.Unlock()
	if known {
		return
	}
	a.tellBudget(ctx, coleo.BudgetReached, d, why)
	a.host.runs.Go(func() {
		err := a.kill(a.host.ctx, generation)
		a.mu.Lock()
		a.metering.ending = false
		a.mu.Unlock()
		if err != nil && a.host.ctx.Err() == nil {
			a.host.Log.Error("end an arm at its budget", "arm", a.name(), "error", err)
		}
	})
}

// stopTurn interrupts the turn of an arm that Coleo itself has parked. It returns at once. It never
// interrupts while a dialog is open, because the keys would answer the dialog. If the parameter
// repeated is true, stopTurn also interrupts a turn that continues after an earlier interrupt.
func (a *arm) stopTurn(repeated bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := queueOf(&a.record).Parked
	if p == nil || !p.Kind.Own() || a.metering.stopping || a.session == nil || a.run == nil ||
		a.run.Interrupted && !repeated || !a.session.State().State.Working() {
		return
	}
	a.metering.stopping = true
	a.host.runs.Go(a.interruptTurn)
}

func (a *arm) interruptTurn() {
	ctx, cancel := context.WithTimeout(a.host.ctx, stopTime)
	defer cancel()
	a.typing.RLock()
	defer a.typing.RUnlock()
	run := a.openRun()
	done, err := a.interrupt(ctx)
	a.mu.Lock()
	a.metering.stopping = false
	told := err != nil && a.metering.told
	goesOn := err != nil && a.run != nil
	a.metering.told = goesOn
	a.mu.Unlock()
	switch {
	case a.host.ctx.Err() != nil || told || err == nil && !done.Stopped():
	case goesOn:
		a.tellStop(run, coleo.BudgetUnstopped, "its turn still went on after an attempt to interrupt it: "+err.Error())
	default:
		a.tellStop(run, coleo.BudgetInterrupted, "its turn was interrupted")
	}
}

// turnStopped records that a turn has ended, if the log says that the turn continued after an
// interrupt.
func (a *arm) turnStopped(run string) {
	a.mu.Lock()
	told := a.metering.told
	a.metering.told = false
	a.mu.Unlock()
	if told {
		a.tellStop(run, coleo.BudgetInterrupted, "its turn was interrupted")
	}
}

// tellStop records what became of the turn of an arm that is parked at a budget.
func (a *arm) tellStop(run string, step coleo.BudgetStep, what string) {
	a.mu.Lock()
	p := queueOf(&a.record).Parked
	a.mu.Unlock()
	if p == nil || p.Kind != coleo.LimitBudget {
		return
	}
	list := a.budgets()
	of := budget.DecideAll(list, budget.Call{Price: &coleo.Price{}, Counted: true}).State
	if of.Dollars == 0 && len(list) > 0 {
		of = list[0] // a call without a price has stopped the turn
	}
	change := coleo.BudgetChange{Step: step, Why: p.Text + "; " + what, BudgetState: of}
	if err := a.host.append(context.WithoutCancel(a.host.ctx), runEvent(a.record.ID, run, coleo.EventBudget,
		change)); err != nil {
		a.host.Log.Error("record the interrupt at a budget", "arm", a.name(), "error", err)
	}
}

// tellSpent records, at the end of a run, how much of the arm's own budget is used.
func (a *arm) tellSpent(ctx context.Context, run string) {
	list := a.budgets()
	if len(list) == 0 || list[0].Scope != coleo.BudgetOfArm {
		return
	}
	e := runEvent(a.record.ID, run, coleo.EventBudget, coleo.BudgetChange{Step: coleo.BudgetCounted, BudgetState: list[0]})
	if err := a.host.append(ctx, e); err != nil {
		a.host.Log.Error("record what is used of a budget", "arm", a.name(), "error", err)
	}
}

// budget gives an arm a budget, or only reports the arm's budgets. If the new budget cannot be
// kept, it returns EUnsupported, and the arm keeps its present budget.
func (h *Host) budget(ctx context.Context, o bus.BudgetOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if o.Budget != nil {
		if err := a.setBudget(ctx, *o.Budget); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	model := a.modelNow()
	parked := queueOf(&a.record).Parked
	a.mu.Unlock()
	of := a.spends()
	out := coleo.BudgetReport{Arm: of.Name, Spent: h.ledger.Of(of), Budgets: a.budgets(), Time: h.Now().UTC(),
		Model: coleo.ModelName(model.Provider, model.Name)}
	if bound, ok := a.nextCall("").Bound(); ok {
		out.Next = &bound
	}
	if parked != nil {
		told := parked.Told()
		out.Parked = &told
	}
	return bus.BudgetReport{BudgetReport: out, Chosen: a.chosen()}, nil
}

func (a *arm) setBudget(ctx context.Context, b coleo.Budget) error {
	if err := b.Check(); err != nil {
		return err
	}
	harness, err := a.host.Registry.Get(a.harnessName())
	if err != nil {
		return err
	}
	a.mu.Lock()
	model, name := a.modelNow(), a.record.Name
	a.mu.Unlock()
	info := harness.Info()
	if err := budget.CanKeep(b, info.Name, budget.TellingOf(info), coleo.ModelName(model.Provider, model.Name),
		a.host.ledger.Price(model)); err != nil {
		return coleo.Errorf(coleo.EUnsupported, "nothing was changed: %w", err)
	}
	spent := a.host.ledger.Of(a.spends())
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Spec.Chosen = r.Spec.Chosen.Change(func(c *coleo.Chosen) {
			if c.Budget = &b; b.Dollars == 0 {
				c.Budget = nil
			}
		})
		return []coleo.Event{budgetSet(r.ID, name, b, spent)}
	})
	if err != nil {
		return err
	}
	a.fileOrLog()
	return nil
}

// budgetSet returns the event for a budget that a person has given to an arm.
func budgetSet(id, name string, b coleo.Budget, spent float64) coleo.Event {
	b.Policy = cmp.Or(b.Policy, coleo.BudgetPark)
	return event(id, coleo.EventBudget, coleo.BudgetChange{Step: coleo.BudgetSet, BudgetState: coleo.BudgetState{
		Budget: b, Scope: coleo.BudgetOfArm, Of: name, Spent: spent}})
}
