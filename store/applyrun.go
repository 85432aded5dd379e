package store

import (
	"unicode/utf8"

	"coleo.dev"
)

// ApplyRun returns the row of a run after an event. `run` is the row before the event, or the zero Run if the
// run has no row. ApplyRun has no side effects, so a replayed log gives the same rows. It does not set
// ArmName and Harness, because these come from the arm's row.
//
// If the payload of an event is unreadable, ApplyRun only counts the event.
func ApplyRun(run coleo.Run, e coleo.Event) coleo.Run {
	if run.ID == "" {
		run = coleo.Run{ID: e.Run, Arm: e.Arm, Host: e.Host}
	}
	if run.Parent == "" {
		run.Parent = e.Parent
	}
	run.Events++
	run.Turns = max(run.Turns, e.Turn)
	switch e.Kind {
	case coleo.EventRunStart:
		return applyRunStart(run, e)
	case coleo.EventRunEnd:
		return applyRunResult(run, e)
	case coleo.EventOutputValidated:
		return applyAnswerCheck(run, e)
	case coleo.EventTurn:
		if t, ok := payload[coleo.Turn](e); ok && t.Model != "" {
			run.Model = t.Model
		}
	case coleo.EventToolStart:
		run.Calls++
	case coleo.EventToolEnd:
		return applyToolEnd(run, e)
	case coleo.EventFileChanged:
		run.Files++
	case coleo.EventUsage:
		return applyUsage(run, e)
	default: // no field of the row depends on this event
	}
	return run
}

func applyRunStart(run coleo.Run, e coleo.Event) coleo.Run {
	r, ok := payload[coleo.Receipt](e)
	if !ok {
		return run
	}
	run.Started, run.Origin = e.Time, r.Origin
	run.Compact = run.Compact || r.Compact
	run.Prompt, run.PromptCut = cutText(r.Text)
	run.SpecHash = r.SpecHash
	if r.Check != nil && len(r.Check.Schema) > 0 {
		run.AnswerCheck, run.RetryOf = coleo.AnswerPending, r.Check.RetryOf
	}
	return run
}

func applyAnswerCheck(run coleo.Run, e coleo.Event) coleo.Run {
	v, ok := payload[coleo.Validated](e)
	switch {
	case !ok:
	case v.OK:
		run.AnswerCheck = coleo.AnswerFits
	default:
		run.AnswerCheck, run.CheckFault = coleo.AnswerUnfit, v.Line()
	}
	return run
}

func applyRunResult(run coleo.Run, e coleo.Event) coleo.Run {
	end, err := coleo.DecodeRunEnd(e)
	if err != nil {
		return run
	}
	if end.Outcome == coleo.OutcomeUnproven && !run.Ended.IsZero() {
		return run // a host agent whose database was put back from a backup has lost the first end
	}
	run.Ended, run.Status, run.Outcome, run.Whole = e.Time, end.Status, end.Outcome, end.Whole
	run.Compact = run.Compact || end.Compact
	run.Answer, run.AnswerCut = cutText(end.Answer)
	run.Orphans, run.Retry = end.Orphans, end.Retry
	if run.AnswerCheck == coleo.AnswerPending {
		run.AnswerCheck = coleo.AnswerUnchecked
	}
	if len(run.Orphans) == 0 {
		run.Orphans = nil
	}
	return run
}

func applyToolEnd(run coleo.Run, e coleo.Event) coleo.Run {
	end, _ := payload[struct {
		Outcome coleo.ToolOutcome `json:"outcome"`
	}](e)
	switch end.Outcome {
	case coleo.ToolDenied:
		run.Denied++
	case coleo.ToolError:
		run.Failed++
	case coleo.ToolSuccess:
	}
	return run
}

func applyUsage(run coleo.Run, e coleo.Event) coleo.Run {
	u, ok := payload[coleo.ReplyUsage](e)
	if !ok {
		return run
	}
	sum := &run.Usage
	sum.Input, sum.Cached, sum.Written = sum.Input+u.Input, sum.Cached+u.Cached, sum.Written+u.Written
	sum.Output, sum.Reasoning = sum.Output+u.Output, sum.Reasoning+u.Reasoning
	sum.Cost += u.Cost
	if u.Model != "" && !u.Subagent {
		run.Model = u.Model
	}
	return run
}

// cutText returns at most the first coleo.MaxRunText bytes of a text, without splitting a
// character. It also reports whether the text was cut.
func cutText(text string) (string, bool) {
	if len(text) <= coleo.MaxRunText {
		return text, false
	}
	end := coleo.MaxRunText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], true
}
