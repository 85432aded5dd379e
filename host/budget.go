package host

import (
	"cmp"
	"context"

	"coleo.dev"
	"coleo.dev/budget"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
	"coleo.dev/host/diffs"
	"coleo.dev/host/metering"
	"coleo.dev/host/queue"
	"coleo.dev/host/spending"
	"coleo.dev/store"
)

// mostParents is the largest number of arms above a subarm that Account visits. The limit prevents
// an endless loop. No subarm has so many arms above it.
const mostParents = 16

// meteredArm gives the meter of an arm access to the arm.
type meteredArm struct{ *arm }

func (h *Host) newMeter(a *arm) *metering.Meter {
	return &metering.Meter{Config: metering.Config{Arm: meteredArm{a}, Ledger: h.ledger, DB: h.DB, Now: h.Now, Log: h.Log,
		SameCalls: h.SameCalls}}
}

// Facts collects what the meter needs to know, from the arm's record and from its session.
func (a meteredArm) Facts() metering.Facts {
	priced := a.host.ledger.Price(spending.Model{Name: coleo.ModelScripted}) != nil
	a.mu.Lock()
	defer a.mu.Unlock()
	f := metering.Facts{ID: a.record.ID, Name: a.record.Name, Generation: a.record.Generation, Run: a.run,
		// The user can give the scripted model a price. Its calls then count like those of any
		// model.
		Parked: armrecord.Queue(&a.record).Parked, NoModel: a.record.Spec.Scripted() && !priced,
		// If nobody has named a model, use the model that the agent CLI reported last.
		Model: spending.Model{Provider: a.record.Provider, Name: cmp.Or(a.record.Model, a.record.Trace.Model)}}
	if a.harness != nil {
		info := a.harness.Info()
		f.Harness, f.NoModel = &info, f.NoModel || info.NoModel
	}
	if s := a.session; s != nil {
		f.Working = func() bool { return s.State().State.Working() }
	}
	return f
}

// account returns the account of an arm, without the accounts of its parents. It also returns the
// id of the arm's parent.
func (a meteredArm) account() (of spending.Arm, parent string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of = spending.Arm{ID: a.record.ID, Name: a.record.Name, Folders: []string{a.record.Workdir}}
	if tree := a.record.Spec.Worktree; tree != nil && tree.From != "" {
		of.Folders = append([]string{tree.From}, tree.With...)
	}
	if a.record.Spec.Chosen != nil {
		of.Budget = a.record.Spec.Chosen.Budget
	}
	return of, a.record.Spec.Parent
}

// projects returns the project folders for `folder`, the work folder of an arm. If `folder` is in
// an arm's git worktree, these are the folders from which that arm's worktrees were made. Otherwise
// it is `folder` itself. The worktree can belong to any arm, because a subarm or a fork can work in
// another arm's worktree.
func (h *Host) projects(folder string) []string {
	for _, a := range h.allArms() {
		of, _ := meteredArm{a}.account()
		if tree := a.recordNow().Spec.Worktree; tree != nil && tree.Path != "" && diffs.Below(tree.Path, folder) {
			return of.Folders
		}
	}
	return []string{folder}
}

// Account returns the account of an arm, with the accounts of the arms above it. The caller must
// not hold mu.
func (a meteredArm) Account() spending.Arm {
	of, parent := a.account()
	if len(of.Folders) == 1 {
		of.Folders = a.host.projects(of.Folders[0])
	}
	for range mostParents {
		a.host.mu.Lock()
		above := a.host.arms[parent]
		a.host.mu.Unlock()
		if above == nil {
			break
		}
		var one spending.Arm
		one, parent = meteredArm{above}.account()
		of.Parents = append(of.Parents, one)
	}
	return of
}

// Tell appends an event about a budget.
func (a meteredArm) Tell(ctx context.Context, run string, change coleo.BudgetChange) error {
	return a.host.append(ctx, armrecord.RunEvent(a.record.ID, run, coleo.EventBudget, change))
}

// Park parks the arm in its open run. A parked arm receives no prompt from its queue until it
// continues. Park does nothing in two cases:
//
//   - The arm is already parked at a budget or for a loop.
//   - The reason is a loop, and no run is open.
//
// Without an open run, the arm may have been waiting at a limit of its model, or about to continue
// after such a limit. It keeps the prompt that would have continued it, and later continues with
// this prompt. The event about the budget belongs to no run.
func (a meteredArm) Park(ctx context.Context, p coleo.Parked, tell *coleo.BudgetChange) (parked bool, err error) {
	err = a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		before := armrecord.Queue(r).Parked
		if before != nil && before.Kind.SetByColeo() || a.run == nil && p.Kind == coleo.LimitLoop {
			return nil
		}
		run := ""
		if a.run != nil {
			run = a.run.ID
			p.Run = run
		} else if p.Prompt = queue.ContinuesWith(armrecord.Queue(r)); before != nil {
			p.Run = before.Run
		}
		parked = true
		events := armrecord.SetParked(r, queue.Park(armrecord.Queue(r), p),
			coleo.ParkChange{Step: coleo.ParkBegun, Parked: p.WithoutPrompt()})
		if tell != nil {
			events = append(events, armrecord.RunEvent(r.ID, run, coleo.EventBudget, *tell))
		}
		return events
	})
	return parked, err
}

