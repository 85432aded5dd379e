package conformance

import (
	"context"
	"iter"
	"strings"
	"sync"

	"coleo.dev"
)

// misreporting returns mutants (harnesses with one fault) whose events report other work than the model's.
// Their sessions also read the notes of the fake agent CLI, which are its record.
func misreporting() []mutant {
	list := []mutant{
		{name: "reports no end of a call that fails", breaks: changesWork(withoutEndsOf(coleo.ToolError)),
			fails: []string{"tool_events"}, says: "(shell) is not reported"},
		{name: "reports a denial as a success", breaks: changesWork(succeeds(coleo.ToolDenied)),
			fails: []string{"tool_events"}, says: "is reported as success, and was denied"},
		{name: "reports an error as a success", breaks: changesWork(succeeds(coleo.ToolError)),
			fails: []string{"tool_events"}, says: "is reported as success, and was error"},
		{name: "reports each end twice", breaks: changesWork(endsTwice),
			fails: []string{"tool_events"}, says: "ends twice"},
		{name: "makes up the ids of calls", breaks: changesWork(otherIDs),
			fails: []string{"tool_events"}, says: "its id is reported as"},
		{name: "reports no call that is malformed", breaks: func(s live) live { return changedWork{s, withoutMalformed()} },
			fails: []string{"tool_events"}, says: "call 6: its id is reported as"},
		{name: "reports calls in a run of their own", breaks: changesWork(unprompted),
			fails: []string{"tool_events", "text_blocks"}, says: "belongs to no run"},
		{name: "reports each text twice", breaks: changesWork(textsTwice),
			fails: []string{"text_blocks"}, says: "the model has sent"},
		{name: "reports the first words of a text", breaks: changesWork(firstWords),
			fails: []string{"text_blocks"}, says: "the model has sent"},
		{name: "reports no text that comes before a call", breaks: changesWork(withoutAnnouncements),
			fails: []string{"text_blocks"}, says: "the model has sent"},
		{name: "reports the prompt as a text", breaks: changesWork(promptsAsTexts),
			fails: []string{"text_blocks"}, says: "the model has sent"},
		{name: "reports what a subagent does", edits: word("mingling"),
			fails: []string{"subagent_events"}, says: "and a subagent has made it"},
		{name: "takes a subagent for a tool", breaks: changesWork(subagentsAsTools),
			fails: []string{"subagent_events"}, says: "0 subagents begin and 0 end"},
		{name: "reports no end of a subagent", breaks: changesWork(withoutEndsOf(coleo.ToolSuccess)),
			fails: []string{"subagent_events"}, says: "1 subagents begin and 0 end"},
	}
	for i := range list {
		list[i].recorded = true
		list[i].passes = []string{"simple_prompt"}
	}
	return list
}

// changedWork changes the work that a session reports.
type changedWork struct {
	live
	how func(coleo.Activity) []coleo.Activity
}

func changesWork(how func(coleo.Activity) []coleo.Activity) breaks {
	return func(s live) live { return changedWork{s, how} }
}

func (s changedWork) Changes(ctx context.Context, from coleo.Cursor) iter.Seq2[coleo.Change, error] {
	return func(yield func(coleo.Change, error) bool) {
		for change, err := range s.live.Changes(ctx, from) {
			var work []coleo.Activity
			for _, a := range change.Work {
				work = append(work, s.how(a)...)
			}
			change.Work = work
			if !yield(change, err) {
				return
			}
		}
	}
}

// newActivity returns a copy of the activity with other work and a new key.
func newActivity(a coleo.Activity, w coleo.Work) coleo.Activity {
	a.Work, a.Key = w, a.Key+" again"
	return a
}

func withoutEndsOf(outcome coleo.ToolOutcome) func(coleo.Activity) []coleo.Activity {
	return func(a coleo.Activity) []coleo.Activity {
		if end, ok := a.Work.(coleo.ToolEnd); ok && end.Outcome == outcome {
			return nil
		}
		return []coleo.Activity{a}
	}
}

func succeeds(outcome coleo.ToolOutcome) func(coleo.Activity) []coleo.Activity {
	return func(a coleo.Activity) []coleo.Activity {
		if end, ok := a.Work.(coleo.ToolEnd); ok && end.Outcome == outcome {
			end.Outcome = coleo.ToolSuccess
			a.Work = end
		}
		return []coleo.Activity{a}
	}
}

func endsTwice(a coleo.Activity) []coleo.Activity {
	if end, ok := a.Work.(coleo.ToolEnd); ok {
		return []coleo.Activity{a, newActivity(a, end)}
	}
	return []coleo.Activity{a}
}

func otherIDs(a coleo.Activity) []coleo.Activity {
	switch w := a.Work.(type) {
	case coleo.ToolCall:
		w.ID = "made-up-" + w.ID
		a.Work = w
	case coleo.ToolEnd:
		w.ID = "made-up-" + w.ID
		a.Work = w
	}
	return []coleo.Activity{a}
}

// withoutMalformed omits calls whose arguments are not JSON, and their ends.
func withoutMalformed() func(coleo.Activity) []coleo.Activity {
	var mu sync.Mutex
	malformed := map[string]bool{}
	return func(a coleo.Activity) []coleo.Activity {
		mu.Lock()
		defer mu.Unlock()
		switch w := a.Work.(type) {
		case coleo.ToolCall:
			if malformed[w.ID] = w.Malformed != nil; w.Malformed != nil {
				return nil
			}
		case coleo.ToolEnd:
			if malformed[w.ID] {
				return nil
			}
		}
		return []coleo.Activity{a}
	}
}

// unprompted omits the prompt to which the work belongs.
func unprompted(a coleo.Activity) []coleo.Activity {
	if _, ok := a.Work.(coleo.Prompted); ok {
		return nil
	}
	return []coleo.Activity{a}
}

func textsTwice(a coleo.Activity) []coleo.Activity {
	if text, ok := a.Work.(coleo.AssistantText); ok {
		return []coleo.Activity{a, newActivity(a, text)}
	}
	return []coleo.Activity{a}
}

func firstWords(a coleo.Activity) []coleo.Activity {
	if text, ok := a.Work.(coleo.AssistantText); ok {
		words := strings.Fields(text.Text)
		text.Text = strings.Join(words[:min(len(words), 20)], " ")
		a.Work = text
	}
	return []coleo.Activity{a}
}

// withoutAnnouncements omits the text that the scripted model sends before it calls a tool.
func withoutAnnouncements(a coleo.Activity) []coleo.Activity {
	if text, ok := a.Work.(coleo.AssistantText); ok && strings.HasSuffix(text.Text, "I will run it.") {
		return nil
	}
	return []coleo.Activity{a}
}

func promptsAsTexts(a coleo.Activity) []coleo.Activity {
	if p, ok := a.Work.(coleo.Prompted); ok {
		return []coleo.Activity{a, newActivity(a, coleo.AssistantText{Block: coleo.Block{Text: p.Text, Done: true}})}
	}
	return []coleo.Activity{a}
}

func subagentsAsTools(a coleo.Activity) []coleo.Activity {
	if c, ok := a.Work.(coleo.ToolCall); ok {
		c.Kind = coleo.ToolOther
		a.Work = c
	}
	return []coleo.Activity{a}
}
