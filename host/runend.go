package host

import (
	"context"
	"sync"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/host/armrecord"
	"coleo.dev/store"
)

// endRun ends the open runs if the session has become idle, has failed or has died since the newest
// prompt. It asks the session for the answer to that prompt. The answers to earlier prompts come
// from the agent CLI's record, if the record names these prompts.
func (a *arm) endRun(ctx context.Context, s coleo.Session) {
	run, reading := a.takeSettled()
	if run == nil {
		return
	}
	a.mu.Lock()
	noModel := a.harness != nil && a.harness.Info().NoModel
	a.mu.Unlock()
	end, cost := a.endOf(ctx, s, *run, reading)
	asks, earlier := a.hasOpenSuspension(ctx), a.earlierAnswers(ctx, s, run.ID)
	done := false
	err := a.changeAndCount(ctx, cost, func(r *store.ArmRecord) []coleo.Event {
		shown := armrecord.ShownWork(*r, run.ID, end, noModel) // must come before armrecord.EndRuns, which changes the trace
		finished := armrecord.Finishes(*r, run.ID, end)
		events := append(shown, armrecord.EndRuns(r, run.ID, end, earlier)...)
		if a.done = finished && !asks && armrecord.IsDone(*r); a.done {
			done, r.Desired = true, coleo.DesiredStopped
			events = append(events, armrecord.RunEvent(r.ID, run.ID, coleo.EventInfo, coleo.Remark{Text: doneText}))
		}
		return events
	})
	if err != nil {
		a.host.Log.Error("end a run", "arm", a.name(), "error", err)
	}
	a.runEnded(ctx, run.ID)
	if done {
		a.host.runs.Go(a.endDone)
	}
}

// takeSettled returns the newest open run and the arm's reading, if the session has become idle,
// has failed or has died since the run's prompt. Otherwise it returns no run. takeSettled first
// waits for a running interrupt, because only then is it certain whether the interrupt has typed a
// key. If it has, the run counts as interrupted.
func (a *arm) takeSettled() (*coleo.Receipt, coleo.Reading) {
	a.interrupting.Lock()
	defer a.interrupting.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	run := a.run
	if run == nil || a.settledCursor <= run.Cursor {
		return nil, a.reading
	}
	a.run = nil
	return run, a.reading
}

// endOf returns the end of a run whose turn has ended with the given reading. It asks the session
// for the answer. It also returns the amounts that the turn has cost. The caller writes them with the end of the run.
func (a *arm) endOf(ctx context.Context, s coleo.Session, run coleo.Receipt, reading coleo.Reading) (end coleo.RunEnd,
	cost []store.Spending) {
	end = armrecord.EndBy(reading)
	if reading.State != coleo.Dead {
		if answer, err := s.Answer(ctx, run); err == nil && !run.Compact {
			end.Answer, end.Source = answer.Text, answer.Source
			a.dropEarlierAnswer(ctx, run, &end)
		}
		if m, ok := s.(coleo.UsageMeter); ok {
			if u, err := m.Usage(ctx); err == nil && u.Total() > 0 {
				end.Usage = &u
			}
		}
	}
	call, cost, counted := a.meter.CountConversation(ctx, end.Usage)
	if counted {
		a.host.keepBudgets(ctx, a, call)
	}
	a.noteLimit(s, &end)
	armrecord.CheckAnswer(run, &end)
	return end, cost
}

// changeAndCount is like change, but the same transaction also adds amounts to what models have cost.
func (a *arm) changeAndCount(ctx context.Context, cost []store.Spending,
	fn func(*store.ArmRecord) []coleo.Event) error {
	if err := a.changeWith(ctx, happened, diskWrite{cost: cost}, fn); err != nil {
		return err
	}
	return a.noteLateWork(ctx)
}

