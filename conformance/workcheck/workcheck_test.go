package workcheck

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
)

// event returns an event of the run with the id `run`.
func event(t *testing.T, run string, kind coleo.EventKind, payload any) coleo.Event {
	t.Helper()
	raw, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return coleo.Event{Run: run, Kind: kind, Payload: raw}
}

// run returns the events of a run with the prompt "do it". They contain a text, a call of bash, a subagent and
// another text.
func run(t *testing.T) []coleo.Event {
	text := func(s string) coleo.AssistantText {
		return coleo.AssistantText{Block: coleo.Block{Text: s, Done: true}}
	}
	list := []coleo.Event{
		event(t, "r1", coleo.EventRunStart, coleo.Receipt{ID: "r1", Text: "do it"}),
		event(t, "r1", coleo.EventAssistantText, text("I will.")),
		event(t, "r1", coleo.EventToolStart, coleo.ToolCall{ID: "a", Name: "bash"}),
		event(t, "r1", coleo.EventToolStart, coleo.ToolCall{ID: "task__b", Name: "task"}),
		event(t, "r1", coleo.EventSubagentStart, coleo.SubagentStart{ID: "task__b"}),
		event(t, "r1", coleo.EventToolEnd, coleo.ToolEnd{ID: "a", Outcome: coleo.ToolError}),
		event(t, "r1", coleo.EventToolEnd, coleo.ToolEnd{ID: "task__b", Outcome: coleo.ToolSuccess}),
		event(t, "r1", coleo.EventSubagentEnd, coleo.SubagentEnd{ID: "task__b", Outcome: coleo.ToolSuccess}),
		event(t, "r1", coleo.EventAssistantText, text("It\nis done.")),
		event(t, "r1", coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle}),
	}
	for i := range list {
		list[i].Seq, list[i].Turn = uint64(i+1), 1
		if i >= 8 {
			list[i].Turn = 2
		}
	}
	return list
}

// judge compares the events with what the model did in the run above. It returns the errors as text.
func judge(events []coleo.Event) string {
	made := []Made{{Made: modelserver.Made{ID: "a", Name: "bash"}, Prompt: "do it", Outcome: coleo.ToolError},
		{Made: modelserver.Made{ID: "b", Name: "task"}, Prompt: "do it", Outcome: coleo.ToolSuccess}}
	log, err := Read(events)
	sent := []Sent{{Prompt: "do it", Text: "I will."}, {Prompt: "do it", Text: "It is done."}}
	all := []error{err, log.CheckCalls(made), log.CheckTexts(sent),
		log.CheckSubagents(made[1:], []Made{{Made: modelserver.Made{ID: "c", Name: "bash"}}})}
	var out []string
	for _, err := range all {
		if err != nil {
			out = append(out, err.Error())
		}
	}
	return strings.Join(out, "\n")
}

func TestTheEventsAreComparedWithTheRecord(t *testing.T) {
	t.Parallel()
	if wrong := judge(run(t)); wrong != "" {
		t.Errorf("a sound run is judged: %s", wrong)
	}
	late := func(l []coleo.Event) []coleo.Event {
		end := l[5]
		return append(slices.Delete(l, 5, 6), end)
	}
	for name, c := range map[string]struct {
		change func([]coleo.Event) []coleo.Event
		says   string
	}{
		"no start":     {func(l []coleo.Event) []coleo.Event { return l[1:] }, "is reported before its run r1 begins"},
		"no end":       {func(l []coleo.Event) []coleo.Event { return l[:9] }, "run r1 has no end"},
		"a late end":   {late, "is reported after the end of its run r1"},
		"an open call": {func(l []coleo.Event) []coleo.Event { return slices.Delete(l, 5, 6) }, "and they are [a]"},
		"two starts":   {func(l []coleo.Event) []coleo.Event { return slices.Insert(l, 3, l[2]) }, "begins twice"},
		"two ends":     {func(l []coleo.Event) []coleo.Event { return slices.Insert(l, 6, l[5]) }, "ends twice"},
		"no call":      {func(l []coleo.Event) []coleo.Event { return slices.Delete(l, 2, 3) }, "ends, and has not begun"},
		"a text less": {func(l []coleo.Event) []coleo.Event { return slices.Delete(l, 1, 2) },
			`"It is done." is not reported`},
		"a text twice": {func(l []coleo.Event) []coleo.Event { return slices.Insert(l, 1, l[1]) },
			`reported as "I will.I will."`},
		"another order": {func(l []coleo.Event) []coleo.Event { l[1], l[8] = l[8], l[1]; return l }, "text 1 is reported as"},
		"no subagent": {func(l []coleo.Event) []coleo.Event { return slices.Delete(l, 4, 5) },
			"0 subagents begin and 1 end"},
		"an endless one": {func(l []coleo.Event) []coleo.Event { return slices.Delete(l, 7, 8) },
			"1 subagents begin and 0 end"},
		"another run": {func(l []coleo.Event) []coleo.Event {
			return append([]coleo.Event{event(t, "r0", coleo.EventRunStart, coleo.Receipt{ID: "r0", Text: "do it"}),
				event(t, "r0", coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle}),
				event(t, "r1", coleo.EventRunStart, coleo.Receipt{ID: "r1", Text: "do something else"})}, l[1:]...)
		}, `is reported in the run of "do something else", and belongs to "do it"`},
		"a subagent's call": {func(l []coleo.Event) []coleo.Event {
			return slices.Insert(l, 5, event(t, "r1", coleo.EventToolStart, coleo.ToolCall{ID: "c", Name: "bash"}),
				event(t, "r1", coleo.EventToolEnd, coleo.ToolEnd{ID: "c", Outcome: coleo.ToolSuccess}))
		}, "a subagent has made it"},
		"a call outside of runs": {func(l []coleo.Event) []coleo.Event {
			return append(l, event(t, "", coleo.EventToolStart, coleo.ToolCall{ID: "d", Name: "bash"}))
		}, "belongs to no run"},
	} {
		if wrong := judge(c.change(run(t))); !strings.Contains(wrong, c.says) {
			t.Errorf("%s: the judgement is %q, want %q", name, wrong, c.says)
		}
	}
}

