package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/budget"
	"coleo.dev/checked"
	"coleo.dev/host/queue"
	"coleo.dev/host/spending"
	"coleo.dev/loop"
	"coleo.dev/store"
	"coleo.dev/trace"
)

// work is the part of the agent CLI's work that one source has reported.
type work struct {
	record string // the name of the source; see coleo.Change.Record
	list   []coleo.Activity
}

// noteWork appends the events of work to the log, each with its run and its turn. If a prompt is
// being sent, its work waits until the prompt's run has begun.
func (a *arm) noteWork(ctx context.Context, w work) error {
	calls, circles, err := a.writeWork(ctx, w)
	for _, call := range calls {
		a.host.keepBudgets(ctx, a, call)
	}
	if circles != "" {
		a.breakLoop(ctx, circles)
	}
	return err
}

// writeWork writes the events for noteWork. It returns the calls of the model that it has counted.
// If the agent CLI goes in circles, the result circles says why. Otherwise circles is "".
func (a *arm) writeWork(ctx context.Context, w work) (calls []budget.Call, circles string, err error) {
	of := a.spends()
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	a.late = append(a.late, w)
	a.keepErrors(w)
	events := a.takeWork()
	calls, cost := a.countCalls(of, events)
	circles = a.watchLoops(events)
	a.mu.Unlock()
	return calls, circles, a.host.write(ctx, happened, writing{events: events, traced: a, cost: cost})
}

// watchedRun is what the loop breaker knows of the newest run. The arm's mu guards it.
type watchedRun struct {
	run   string
	state loop.State
}

// watchLoops returns why the agent CLI goes in circles in the newest run, or "". The caller holds mu.
func (a *arm) watchLoops(events []coleo.Event) (circles string) {
	for _, e := range events {
		if e.Kind != coleo.EventToolStart && e.Kind != coleo.EventToolEnd || a.host.SameCalls < 0 || e.Run == "" {
			continue
		}
		if e.Run != a.loops.run {
			a.loops = watchedRun{run: e.Run}
		}
		if w, err := coleo.DecodeWork(e); err == nil && a.run != nil && a.run.ID == e.Run {
			var why string
			a.loops.state, why = a.loops.state.Next(w, a.host.SameCalls)
			circles = cmp.Or(why, circles)
		}
	}
	return circles
}

// noteLateWork appends the events of work that has waited for its run to begin.
func (a *arm) noteLateWork(ctx context.Context) error {
	a.mu.Lock()
	none := len(a.late) == 0
	a.mu.Unlock()
	if none {
		return nil
	}
	return a.noteWork(ctx, work{})
}

