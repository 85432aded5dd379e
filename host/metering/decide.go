package metering

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/budget"
)

// stopTime is how long the interrupt of a turn can take. Serve waits for the same time for an
// interrupt that a user orders.
const stopTime = 90 * time.Second

// Keep carries out what the budgets decide after a call was counted, even while a turn of the arm
// is running. It returns false if no budget applies to the arm.
func (m *Meter) Keep(ctx context.Context, call budget.Call) bool {
	list := m.Budgets()
	if len(list) == 0 {
		return false
	}
	if d := budget.DecideAll(list, call); !d.Allows() {
		m.onOverspent(ctx, d)
	}
	return true
}

// onOverspent carries out a decision about an arm, even while a turn of the arm is running.
func (m *Meter) onOverspent(ctx context.Context, d budget.Decision) {
	run := m.Arm.Facts().Run
	switch d.Policy {
	case coleo.BudgetWarn:
		m.warn(ctx, d)
	case coleo.BudgetStop:
		m.end(ctx, d, d.Why+"; the arm is ended")
	case coleo.BudgetPark:
		why := d.Why
		if run != nil {
			why += "; its turn is interrupted"
		}
		m.park(ctx, coleo.BudgetReached, d, why)
		m.StopTurn(true)
	}
}

// MayBegin returns an error if a budget does not allow a turn with the given prompt to begin. After
// one of these errors, the caller must type nothing:
//
//   - EConflict: a hard budget refuses the turn. If a turn is running, it continues. Otherwise the
//     arm is now parked or about to end.
//   - EUnsupported: the agent CLI reports its usage too late for a hard budget.
func (m *Meter) MayBegin(ctx context.Context, prompt string) error {
	list := m.Budgets()
	if len(list) == 0 {
		return nil
	}
	if err := m.checkReportsCalls(list); err != nil {
		return err
	}
	d := budget.DecideAll(list, m.NextCall(prompt))
	if !d.Allows() && d.Policy.Hard() && m.Arm.Facts().Run != nil {
		return coleo.Errorf(coleo.EConflict, "nothing was typed, and the running turn continues: %s; %s", d.Why, hint(d))
	}
	switch d.Policy {
	case "":
		return nil
	case coleo.BudgetWarn:
		m.warn(ctx, d)
		return nil
	case coleo.BudgetStop:
		m.end(ctx, d, d.Why+"; no turn was begun, and the arm is ended")
		return coleo.Errorf(coleo.EConflict, "nothing was typed, and the arm is ended: %s", d.Why)
	case coleo.BudgetPark:
	}
	m.park(ctx, coleo.BudgetRefused, d, d.Why+"; no turn was begun")
	return coleo.Errorf(coleo.EConflict, "nothing was typed: %s; %s", d.Why, hint(d))
}

// MayGoOn returns EConflict if the arm is parked at a budget and the budgets still allow no call.
func (m *Meter) MayGoOn() error {
	f := m.Arm.Facts()
	if f.Parked == nil || f.Parked.Kind != coleo.LimitBudget {
		return nil
	}
	d := m.decideGoOn()
	if !d.Policy.Hard() || d.Allows() {
		return nil
	}
	return coleo.Errorf(coleo.EConflict, "arm %s stays parked, and nothing was typed: %s; %s", f.Name, d.Why, hint(d))
}

// decideGoOn decides whether the budgets allow the call with which a parked arm continues.
func (m *Meter) decideGoOn() budget.Decision {
	return budget.DecideAll(m.Budgets(), m.NextCall(coleo.ContinuePrompt))
}

// Renewed returns p with the reason why the arm is parked now. The reason can change only if the
// arm is parked at a budget, because the budget may have been raised since.
func (m *Meter) Renewed(p coleo.Parked) coleo.Parked {
	if p.Kind != coleo.LimitBudget {
		return p
	}
	if d := m.decideGoOn(); d.Policy.Hard() && !d.Allows() {
		p.Text, p.Why = d.Why, hint(d)
		return p
	}
	p.Text = "its budgets allow the next call"
	p.Why = "'coleo arm unpark " + m.Arm.Facts().Name + "' continues it"
	return p
}

// checkReportsCalls returns EUnsupported if one of the budgets is hard and the agent CLI does not
// report each call during the turn.
func (m *Meter) checkReportsCalls(list []coleo.BudgetState) error {
	info := m.Arm.Facts().Harness
	if info == nil {
		return nil // without a session, nobody can send a prompt anyway
	}
	for _, s := range list {
		if err := budget.CanKeep(s.Budget, info.Name, budget.TimingOf(*info), "known", &coleo.Price{}); err != nil {
			return coleo.Errorf(coleo.EUnsupported, "nothing was typed, because of %s: %w", s.Name(), err)
		}
	}
	return nil
}

// warn records that the arm continues although a budget does not allow a call. It records each
// warning only once.
func (m *Meter) warn(ctx context.Context, d budget.Decision) {
	of := d.State
	of.Spent = 0
	m.mu.Lock()
	known := m.warned == of
	m.warned = of
	m.mu.Unlock()
	if !known {
		m.reportStep(ctx, coleo.BudgetWarned, d, d.Why+"; the arm continues")
	}
}

