package armrecord

import (
	"slices"

	"coleo.dev"
	"coleo.dev/store"
)

// OnScreen is the source of an answer that was read from the screen. Such an answer lacks the lines
// that have scrolled off the top, and its long lines are cut.
const OnScreen = "screen"

// FromRecord is the source of an answer that was read from the agent CLI's own record.
const FromRecord = "transcript"

// OpenRuns returns the open runs, in order.
func OpenRuns(r store.ArmRecord) []coleo.Receipt {
	open := slices.Clone(r.Earlier)
	if r.Run != nil {
		open = append(open, *r.Run)
	}
	return open
}

// Finishes reports whether the end of a run finishes the work of its arm. It returns false for a
// compaction, and for a turn whose work continues in the background.
func Finishes(r store.ArmRecord, run string, end coleo.RunEnd) bool {
	return r.Run != nil && r.Run.ID == run && !r.Run.Compact && end.Background == "" &&
		outcomeOf(*r.Run, end) == coleo.OutcomeFinished
}

// IsDone reports whether an arm has nothing left to do and must end. An arm with a paused queue is
// not done, and neither is a parked arm.
func IsDone(r store.ArmRecord) bool {
	return r.Spec.EndWhenDone && r.Run == nil && len(r.Intended) == 0 && Queue(&r).State() == nil
}

// EndBy returns the end of a run according to the arm's reading at that time. It leaves out the
// answer.
func EndBy(reading coleo.Reading) coleo.RunEnd {
	end := coleo.RunEnd{Status: reading.State, Background: reading.Background}
	if reading.Rule == coleo.RuleUnprovenIdle {
		end.Outcome = coleo.OutcomeUnproven
	}
	return end
}

// ShownWork returns the events for an answer that only the screen shows. It returns nil if the
// agent CLI's record contains the run's texts.
func ShownWork(r store.ArmRecord, run string, end coleo.RunEnd, noModel bool) []coleo.Event {
	text, cut := coleo.CutWork(end.Answer)
	switch {
	case noModel:
		return []coleo.Event{ScreenWork(r.ID, run, coleo.ShellOutput{ID: run, Output: text, Truncated: cut})}
	case end.Answer == "" || len(r.Trace.Places) > 0:
		return nil
	}
	return []coleo.Event{ScreenWork(r.ID, run, coleo.AssistantText{
		Block: coleo.Block{ID: "answer", Text: text, Done: true, Truncated: cut}})}
}

// EndAllRuns ends all open runs after the session of an arm has ended, and marks the intended
// prompts as lost. It removes both from the record, and returns the events.
func EndAllRuns(r *store.ArmRecord, reading coleo.Reading) []coleo.Event {
	var events []coleo.Event
	if r.Run != nil {
		events = EndRuns(r, r.Run.ID, coleo.RunEnd{Status: reading.State}, nil)
	}
	intended := r.Intended
	r.Intended = nil
	for _, p := range intended {
		events = append(events, LosePrompt(r, p, reading)...)
	}
	return events
}

// EndRuns removes a run and all earlier runs from a record, and returns the events that end them.
// The caller passes the end of the given run, and the answers of the earlier runs by run id. If the
// end has no outcome, or if the given run was interrupted, EndRuns derives the outcome from the
// status. It returns nil if the given run is not open.
func EndRuns(r *store.ArmRecord, run string, end coleo.RunEnd, answers map[string]coleo.AssistantText) []coleo.Event {
	open := OpenRuns(*r)
	last := slices.IndexFunc(open, func(c coleo.Receipt) bool { return c.ID == run })
	if last < 0 {
		return nil
	}
	r.Earlier, r.Run = nil, nil
	if later := open[last+1:]; len(later) > 0 { // runs that began while the answer was read stay open
		r.Run = &later[len(later)-1]
		r.Earlier = append(r.Earlier, later[:len(later)-1]...)
	}
	var events []coleo.Event
	for _, c := range open[:last] {
		earlier := endOfEarlier(c, end.Status, answers)
		earlier.Orphans = r.Trace.Orphans(c.ID)
		r.Trace = r.Trace.End(c.ID)
		events = append(events, checkEvents(r, c, &earlier)...)
		events = append(events, RunEvent(r.ID, c.ID, coleo.EventRunEnd, earlier))
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
	events = append(events, RunEvent(r.ID, run, coleo.EventRunEnd, end))
	if r.Run != nil {
		return events // another turn has begun, so the arm does not wait for the end of the limit
	}
	return append(events, Park(r, open[last], end, replied)...)
}

// endOfEarlier returns the end of a run whose turn has ended together with the turn of a later
// prompt.
func endOfEarlier(c coleo.Receipt, status coleo.State, answers map[string]coleo.AssistantText) coleo.RunEnd {
	end := coleo.RunEnd{Status: status, Outcome: coleo.OutcomeOf(status, c.Interrupted), Compact: c.Compact}
	text, found := answers[c.ID]
	if !found {
		end.Validated = resultWithoutAnswer(c)
		return end
	}
	end.Answer, end.Source = text.Text, FromRecord
	end.Whole = end.Outcome == coleo.OutcomeFinished && !text.Truncated
	CheckAnswer(c, &end)
	return end
}

// outcomeOf returns the outcome of a run. If the end of the run has none, outcomeOf derives it from
// the status. A turn that a person has interrupted never counts as finished.
func outcomeOf(run coleo.Receipt, end coleo.RunEnd) coleo.Outcome {
	if end.Outcome == "" || run.Interrupted {
		return coleo.OutcomeOf(end.Status, run.Interrupted)
	}
	return end.Outcome
}

// isWhole reports whether the answer of a run is certainly complete, because it comes from the
// agent CLI's own report.
func isWhole(end coleo.RunEnd) bool { return end.Source != "" && end.Source != OnScreen }
