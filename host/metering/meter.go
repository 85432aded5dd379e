// Package metering counts the model calls of one arm, and carries out the decisions of the arm's
// budgets. A decision can warn a person, park the arm or end it. The package also stops an agent
// CLI that goes in circles.
//
// The package keeps no sums, and does not decide whether a call fits into a budget: see packages
// spending and budget.
package metering

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/budget"
	"coleo.dev/host/spending"
	"coleo.dev/loop"
	"coleo.dev/store"
)

// Facts is what a Meter needs to know about its arm.
type Facts struct {
	ID, Name   string
	Generation int
	Model      spending.Model
	NoModel    bool           // the arm uses no model, or a scripted model without a price
	Harness    *coleo.Info    // nil if the arm has had no session in this host agent
	Parked     *coleo.Parked  // nil if the arm is not parked
	Run        *coleo.Receipt // the newest open run; nil if no run is open
	Working    func() bool    // reports whether the agent CLI works; nil if there is no session
}

// Arm is the arm of a Meter. A Meter calls these methods while it holds none of its locks. There is
// one exception: for an interrupt, it calls Facts and Go while it holds the lock stops.
type Arm interface {
	// Facts returns the arm's Facts as they are now.
	Facts() Facts
	// Account returns the account of the arm, with the accounts of the arms above it.
	Account() spending.Arm
	// Tell appends an event about a budget. `run` is "" if the event belongs to no run.
	Tell(ctx context.Context, run string, change coleo.BudgetChange) error
	// Park parks the arm in its open run, unless the arm is already parked at a budget or for a loop.
	// If `tell` is not nil, the same write appends it as an event about a budget. Without an open run,
	// Park does not park the arm for a loop.
	Park(ctx context.Context, p coleo.Parked, tell *coleo.BudgetChange) (parked bool, err error)
	// LockTyping keeps the arm on this host until the caller calls the returned function.
	LockTyping() (unlock func())
	// Interrupt stops the running turn. The Meter has called LockTyping before.
	Interrupt(ctx context.Context) (coleo.Interruption, error)
	// Kill ends the arm. It returns EStale if the generation is not the arm's last one.
	Kill(ctx context.Context, generation int) error
	// Go calls the function in the background. The function's context ends when the host agent
	// ends.
	Go(func(ctx context.Context))
}

// Config is the configuration of a Meter.
type Config struct {
	Arm    Arm
	Ledger *spending.Ledger
	DB     *store.HostDB
	Now    func() time.Time
	Log    *slog.Logger
	// SameCalls is how often an agent CLI may make the same call with the same result in a run.
	// After that, the Meter reports a loop. 0 means loop.MaxSame. A negative number switches off
	// the search for loops.
	SameCalls int
}

// Meter counts the model calls of one arm. It is safe for concurrent use.
type Meter struct {
	Config

	mu      sync.Mutex        // guards the fields below; while it is held, no other lock is taken
	context int               // tokens of the conversation after the last call; 0 if unknown
	warned  coleo.BudgetState // the budget that the last recorded warning is about; Spent is not set
	ending  bool              // a goroutine is ending the arm
	told    bool              // the log already says that the turn could not be interrupted
	loops   watchedRun
	// conversation is the usage of the conversation that CountConversation has counted last, in the start with the
	// number conversationOf. The number is 0 if nothing was counted.
	conversation   coleo.Usage
	conversationOf int

	stops    sync.Mutex // guards stopping; held while a Meter reads the arm's facts for an interrupt
	stopping bool       // a goroutine is interrupting the turn
}

// watchedRun is what the Meter knows about loops in the newest run.
type watchedRun struct {
	run   string
	state loop.State
}

// Budgets returns the budgets that apply to the arm. It returns none if Facts.NoModel is true.
func (m *Meter) Budgets() []coleo.BudgetState {
	if m.Arm.Facts().NoModel {
		return nil
	}
	return m.Ledger.Budgets(m.Arm.Account(), m.Now())
}

// NextCall returns an estimate of the first model call of a turn that begins with the given prompt.
func (m *Meter) NextCall(prompt string) budget.Call {
	model := m.Arm.Facts().Model
	m.mu.Lock()
	tokens := m.context
	m.mu.Unlock()
	return m.Ledger.Next(model, tokens, len(prompt))
}

// Count counts the calls of the model in events. It returns the calls, and the amounts to store.
// The caller passes the arm's account.
func (m *Meter) Count(of spending.Arm, events []coleo.Event) (calls []budget.Call, cost []store.Spending) {
	f := m.Arm.Facts()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range events {
		if e.Kind == coleo.EventCompaction {
			m.context = 0
		}
		if e.Kind != coleo.EventUsage || f.NoModel {
			continue
		}
		if w, err := coleo.DecodeWork(e); err == nil {
			u, _ := w.(coleo.ReplyUsage)
			call, more := m.Ledger.Count(of, f.Model, u, m.Now())
			m.context = max(m.context, u.Total())
			calls, cost = append(calls, call), append(cost, more...)
		}
	}
	return calls, cost
}