// takeWork adds the work in a.late to the arm's trace, and returns the events. Work whose run has
// not begun stays in a.late. The caller holds mu.
func (a *arm) takeWork() (events []coleo.Event) {
	runs := trace.Runs{Open: openRuns(a.record), Intended: a.record.Intended}
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

// openRuns returns the open runs, in order.
func openRuns(r store.ArmRecord) []coleo.Receipt {
	open := slices.Clone(r.Earlier)
	if r.Run != nil {
		open = append(open, *r.Run)
	}
	return open
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

// inputWork returns the events of a prompt for a program without a model. Such a prompt is a
// command for a shell. The caller holds mu.
func (a *arm) inputWork(run coleo.Receipt) []coleo.Event {
	if a.harness == nil || !a.harness.Info().NoModel {
		return nil
	}
	return []coleo.Event{screenWork(a.record.ID, run.ID, coleo.ShellInput{ID: run.ID, Command: run.Text})}
}

// shownWork returns the events for an answer that comes only from the screen. It returns nil if a
// record of the agent CLI contains the run's texts.
func shownWork(r store.ArmRecord, run string, end coleo.RunEnd, noModel bool) []coleo.Event {
	text, cut := coleo.CutWork(end.Answer)
	switch {
	case noModel:
		return []coleo.Event{screenWork(r.ID, run, coleo.ShellOutput{ID: run, Output: text, Truncated: cut})}
	case end.Answer == "" || len(r.Trace.Places) > 0:
		return nil
	}
	return []coleo.Event{screenWork(r.ID, run, coleo.AssistantText{
		Block: coleo.Block{ID: "answer", Text: text, Done: true, Truncated: cut}})}
}

// checkAnswer checks the answer of an ending run if its prompt had a schema. It then sets
// end.Validated. If Coleo must ask the model again, checkAnswer also sets end.Retry to a random id.
func checkAnswer(run coleo.Receipt, end *coleo.RunEnd) {
	if run.Check == nil || len(run.Check.Schema) == 0 {
		return
	}
	told := *end
	told.Whole = isWhole(*end)
	v, canRetry := checked.Answer(*run.Check, told)
	if end.Validated = &v; !v.OK && canRetry && run.Check.Retries > 0 {
		end.Retry = rand.Text()
	}
}

// unanswered returns the result of the check for a run without its own answer. The turn of such a
// run ended together with the turn of a later prompt. unanswered returns nil if the run's prompt
// had no schema.
func unanswered(run coleo.Receipt) *coleo.Validated {
	if run.Check == nil || len(run.Check.Schema) == 0 {
		return nil
	}
	return &coleo.Validated{Error: "another prompt arrived before the turn had ended, so no answer is known to be the one"}
}

// checkEvents returns the events for the check of an ending run. If Coleo must ask the model again,
// checkEvents puts a prompt for that at the head of the queue. The caller writes the events, the
// queue and the end of the run in one write. A kill of the host agent therefore neither loses nor
// repeats this prompt. checkEvents does not check a run that did not finish.
func checkEvents(r *store.ArmRecord, run coleo.Receipt, end *coleo.RunEnd) []coleo.Event {
	v := end.Validated
	if v == nil {
		return nil
	}
	if end.Outcome != coleo.OutcomeFinished {
		end.Validated, end.Retry = nil, ""
		return nil
	}
	end.Validated = &coleo.Validated{OK: v.OK, Error: v.Error, Path: v.Path}
	events := []coleo.Event{runEvent(r.ID, run.ID, coleo.EventOutputValidated, *v)}
	if end.Retry == "" {
		return events
	}
	next, text := checked.RetryPrompt(run, *v)
	events = append(events, runEvent(r.ID, run.ID, coleo.EventOutputRetry, coleo.Retry{Attempt: next.Attempt,
		Left: next.Retries, Error: v.Error, Path: v.Path, Run: end.Retry}))
	entry := coleo.Queued{ID: end.Retry, Text: text, Added: time.Now().UTC(), By: "coleo", Check: &next}
	return append(events, setQueue(r, queue.PutBack(queueOf(r), entry, ""), coleo.QueueAdded, entry.ID)...)
}

// isWhole reports whether the answer of a run comes from the agent CLI's own report.
func isWhole(end coleo.RunEnd) bool { return end.Source != "" && end.Source != onScreen }

func screenWork(arm, run string, w coleo.Work) coleo.Event {
	e := runEvent(arm, run, coleo.KindOf(w), w)
	e.Source = coleo.SourceScreen
	return e
}

// modelNow returns the model of the arm. If nobody has named one, that is the model which the agent
// CLI has told last. The caller holds mu.
func (a *arm) modelNow() spending.Model {
	return spending.Model{Provider: a.record.Provider, Name: cmp.Or(a.record.Model, a.record.Trace.Model)}
}

// countCalls counts the calls of the model in events, and returns them with what to store. The
// caller holds mu.
func (a *arm) countCalls(of spending.Arm, events []coleo.Event) (calls []budget.Call, cost []store.Spending) {
	for _, e := range events {
		if e.Kind == coleo.EventCompaction {
			a.metering.context = 0
		}
		if e.Kind != coleo.EventUsage || a.usesNoModel() {
			continue
		}
		if w, err := coleo.DecodeWork(e); err == nil {
			u, _ := w.(coleo.ReplyUsage)
			call, more := a.host.ledger.Count(of, a.modelNow(), u, a.host.Now())
			a.metering.context = max(a.metering.context, u.Total())
			calls, cost = append(calls, call), append(cost, more...)
		}
	}
	return calls, cost
}

// countAccount is for an agent CLI that reports only the usage of the whole conversation. It counts
// the usage since the last run. If the sum has become smaller, it counts the whole sum.
func (a *arm) countAccount(ctx context.Context, sum *coleo.Usage) {
	a.mu.Lock()
	skip := sum == nil || a.harness == nil || a.harness.Info().Work.Usage || a.usesNoModel()
	model := a.modelNow()
	a.mu.Unlock()
	if skip {
		return
	}
	used := *sum
	e, ok, err := a.host.DB.Newest(ctx, a.record.ID, coleo.EventRunEnd)
	if ok && err == nil {
		if end, err := coleo.DecodeRunEnd(e); err == nil && end.Usage != nil && end.Usage.Input <= sum.Input &&
			end.Usage.Output <= sum.Output {
			used = sum.Minus(*end.Usage)
		}
	}
	call, cost := a.host.ledger.Count(a.spends(), model, coleo.ReplyUsage{Usage: used}, a.host.Now())
	if err := a.host.DB.AddSpending(ctx, cost); err != nil {
		a.host.Log.Error("record what a turn has cost", "arm", a.name(), "error", err)
	}
	a.host.keepBudgets(ctx, a, call)
}

// recallContext finds out how long the conversation is, after this host agent has attached to it.
func (a *arm) recallContext(ctx context.Context) {
	e, ok, err := a.host.DB.Newest(ctx, a.record.ID, coleo.EventUsage)
	if err != nil || !ok {
		return // a usual first call is assumed
	}
	if w, err := coleo.DecodeWork(e); err == nil {
		u, _ := w.(coleo.ReplyUsage)
		a.mu.Lock()
		a.metering.context = max(a.metering.context, u.Total())
		a.mu.Unlock()
	}
}
