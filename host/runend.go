package host

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/checked"
	"coleo.dev/host/queue"
	"coleo.dev/store"
)

// endRun ends the open runs if the session has become calm after the newest prompt. It gets the
// answer to that prompt from the session. It gets the answers to earlier prompts from the agent
// CLI's record, if the record names these prompts.
func (a *arm) endRun(ctx context.Context, s coleo.Session) {
	run, reading := a.takeSettled()
	if run == nil {
		return
	}
	a.mu.Lock()
	noModel := a.harness != nil && a.harness.Info().NoModel
	a.mu.Unlock()
	end := a.endOf(ctx, s, *run, reading)
	asks, earlier := a.hasOpenSuspension(ctx), a.earlierAnswers(ctx, run.ID)
	done := false
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		shown := shownWork(*r, run.ID, end, noModel) // must come before endRuns, which changes the trace
		finished := finishes(*r, run.ID, end)
		events := append(shown, endRuns(r, run.ID, end, earlier)...)
		if a.done = finished && !asks && isDone(*r); a.done {
			done, r.Desired = true, coleo.DesiredStopped
			events = append(events, runEvent(r.ID, run.ID, coleo.EventInfo, coleo.Remark{Text: doneText}))
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

// takeSettled returns the newest open run and the arm's reading, if the session has become calm
// after the run's prompt. takeSettled first waits until a running interrupt has ended. Only then is
// it certain whether the interrupt typed a key, and so whether the run counts as interrupted.
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
// for the answer.
func (a *arm) endOf(ctx context.Context, s coleo.Session, run coleo.Receipt, reading coleo.Reading) coleo.RunEnd {
	end := endBy(reading)
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
	if call, counted := a.meter.CountConversation(ctx, end.Usage); counted {
		a.host.keepBudgets(ctx, a, call)
	}
	a.noteLimit(s, &end)
	checkAnswer(run, &end)
	return end
}

// dropEarlierAnswer corrects the answer of an interrupted run if the answer comes from the screen.
// The screen can still show the answer of an earlier turn. If the agent CLI's record contains the
// run's texts, the answer is the run's last text in the record, or empty.
func (a *arm) dropEarlierAnswer(ctx context.Context, run coleo.Receipt, end *coleo.RunEnd) {
	if !run.Interrupted || end.Source != onScreen || len(a.recordNow().Trace.Places) == 0 {
		return
	}
	end.Answer, end.Source = "", ""
	e, found, err := a.host.DB.Newest(ctx, a.record.ID, coleo.EventAssistantText)
	if err != nil || !found || e.Run != run.ID {
		return
	}
	if w, err := coleo.DecodeWork(e); err == nil {
		text, _ := w.(coleo.AssistantText)
		end.Answer, end.Source = text.Text, fromRecord
	}
}

// earlierAnswers returns the answers of the open runs before the given one, by run. They come from
// the agent CLI's record. An answer is the last text of its run, if no tool call follows it.
func (a *arm) earlierAnswers(ctx context.Context, run string) map[string]coleo.AssistantText {
	answers := map[string]coleo.AssistantText{}
	for _, c := range openRuns(a.recordNow()) {
		if c.ID == run {
			break
		}
		e, found, err := a.host.DB.NewestOfRun(ctx, a.record.ID, c.ID,
			coleo.EventAssistantText, coleo.EventToolStart, coleo.EventToolEnd)
		if err != nil {
			a.host.Log.Error("look for the answer of a run", "arm", a.name(), "error", err)
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

// endBy returns the end of a run according to the arm's reading at that time. It leaves out the
// answer.
func endBy(reading coleo.Reading) coleo.RunEnd {
	end := coleo.RunEnd{Status: reading.State, Background: reading.Background}
	if reading.Rule == coleo.RuleUnprovenIdle {
		end.Outcome = coleo.OutcomeUnproven
	}
	return end
}

// onScreen is the source of an answer that was read from the screen. Such an answer lacks the lines
// that have scrolled off the top, and its long lines are cut.
const onScreen = "screen"

// fromRecord is the source of an answer that was read from the agent CLI's own record.
const fromRecord = "transcript"

// endRuns removes a run and all earlier runs from a record, and returns the events that end them.
// The caller passes the end of the given run, and the answers of the earlier runs by run id. If the
// end has no outcome, or if the given run was interrupted, endRuns derives the outcome from the
// status. It returns nil if the given run is not open.
func endRuns(r *store.ArmRecord, run string, end coleo.RunEnd, answers map[string]coleo.AssistantText) []coleo.Event {
	open := slices.Clip(r.Earlier)
	if r.Run != nil {
		open = append(open, *r.Run)
	}
	last := slices.IndexFunc(open, func(c coleo.Receipt) bool { return c.ID == run })
	if last < 0 {
		return nil
	}
	r.Earlier, r.Run = nil, nil
	if later := open[last+1:]; len(later) > 0 { // these runs began while the answer was read
		r.Run = &later[len(later)-1]
		r.Earlier = append(r.Earlier, later[:len(later)-1]...)
	}
	var events []coleo.Event
	for _, c := range open[:last] {
		earlier := endEarlier(c, end.Status, answers)
		earlier.Orphans = r.Trace.Orphans(c.ID)
		r.Trace = r.Trace.End(c.ID)
		events = append(events, checkEvents(r, c, &earlier)...)
		events = append(events, runEvent(r.ID, c.ID, coleo.EventRunEnd, earlier))
	}
	end.Outcome = outcomeOf(open[last], end)
	if end.Limit != nil && open[last].Interrupted {
		end.Limit = nil // a person, and not the limit, has stopped the turn
	}
	end.Compact, end.Orphans = open[last].Compact, r.Trace.Orphans(run)
	replied := r.Trace.Run == run && r.Trace.Turn > 0
	r.Trace = r.Trace.End(run)
	end.Whole = end.Outcome == coleo.OutcomeFinished && isWhole(end)
	events = append(events, checkEvents(r, open[last], &end)...)
	events = append(events, runEvent(r.ID, run, coleo.EventRunEnd, end))
	return append(events, park(r, open[last], end, replied)...)
}

// endEarlier returns the end of a run whose turn has ended together with the turn of a later
// prompt.
func endEarlier(c coleo.Receipt, status coleo.State, answers map[string]coleo.AssistantText) coleo.RunEnd {
	end := coleo.RunEnd{Status: status, Outcome: coleo.OutcomeOf(status, c.Interrupted), Compact: c.Compact}
	text, found := answers[c.ID]
	if !found {
		end.Validated = unanswered(c)
		return end
	}
	end.Answer, end.Source = text.Text, fromRecord
	end.Whole = end.Outcome == coleo.OutcomeFinished && !text.Truncated
	checkAnswer(c, &end)
	return end
}

// endAllRuns ends all open runs after the session of an arm has ended, and marks the intended
// prompts as lost. It removes both from the record, and returns the events.
func endAllRuns(r *store.ArmRecord, reading coleo.Reading) []coleo.Event {
	var events []coleo.Event
	if r.Run != nil {
		events = endRuns(r, r.Run.ID, coleo.RunEnd{Status: reading.State}, nil)
	}
	intended := r.Intended
	r.Intended = nil
	for _, p := range intended {
		events = append(events, lostPromptEvents(r, p, reading)...)
	}
	return events
}

// shownWork returns the events for an answer that only the screen shows. It returns nil if the
// agent CLI's record contains the run's texts.
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

// checkAnswer checks the answer of an ending run whose prompt had a schema, and sets end.Validated.
// If Coleo must ask the model again, checkAnswer also sets end.Retry to a random id.
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
// run ended together with the turn of a later prompt, and no record contains its answer. unanswered
// returns nil if the run's prompt had no schema.
func unanswered(run coleo.Receipt) *coleo.Validated {
	if run.Check == nil || len(run.Check.Schema) == 0 {
		return nil
	}
	return &coleo.Validated{Error: "another prompt arrived before the turn had ended, so it is not known which " +
		"answer belongs to this prompt"}
}

// checkEvents returns the events for the check of an ending run. If Coleo must ask the model again,
// checkEvents puts a prompt for that at the head of the queue. The caller writes the events, the
// queue and the end of the run in one write. So a kill of the host agent neither loses nor repeats
// this prompt. If the run has not finished, checkEvents only removes the result of the check from
// end.
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

// isWhole reports whether the answer of a run is certainly complete, because it comes from the
// agent CLI's own report.
func isWhole(end coleo.RunEnd) bool { return end.Source != "" && end.Source != onScreen }

// outcomeOf returns the outcome of a run. If the end of the run has none, outcomeOf derives it from
// the status. A turn that a person has interrupted never counts as finished.
func outcomeOf(run coleo.Receipt, end coleo.RunEnd) coleo.Outcome {
	if end.Outcome == "" || run.Interrupted {
		return coleo.OutcomeOf(end.Status, run.Interrupted)
	}
	return end.Outcome
}

// finishes reports whether the end of a run finishes the work of its arm. It returns false for a
// compaction, and for a turn whose work continues in the background.
func finishes(r store.ArmRecord, run string, end coleo.RunEnd) bool {
	return r.Run != nil && r.Run.ID == run && !r.Run.Compact && end.Background == "" &&
		outcomeOf(*r.Run, end) == coleo.OutcomeFinished
}

// isDone reports whether an arm has nothing left to do and must end. A paused queue and a parking
// count as work.
func isDone(r store.ArmRecord) bool {
	return r.Spec.EndWhenDone && r.Run == nil && len(r.Intended) == 0 && queueOf(&r).State() == nil
}

func screenWork(arm, run string, w coleo.Work) coleo.Event {
	e := runEvent(arm, run, coleo.KindOf(w), w)
	e.Source = coleo.SourceScreen
	return e
}