// An agent CLI may drop a call and ask the model again. Such a call has no end, but the end of the run must name
// it.
func TestACallThatWasNeverCarriedOutHasNoEnd(t *testing.T) {
	t.Parallel()
	events := slices.Delete(run(t), 5, 6)
	events[len(events)-1] = event(t, "r1", coleo.EventRunEnd, coleo.RunEnd{Status: coleo.Idle, Orphans: []string{"a"}})
	log, err := Read(events)
	if err != nil {
		t.Fatal(err)
	}
	made := []Made{{Made: modelserver.Made{ID: "a", Name: "bash"}, Prompt: "do it"},
		{Made: modelserver.Made{ID: "b", Name: "task"}, Prompt: "do it", Outcome: coleo.ToolSuccess}}
	if err := log.CheckCalls(made); err != nil {
		t.Error(err)
	}
	made[0].Outcome = coleo.ToolError
	if err := log.CheckCalls(made); err == nil {
		t.Error("a call without an end passes as one that failed")
	}
	if _, err := WithOutcomes(made, nil); err == nil {
		t.Error("calls that no prompt leads to pass")
	}
}

// A turn that the agent CLI begins by itself is a run of its own. Its text must be neither in the run before nor in
// the run after.
func TestTheTextOfATurnThatBeganByItselfIsInARunOfItsOwn(t *testing.T) {
	t.Parallel()
	const notice = "<task-notification>\nIt is done.\n</task-notification>"
	sent := []Sent{{Prompt: "start it", Text: "It is started."}, {Prompt: notice, Notice: true, Text: "I have read it."},
		{Prompt: "say next", Text: "next"}}
	began := func(id, prompt string, by coleo.Origin) coleo.Event {
		return event(t, id, coleo.EventRunStart, coleo.Receipt{ID: id, Text: prompt, Origin: by})
	}
	for _, tt := range []struct {
		name, run string
		by        coleo.Origin
		sound     bool
	}{
		{"its own", "self", coleo.OriginSelf, true},
		{"the run before", "first", "", false},
		{"the run after", "next", "", false},
		{"a run of its prompt that Coleo has begun", "self", "", false},
	} {
		events := []coleo.Event{began("first", "start it", ""), began("next", "say next", "")}
		if tt.run == "self" {
			events = append(events, began("self", notice, tt.by))
		}
		for i, s := range sent {
			e := event(t, []string{"first", tt.run, "next"}[i], coleo.EventAssistantText,
				coleo.AssistantText{Block: coleo.Block{Text: s.Text, Done: true}})
			e.Turn = i + 1
			events = append(events, e)
		}
		log, _ := Read(events) // the events contain no ends of runs
		if err := log.CheckTexts(sent); (err == nil) != tt.sound {
			t.Errorf("in %s: the judgement is %v", tt.name, err)
		}
	}
}