// CountConversation is for an agent CLI that reports only the usage of the whole conversation. It
// counts the usage since the last run. CountConversation counts the whole sum in two cases: the agent CLI was
// started since the last run, or the sum is smaller than at the end of that run. CountConversation returns false if
// it has counted nothing.
//
// It also returns the amounts to store. The caller stores them in the same write as the end of the run. Otherwise a
// kill between two writes would make the next host agent count the turn again.
func (m *Meter) CountConversation(ctx context.Context, sum *coleo.Usage) (budget.Call, []store.Spending, bool) {
	f := m.Arm.Facts()
	if sum == nil || f.Harness == nil || f.Harness.Work.Usage || f.NoModel {
		return budget.Call{}, nil, false
	}
	used := *sum
	if before := m.countedBefore(ctx, f); before.Input <= sum.Input && before.Output <= sum.Output {
		used = sum.Minus(before)
	}
	m.mu.Lock()
	m.conversation, m.conversationOf = *sum, f.Generation
	m.mu.Unlock()
	call, cost := m.Ledger.Count(m.Arm.Account(), f.Model, coleo.ReplyUsage{Usage: used}, m.Now())
	return call, cost, true
}

// countedBefore returns the usage that CountConversation has counted for the arm's present start. This host agent
// remembers it. After a restart of the host agent, it is the usage at the end of the last run. It is zero if the
// agent CLI was started since that run.
func (m *Meter) countedBefore(ctx context.Context, f Facts) coleo.Usage {
	m.mu.Lock()
	known, of := m.conversation, m.conversationOf
	m.mu.Unlock()
	if of != 0 && of == f.Generation {
		return known
	}
	e, ok, err := m.DB.Newest(ctx, f.ID, coleo.EventRunEnd)
	start, started, startErr := m.DB.Newest(ctx, f.ID, coleo.EventSpawned)
	if !ok || err != nil || startErr != nil || started && start.Seq > e.Seq {
		return coleo.Usage{}
	}
	end, err := coleo.DecodeRunEnd(e)
	if err != nil || end.Usage == nil {
		return coleo.Usage{}
	}
	return *end.Usage
}

// RecallContext reads the length of the conversation from the log. The caller calls it after this host agent has
// attached to the arm, and before a start that resumes a conversation.
func (m *Meter) RecallContext(ctx context.Context) {
	e, ok, err := m.DB.Newest(ctx, m.Arm.Facts().ID, coleo.EventUsage)
	if err != nil || !ok {
		return // with an unknown length, NextCall estimates a usual first call
	}
	if w, err := coleo.DecodeWork(e); err == nil {
		u, _ := w.(coleo.ReplyUsage)
		m.mu.Lock()
		m.context = max(m.context, u.Total())
		m.mu.Unlock()
	}
}

// ForgetContext sets the length of the conversation to unknown, for a start with a new
// conversation.
func (m *Meter) ForgetContext() {
	m.mu.Lock()
	m.context = 0
	m.mu.Unlock()
}

// FindLoop returns why the agent CLI goes in circles in its newest run, or "". The caller passes
// the newest events, and the id of the newest open run, or "".
func (m *Meter) FindLoop(events []coleo.Event, open string) (why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range events {
		if e.Kind != coleo.EventToolStart && e.Kind != coleo.EventToolEnd || m.SameCalls < 0 || e.Run == "" {
			continue
		}
		if e.Run != m.loops.run {
			m.loops = watchedRun{run: e.Run}
		}
		if w, err := coleo.DecodeWork(e); err == nil && open == e.Run {
			var next string
			m.loops.state, next = m.loops.state.Next(w, m.SameCalls)
			why = cmp.Or(next, why)
		}
	}
	return why
}

// TellSpent records how much of the arm's own budget is used. The caller calls it at the end of a
// run.
func (m *Meter) TellSpent(ctx context.Context, run string) {
	list := m.Budgets()
	if len(list) == 0 || list[0].Scope != coleo.BudgetOfArm {
		return
	}
	err := m.Arm.Tell(ctx, run, coleo.BudgetChange{Step: coleo.BudgetCounted, BudgetState: list[0]})
	if err != nil {
		m.Log.Error("record what is used of a budget", "arm", m.Arm.Facts().Name, "error", err)
	}
}

// hint returns what a person can do if a budget does not allow a call.
func hint(d budget.Decision) string {
	if d.State.Scope == coleo.BudgetOfArm {
		return fmt.Sprintf("'coleo arm budget %s DOLLARS' sets another budget", d.State.Of)
	}
	return "[budget] in config.toml sets it, and 'coleo down' and 'coleo up' read it again"
}