// dropEarlierAnswer corrects the answer of an interrupted run if the answer comes from the screen.
// The screen can still show the answer of an earlier turn. If the agent CLI's record contains the
// run's texts, the answer is the run's last text in the record, or empty.
func (a *arm) dropEarlierAnswer(ctx context.Context, run coleo.Receipt, end *coleo.RunEnd) {
	if !run.Interrupted || end.Source != armrecord.OnScreen || len(a.recordNow().Trace.Places) == 0 {
		return
	}
	end.Answer, end.Source = "", ""
	e, found, err := a.host.DB.Newest(ctx, a.record.ID, coleo.EventAssistantText)
	if err != nil || !found || e.Run != run.ID {
		return
	}
	if w, err := coleo.DecodeWork(e); err == nil {
		text, _ := w.(coleo.AssistantText)
		end.Answer, end.Source = text.Text, armrecord.FromRecord
	}
}

// earlierAnswers returns the answers of the open runs before `run`. The key is the id of the run.
// The answers come from the agent CLI's record. The answer of a run is its last text, if no tool
// call follows this text. If the arm's log contains no work of a run, the session reads the answer.
func (a *arm) earlierAnswers(ctx context.Context, s coleo.Session, run string) map[string]coleo.AssistantText {
	answers := map[string]coleo.AssistantText{}
	for _, c := range armrecord.OpenRuns(a.recordNow()) {
		if c.ID == run {
			break
		}
		e, found, err := a.host.DB.NewestOfRun(ctx, a.record.ID, c.ID,
			coleo.EventAssistantText, coleo.EventToolStart, coleo.EventToolEnd)
		if err != nil {
			a.host.Log.Error("look for the answer of a run", "arm", a.name(), "error", err)
		}
		if err == nil && !found && !c.Compact {
			if own, err := s.Answer(ctx, c); err == nil && own.Text != "" && own.Source == armrecord.FromRecord {
				answers[c.ID] = coleo.AssistantText{Block: coleo.Block{Text: own.Text, Done: true}}
			}
		}
		if err != nil || !found || c.Compact || e.Kind != coleo.EventAssistantText {
			continue
		}
		w, err := coleo.DecodeWork(e)
		if text, ok := w.(coleo.AssistantText); err == nil && ok && text.Done {
			answers[c.ID] = text
		}
	}
	return answers
}

// runEnded does what must follow the end of a run. The caller has already written the end.
func (a *arm) runEnded(ctx context.Context, run string) {
	a.meter.TurnStopped(ctx, run)
	a.meter.TellSpent(ctx, run)
	a.keepFiles(changes.AfterTurn, run)
}

// maxErrors is the largest number of errors that an arm keeps until the end of its turn. An agent
// CLI reports one or two.
const maxErrors = 10

// turnErrors contains the errors that the agent CLI has reported since the model last worked. One
// of them may end the turn.
type turnErrors struct {
	mu   sync.Mutex // guards list
	list []string
}

// keep adds the errors in the given work to the list. If the model has worked after an error, the
// turn has continued, so keep empties the list.
func (t *turnErrors) keep(w work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, activity := range w.list {
		switch told := activity.Work.(type) {
		case coleo.Problem:
			if !told.Retries {
				t.list = append(t.list, told.Text)
				t.list = t.list[max(0, len(t.list)-maxErrors):] // the last error ends the turn
			}
		case coleo.AssistantText, coleo.Thinking, coleo.ToolCall, coleo.ToolEnd:
			t.list = nil
		}
	}
}

// take returns the errors, and empties the list.
func (t *turnErrors) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.list
	t.list = nil
	return list
}

// noteLimit checks whether the turn has ended at a limit of the model. If so, it stores the limit
// and the outcome in `end`. There must be a proof that the turn has ended, and an error on the
// screen or in the agent CLI's record. Otherwise noteLimit does nothing.
func (a *arm) noteLimit(s coleo.Session, end *coleo.RunEnd) {
	errors := a.errors.take()
	l, ok := s.(coleo.Limiter)
	told := end.Status == coleo.Failed || end.Status == coleo.Idle && len(errors) > 0
	if !ok || !told || end.Outcome == coleo.OutcomeUnproven {
		return
	}
	if end.Limit = l.Limit(errors, a.host.Now()); end.Limit != nil {
		end.Outcome = coleo.OutcomeFailed
	}
}
