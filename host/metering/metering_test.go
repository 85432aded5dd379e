package metering

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/budget"
	"coleo.dev/cost"
	"coleo.dev/host/spending"
	"coleo.dev/store"
)

// flatPrice gives each model the same price: 1 US dollar for a million tokens of a reply.
type flatPrice struct{}

func (flatPrice) Override(string, string) (coleo.Price, bool) { return coleo.Price{}, false }
func (flatPrice) Find(string, string) (coleo.Price, bool) {
	return coleo.Price{Rates: coleo.Rates{Output: 1}, Source: coleo.PriceBuiltIn}, true
}

// fakeArm is an arm that only records what a Meter does to it.
type fakeArm struct {
	facts     Facts
	account   spending.Arm
	did       []string // what the Meter did, in order: a WORD, or the step of an event
	interrupt error    // the error of the next interrupt
	later     []func(context.Context)
}

func (f *fakeArm) Facts() Facts          { return f.facts }
func (f *fakeArm) Account() spending.Arm { return f.account }
func (f *fakeArm) Tell(_ context.Context, _ string, change coleo.BudgetChange) error {
	f.did = append(f.did, string(change.Step))
	return nil
}

func (f *fakeArm) Park(_ context.Context, p coleo.Parked, tell *coleo.BudgetChange) (bool, error) {
	if f.facts.Parked != nil {
		return false, nil
	}
	f.facts.Parked = &p
	f.did = append(f.did, "park "+string(p.Kind))
	if tell != nil {
		f.did = append(f.did, string(tell.Step))
	}
	return true, nil
}

func (f *fakeArm) LockTyping() func() { return func() {} }
func (f *fakeArm) Interrupt(context.Context) (coleo.Interruption, error) {
	f.did = append(f.did, "interrupt")
	return coleo.Interruption{Pressed: []string{"ESCAPE"}}, f.interrupt
}

func (f *fakeArm) Kill(context.Context, int) error {
	f.did = append(f.did, "kill")
	return nil
}

func (f *fakeArm) Go(do func(context.Context)) { f.later = append(f.later, do) }

// bench is the Meter of one arm with a budget of one dollar.
type bench struct {
	*testing.T
	*Meter
	arm *fakeArm
}

func newBench(t *testing.T, policy coleo.BudgetPolicy) *bench {
	t.Helper()
	db, err := store.OpenHost(filepath.Join(t.TempDir(), "host.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	arm := &fakeArm{facts: Facts{ID: "a1", Name: "ada", Model: spending.Model{Provider: "p", Name: "m"},
		Harness: &coleo.Info{Name: "h", Work: coleo.ReportedWork{Usage: true}},
		Run:     &coleo.Receipt{ID: "r1"}, Working: func() bool { return true }},
		account: spending.Arm{ID: "a1", Name: "ada", Folders: []string{"/w"},
			Budget: &coleo.Budget{Dollars: 1, Policy: policy}}}
	return &bench{T: t, arm: arm, Meter: &Meter{Config: Config{Arm: arm, DB: db, Now: time.Now,
		Ledger: spending.New(nil, func() cost.Prices { return flatPrice{} }, coleo.Budgets{}),
		Log:    slog.New(slog.DiscardHandler)}}}
}

func event(t *testing.T, run string, w coleo.Work) coleo.Event {
	t.Helper()
	raw, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return coleo.Event{Arm: "a1", Run: run, Kind: coleo.KindOf(w), Time: time.Now(), Payload: raw}
}

// spend counts a reply that costs the given number of dollars, and carries out the decision of the
// budgets.
func (b *bench) spend(dollars int) {
	b.Helper()
	calls, _ := b.Count(b.arm.account, []coleo.Event{event(b.T, "r1", coleo.ReplyUsage{
		Usage: coleo.Usage{Output: dollars * 1e6}})})
	if len(calls) != 1 {
		b.Fatalf("%d calls were counted, want 1", len(calls))
	}
	b.Keep(b.Context(), calls[0])
}

// background runs the functions that the Meter has passed to Go.
func (b *bench) background() {
	list := b.arm.later
	b.arm.later = nil
	for _, do := range list {
		do(b.Context())
	}
}

// saw checks what the Meter has done to the arm since the last call of saw.
func (b *bench) saw(when string, want ...string) {
	b.Helper()
	if !slices.Equal(b.arm.did, want) {
		b.Errorf("%s the meter did %q, want %q", when, b.arm.did, want)
	}
	b.arm.did = nil
}

func TestABudgetThatWarnsWarnsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetWarn)
	b.spend(1)
	b.saw("at the limit", "warned")
	b.spend(1)
	b.saw("beyond the limit")
	b.arm.account.Budget = &coleo.Budget{Dollars: 2, Policy: coleo.BudgetWarn}
	b.spend(1)
	b.saw("beyond another budget", "warned")
	if err := b.MayBegin(t.Context(), "more"); err != nil {
		t.Errorf("a prompt = %v, want no error from a budget that only warns", err)
	}
}

func TestABudgetThatParksInterruptsTheTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetPark)
	b.spend(0)
	b.saw("below the limit")
	b.spend(1)
	b.saw("at the limit", "park budget", "reached")
	b.arm.interrupt = errors.New("the key had no effect")
	b.background()
	b.saw("if the turn goes on", "interrupt", "unstopped")
	b.spend(1)
	b.arm.interrupt = nil
	b.background()
	b.saw("after the next call", "interrupt", "interrupted")
	b.TurnStopped(t.Context(), "r1")
	b.saw("after the end of the turn, which is known already")
	if err := b.MayGoOn(); coleo.ErrorCode(err) != coleo.EConflict ||
		!strings.Contains(err.Error(), "coleo arm budget ada DOLLARS") {
		t.Errorf("MayGoOn = %v, want a refusal that says what to do", err)
	}
	b.arm.account.Budget = &coleo.Budget{Dollars: 99}
	if err := b.MayGoOn(); err != nil {
		t.Errorf("MayGoOn with a larger budget = %v", err)
	}
}

func TestNothingIsInterruptedWhileADialogIsOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetPark)
	b.arm.facts.Working = func() bool { return false }
	b.spend(1)
	b.background()
	b.saw("while a dialog is open", "park budget", "reached")
	b.arm.facts.Working = func() bool { return true }
	b.StopTurn(false)
	b.StopTurn(false) // the first interrupt has not ended
	b.background()
	b.saw("after the dialog", "interrupt", "interrupted")
	b.arm.facts.Run.Interrupted = true
	b.StopTurn(false)
	b.background()
	b.saw("after an interrupt")
}

func TestABudgetThatStopsEndsTheArmOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetStop)
	b.spend(1)
	b.spend(1)
	b.saw("at the limit", "reached")
	b.background()
	b.saw("in the background", "kill")
}

func TestNoTurnBeginsThatABudgetDoesNotAllow(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetPark)
	b.arm.facts.Run = nil
	if err := b.MayBegin(t.Context(), "small"); err != nil {
		t.Errorf("a prompt within the budget: %v", err)
	}
	b.spend(1)
	b.arm.facts.Parked, b.arm.did = nil, nil
	b.arm.facts.Run = &coleo.Receipt{ID: "r1"}
	err := b.MayBegin(t.Context(), "more")
	if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "the running turn continues") {
		t.Errorf("a prompt during a turn: %v", err)
	}
	b.saw("during a turn")
	b.arm.facts.Run = nil
	if err := b.MayBegin(t.Context(), "more"); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a prompt beyond the budget: %v, want %s", err, coleo.EConflict)
	}
	b.saw("between two turns", "park budget", "refused")
	b.arm.facts.Harness = &coleo.Info{Name: "silent"}
	if err := b.MayBegin(t.Context(), "more"); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("a prompt to an agent CLI that reports no usage: %v, want %s", err, coleo.EUnsupported)
	}
	b.arm.facts.NoModel = true
	if err := b.MayBegin(t.Context(), "more"); err != nil || b.Keep(t.Context(), budget.Call{}) {
		t.Errorf("an arm without a model: %v", err)
	}
}

func TestTheNextCallIsAsLongAsTheConversation(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetWarn)
	context := func() int { return b.NextCall("four").Context - len("four") }
	if n := context(); n != budget.FirstContext {
		t.Errorf("the first call has %d tokens of context, want %d", n, budget.FirstContext)
	}
	b.Count(b.arm.account, []coleo.Event{event(t, "r1", coleo.ReplyUsage{Usage: coleo.Usage{Input: 900, Output: 50}}),
		event(t, "r1", coleo.ReplyUsage{Usage: coleo.Usage{Input: 100}})})
	if n := context(); n != 950 {
		t.Errorf("after two replies, the next call has %d tokens of context, want the longer one's 950", n)
	}
	b.Count(b.arm.account, []coleo.Event{event(t, "r1", coleo.Compaction{})})
	if n := context(); n != budget.FirstContext {
		t.Errorf("after a compaction, the next call has %d tokens of context", n)
	}
	stored := event(t, "r1", coleo.ReplyUsage{Usage: coleo.Usage{Input: 700}})
	if _, err := b.DB.Append(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if b.RecallContext(t.Context()); context() != 700 {
		t.Errorf("after a restart, the next call has %d tokens of context, want the 700 of the log", context())
	}
	if b.ForgetContext(); context() != budget.FirstContext {
		t.Errorf("in a new conversation, the next call has %d tokens of context", context())
	}
}

