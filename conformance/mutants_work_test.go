package conformance

import (
	"context"
	"iter"
	"strings"
	"sync"

	"coleo.dev"
)

// mistelling are the mutants whose events tell other work than the model's. Their sessions
// read the notes of the fake.
func mistelling() []mutant {
	list := []mutant{
		{name: "tells no end of a call that fails", breaks: retells(withoutEndsOf(coleo.ToolError)),
			fails: []string{"tool_events"}, says: "(shell) is not told"},
		{name: "tells a denial as a success", breaks: retells(succeeds(coleo.ToolDenied)),
			fails: []string{"tool_events"}, says: "is told as success, and was denied"},
		{name: "tells an error as a success", breaks: retells(succeeds(coleo.ToolError)),
			fails: []string{"tool_events"}, says: "is told as success, and was error"},
		{name: "tells each end twice", breaks: retells(endsTwice),
			fails: []string{"tool_events"}, says: "ends twice"},
		{name: "makes up the ids of calls", breaks: retells(otherIDs),
			fails: []string{"tool_events"}, says: "its id is told as"},
		{name: "tells no call that is malformed", breaks: func(s live) live { return retelling{s, withoutMalformed()} },
			fails: []string{"tool_events"}, says: "call 6: its id is told as"},
		{name: "tells calls in a run of their own", breaks: retells(unprompted),
			fails: []string{"tool_events", "text_blocks"}, says: "belongs to no run"},
		{name: "tells each text twice", breaks: retells(textsTwice),
			fails: []string{"text_blocks"}, says: "the model has sent"},
		{name: "tells the first words of a text", breaks: retells(firstWords),
			fails: []string{"text_blocks"}, says: "the model has sent"},
		{name: "tells no text that comes before a call", breaks: retells(withoutAnnouncements),
			fails: []string{"text_blocks"}, says: "the model has sent"},
		{name: "tells the prompt as a text", breaks: retells(promptsAsTexts),
			fails: []string{"text_blocks"}, says: "the model has sent"},
		{name: "tells what a subagent does", edits: word("mingling"),
			fails: []string{"subagent_events"}, says: "and a subagent has made it"},
		{name: "takes a subagent for a tool", breaks: retells(subagentsAsTools),
			fails: []string{"subagent_events"}, says: "0 subagents begin and 0 end"},
		{name: "tells no end of a subagent", breaks: retells(withoutEndsOf(coleo.ToolSuccess)),
			fails: []string{"subagent_events"}, says: "1 subagents begin and 0 end"},
	}
	for i := range list {
		list[i].recorded = true
		list[i].passes = []string{"simple_prompt"}
	}
	return list
}

// retelling changes the work that a session tells.
type retelling struct {
	live
	how func(coleo.Activity) []coleo.Activity
}

func retells(how func(coleo.Activity) []coleo.Activity) breaks {
	return func(s live) live { return retelling{s, how} }
}

func (s retelling) Changes(ctx context.Context, from coleo.Cursor) iter.Seq2[coleo.Change, error] {
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

// again returns the activity once more, as one of its own.
func again(a coleo.Activity, w coleo.Work) coleo.Activity {
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
		return []coleo.Activity{a, again(a, end)}
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

// withoutMalformed leaves out calls with arguments that are not JSON, and their ends.
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

// unprompted does not tell which prompt the work belongs to.
func unprompted(a coleo.Activity) []coleo.Activity {
	if _, ok := a.Work.(coleo.Prompted); ok {
		return nil
	}
	return []coleo.Activity{a}
}

func textsTwice(a coleo.Activity) []coleo.Activity {
	if text, ok := a.Work.(coleo.AssistantText); ok {
		return []coleo.Activity{a, again(a, text)}
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

// withoutAnnouncements leaves out what the scripted model says before it calls a tool.
func withoutAnnouncements(a coleo.Activity) []coleo.Activity {
	if text, ok := a.Work.(coleo.AssistantText); ok && strings.HasSuffix(text.Text, "I will run it.") {
		return nil
	}
	return []coleo.Activity{a}
}

func promptsAsTexts(a coleo.Activity) []coleo.Activity {
	if p, ok := a.Work.(coleo.Prompted); ok {
		return []coleo.Activity{a, again(a, coleo.AssistantText{Block: coleo.Block{Text: p.Text, Done: true}})}
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