// LockTyping keeps the arm on this host until the caller calls the returned function.
func (a meteredArm) LockTyping() (unlock func()) {
	a.typing.RLock()
	return a.typing.RUnlock
}

// Interrupt stops the running turn.
func (a meteredArm) Interrupt(ctx context.Context) (coleo.Interruption, error) {
	return a.interrupt(ctx)
}

// Kill ends the arm.
func (a meteredArm) Kill(ctx context.Context, generation int) error { return a.kill(ctx, generation) }

// Go calls the function in the background.
func (a meteredArm) Go(do func(ctx context.Context)) { a.host.runs.Go(func() { do(a.host.ctx) }) }

// keepBudgets stops each turn that a budget no longer allows. The caller has just counted a call of
// an arm. Several arms can share a budget, so keepBudgets also checks the turns of other arms.
func (h *Host) keepBudgets(ctx context.Context, a *arm, call budget.Call) {
	if !a.meter.Keep(ctx, call) {
		// No budget applies to the arm. So no other arm has a budget that includes this call.
		return
	}
	// A call with an unknown price fits into no budget. So set an empty price here. Otherwise this call
	// would stop the turns of the other arms, too.
	call.Price = &coleo.Price{}
	for _, other := range h.allArms() {
		if other != a && other.openRun() != "" {
			other.meter.Keep(ctx, call)
		}
	}
}

// budget gives an arm a budget, or only reports the arm's budgets. If Coleo cannot enforce the new
// budget, it returns EUnsupported, and the arm keeps its present budget.
func (h *Host) budget(ctx context.Context, o bus.BudgetOrder) (any, error) {
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if o.Budget != nil {
		if err := h.setBudget(ctx, a, *o.Budget); err != nil {
			return nil, err
		}
		for _, one := range h.allArms() { // all arms, because the budget also applies to the arm's subarms
			one.renewParked(ctx)
		}
	}
	f, of := a.meter.Arm.Facts(), a.meter.Arm.Account()
	out := coleo.BudgetReport{Arm: of.Name, Spent: h.ledger.Of(of), Budgets: a.meter.Budgets(), Time: h.Now().UTC(),
		Model: coleo.ModelName(f.Model.Provider, f.Model.Name)}
	if bound, ok := a.meter.NextCall("").Bound(); ok {
		out.Next = &bound
	}
	if f.Parked != nil {
		told := a.meter.Renewed(*f.Parked).WithoutPrompt()
		out.Parked = &told
	}
	return bus.BudgetReport{BudgetReport: out, Chosen: a.choices.Chosen()}, nil
}

func (h *Host) setBudget(ctx context.Context, a *arm, b coleo.Budget) error {
	if err := b.Check(); err != nil {
		return err
	}
	leave, err := a.stay()
	if err != nil {
		return err
	}
	defer leave()
	harness, err := h.Registry.Get(a.recordNow().Harness)
	if err != nil {
		return err
	}
	f := a.meter.Arm.Facts()
	info := harness.Info()
	if err := budget.CanKeep(b, info.Name, budget.TimingOf(info), coleo.ModelName(f.Model.Provider, f.Model.Name),
		h.ledger.Price(f.Model)); err != nil {
		return coleo.Errorf(coleo.EUnsupported, "nothing was changed: %w", err)
	}
	spent := h.ledger.Of(a.meter.Arm.Account())
	err = a.intend(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Spec.Chosen = r.Spec.Chosen.Change(func(c *coleo.Chosen) {
			if c.Budget = &b; b.Dollars == 0 {
				c.Budget = nil
			}
		})
		return []coleo.Event{budgetSet(r.ID, f.Name, b, spent)}
	})
	if err != nil {
		return err
	}
	a.fileOrLog()
	return nil
}

// renewParked updates the text that says why the arm is parked at a budget, after a budget has
// changed.
func (a *arm) renewParked(ctx context.Context) {
	was := a.meter.Arm.Facts().Parked
	if was == nil {
		return
	}
	now := a.meter.Renewed(*was)
	if now == *was {
		return
	}
	leave, err := a.stay()
	if err != nil {
		return // the arm was removed, or has moved, since the budget has changed
	}
	defer leave()
	err = a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		q := armrecord.Queue(r)
		if q.Parked == nil || *q.Parked != *was {
			return nil
		}
		q.Parked = &now
		return armrecord.SetParked(r, q, coleo.ParkChange{Step: coleo.ParkChanged, Parked: now.WithoutPrompt()})
	})
	if err != nil {
		a.host.Log.Error("renew the reason why an arm is parked", "arm", a.name(), "error", err)
	}
}

// budgetSet returns the event for a budget that a person has given to an arm.
func budgetSet(id, name string, b coleo.Budget, spent float64) coleo.Event {
	b.Policy = cmp.Or(b.Policy, coleo.BudgetPark)
	return armrecord.Event(id, coleo.EventBudget, coleo.BudgetChange{Step: coleo.BudgetSet, BudgetState: coleo.BudgetState{
		Budget: b, Scope: coleo.BudgetOfArm, Of: name, Spent: spent}})
}