func TestOnlyTheUsageSinceTheLastRunIsCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetWarn)
	sum := &coleo.Usage{Output: 3e6}
	if _, _, ok := b.CountConversation(t.Context(), sum); ok {
		t.Error("the usage of an agent CLI that reports each reply was counted twice")
	}
	b.arm.facts.Harness.Work.Usage = false
	end, err := json.Marshal(coleo.RunEnd{Usage: &coleo.Usage{Output: 2e6}})
	if err == nil {
		_, err = b.DB.Append(t.Context(), coleo.Event{Arm: "a1", Run: "r0", Kind: coleo.EventRunEnd, Payload: end})
	}
	if err != nil {
		t.Fatal(err)
	}
	call, cost, ok := b.CountConversation(t.Context(), sum)
	if !ok || call.Output != 1e6 || len(cost) == 0 || b.Ledger.Of(b.arm.account) != 1 {
		t.Errorf("counted %d tokens for %v dollars, %t; want a million for 1", call.Output, b.Ledger.Of(b.arm.account), ok)
	}
	smaller := &coleo.Usage{Output: 1e6}
	if call, _, ok := b.CountConversation(t.Context(), smaller); !ok || call.Output != 1e6 {
		t.Errorf("of a smaller sum, %d tokens were counted, want all", call.Output)
	}
	begun := coleo.Event{Arm: "a1", Kind: coleo.EventSpawned, Payload: []byte("{}")}
	if _, err := b.DB.Append(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	if call, _, ok := b.CountConversation(t.Context(), sum); !ok || call.Output != 3e6 {
		t.Errorf("after another start, %d tokens were counted, want all", call.Output)
	}
}

func TestAnArmThatGoesInCirclesIsParkedAndInterrupted(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetWarn)
	b.SameCalls = 3
	round := func(run, open string) string {
		return b.FindLoop([]coleo.Event{
			event(t, run, coleo.ToolCall{ID: "c", Name: "bash", Kind: coleo.ToolExecute,
				Arguments: json.RawMessage(`{"command":"make"}`)}),
			event(t, run, coleo.ToolEnd{ID: "c", Outcome: coleo.ToolError, Reason: "no rule"})}, open)
	}
	for n := range 4 {
		if round("r0", "r1") != "" {
			t.Errorf("round %d of a run that has ended is found", n)
		}
	}
	why := ""
	for n, run := range []string{"r1", "r1", "r2", "r2", "r2"} { // a new run begins with no calls
		if why = round(run, run); (why != "") != (n == 4) {
			t.Errorf("after round %d: %q, want a circle after %d rounds of one run", n, why, b.SameCalls)
		}
	}
	b.BreakLoop(t.Context(), why)
	b.background()
	b.saw("in a circle", "park loop", "interrupt")
	b.SameCalls = -1
	for range 20 {
		if why := round("r3", "r3"); why != "" {
			t.Fatalf("with the loop breaker off: %q", why)
		}
	}
}

func TestTheLogSaysHowMuchOfTheArmsBudgetIsUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetPark)
	b.TellSpent(t.Context(), "r1")
	b.saw("with a budget", "counted")
	b.arm.account.Budget = nil
	b.TellSpent(t.Context(), "r1")
	b.saw("without a budget")
	b.Ledger = spending.New(nil, func() cost.Prices { return flatPrice{} }, coleo.Budgets{Fleet: 9})
	b.TellSpent(t.Context(), "r1")
	b.saw("with a budget of all arms alone")
}

// The session could not report its usage at the end of a run. The next run must not count again what earlier runs
// have counted.
func TestARunWithoutUsageCountsNothingTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetWarn)
	b.arm.facts.Harness.Work.Usage, b.arm.facts.Generation = false, 1
	ends := func(sum *coleo.Usage) {
		b.CountConversation(t.Context(), sum)
		raw, err := json.Marshal(coleo.RunEnd{Usage: sum})
		if err == nil {
			_, err = b.DB.Append(t.Context(), coleo.Event{Arm: "a1", Run: "r", Kind: coleo.EventRunEnd, Payload: raw})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ends(&coleo.Usage{Output: 2e6})
	ends(nil)
	ends(&coleo.Usage{Output: 3e6})
	if spent := b.Ledger.Of(b.arm.account); spent != 3 {
		t.Errorf("%v dollars were counted for three million tokens, want 3", spent)
	}
	b.arm.facts.Generation = 2
	begun := coleo.Event{Arm: "a1", Kind: coleo.EventSpawned, Payload: []byte("{}")}
	if _, err := b.DB.Append(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	ends(&coleo.Usage{Output: 4e6})
	if spent := b.Ledger.Of(b.arm.account); spent != 7 {
		t.Errorf("after another start, %v dollars were counted, want 4 more than 3", spent)
	}
}

// The host agent is killed after it has counted the last turn, and before it has stored the end of that turn's run. The
// next host agent ends the run. It must count the turn, and must not count it twice.
func TestAKillAtTheEndOfATurnCountsTheTurnOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, coleo.BudgetWarn)
	b.arm.facts.Harness.Work.Usage, b.arm.facts.Generation = false, 1
	sum := &coleo.Usage{Output: 2e6}
	b.CountConversation(t.Context(), sum)
	stored, err := b.DB.Spendings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := &Meter{Config: b.Config}
	next.Ledger = spending.New(stored, func() cost.Prices { return flatPrice{} }, coleo.Budgets{})
	next.CountConversation(t.Context(), sum)
	if spent := next.Ledger.Of(b.arm.account); spent != 2 {
		t.Errorf("%v dollars were counted for two million tokens, want 2", spent)
	}
}