// park parks the arm because a budget does not allow a call. It does nothing if the arm is already
// parked at a budget or for a loop.
func (m *Meter) park(ctx context.Context, step coleo.BudgetStep, d budget.Decision, why string) {
	p := coleo.Parked{Limit: coleo.Limit{Kind: coleo.LimitBudget, Text: d.Why, Seen: m.Now().UTC()}, Try: 1, Why: hint(d)}
	change := coleo.BudgetChange{Step: step, Why: why, BudgetState: d.State}
	parked, err := m.Arm.Park(context.WithoutCancel(ctx), p, &change)
	if parked {
		m.setTold(false)
	}
	if err != nil {
		m.Log.Error("park an arm at its budget", "arm", m.Arm.Facts().Name, "error", err)
	}
}

func (m *Meter) reportStep(ctx context.Context, step coleo.BudgetStep, d budget.Decision, why string) {
	change := coleo.BudgetChange{Step: step, Why: why, BudgetState: d.State}
	f := m.Arm.Facts()
	if err := m.Arm.Tell(context.WithoutCancel(ctx), f.run(), change); err != nil {
		m.Log.Error("record what a budget does not allow", "arm", f.Name, "budget", change, "error", err)
	}
}

// run returns the id of the newest open run, or "".
func (f Facts) run() string {
	if f.Run == nil {
		return ""
	}
	return f.Run.ID
}

// end ends the arm because a budget does not allow a call. It does so in the background, because
// the caller may hold a lock that the end of the arm needs.
func (m *Meter) end(ctx context.Context, d budget.Decision, why string) {
	generation := m.Arm.Facts().Generation
	m.mu.Lock()
	known := m.ending
	m.ending = true
	m.mu.Unlock()
	if known {
		return
	}
	m.reportStep(ctx, coleo.BudgetReached, d, why)
	m.Arm.Go(func(ctx context.Context) {
		err := m.Arm.Kill(ctx, generation)
		m.mu.Lock()
		m.ending = false
		m.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			m.Log.Error("end an arm at its budget", "arm", m.Arm.Facts().Name, "error", err)
		}
	})
}

// BreakLoop parks an arm whose agent CLI goes in circles, and interrupts its turn.
func (m *Meter) BreakLoop(ctx context.Context, why string) {
	name := m.Arm.Facts().Name
	p := coleo.Parked{Limit: coleo.Limit{Kind: coleo.LimitLoop, Text: why, Seen: m.Now().UTC()}, Try: 1,
		Why: "its turn is interrupted; prompt it, or 'coleo arm unpark " + name + "' continues it"}
	if _, err := m.Arm.Park(context.WithoutCancel(ctx), p, nil); err != nil {
		m.Log.Error("park an arm that goes in circles", "arm", name, "error", err)
	}
	m.StopTurn(true)
}

// StopTurn interrupts the turn of an arm that is parked at a budget or for a loop. It returns at
// once. It never interrupts while a dialog is open, because the keys would answer the dialog. If
// `repeated` is true, StopTurn also interrupts a turn that has continued after an earlier
// interrupt.
func (m *Meter) StopTurn(repeated bool) {
	m.stops.Lock()
	defer m.stops.Unlock()
	if m.stopping {
		return
	}
	f := m.Arm.Facts()
	if f.Parked == nil || !f.Parked.Kind.SetByColeo() || f.Run == nil || f.Run.Interrupted && !repeated ||
		f.Working == nil || !f.Working() {
		return
	}
	m.stopping = true
	m.Arm.Go(m.interrupt)
}

func (m *Meter) interrupt(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	defer m.Arm.LockTyping()()
	run := m.Arm.Facts().run()
	done, err := m.Arm.Interrupt(limited)
	goesOn := err != nil && m.Arm.Facts().Run != nil
	told := m.setTold(goesOn) && err != nil
	m.stops.Lock()
	m.stopping = false
	m.stops.Unlock()
	switch {
	case ctx.Err() != nil || told || err == nil && !done.Stopped():
	case goesOn:
		m.tellStop(ctx, run, coleo.BudgetUnstopped, "its turn still went on after an attempt to interrupt it: "+err.Error())
	default:
		m.tellStop(ctx, run, coleo.BudgetInterrupted, "its turn was interrupted")
	}
}

// setTold stores whether the log says that the turn could not be interrupted. It returns the
// previous value.
func (m *Meter) setTold(told bool) (before bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, m.told = m.told, told
	return before
}

// TurnStopped records that a turn has ended, if the log says that this turn continued after an
// interrupt. Otherwise it records nothing.
func (m *Meter) TurnStopped(ctx context.Context, run string) {
	if m.setTold(false) {
		m.tellStop(ctx, run, coleo.BudgetInterrupted, "its turn was interrupted")
	}
}

// tellStop records the result of an interrupt, if the arm is parked at a budget.
func (m *Meter) tellStop(ctx context.Context, run string, step coleo.BudgetStep, what string) {
	f := m.Arm.Facts()
	if f.Parked == nil || f.Parked.Kind != coleo.LimitBudget {
		return
	}
	list := m.Budgets()
	of := budget.DecideAll(list, budget.Call{Price: &coleo.Price{}, Counted: true}).State
	if of.Dollars == 0 && len(list) > 0 {
		of = list[0] // no budget is exceeded, so a call without a known price has stopped the turn
	}
	change := coleo.BudgetChange{Step: step, Why: f.Parked.Text + "; " + what, BudgetState: of}
	if err := m.Arm.Tell(context.WithoutCancel(ctx), run, change); err != nil {
		m.Log.Error("record the interrupt at a budget", "arm", f.Name, "error", err)
	}
}
