package trace

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// open contains one open run, r1, with the prompt "do it".
var open = Runs{Open: []coleo.Receipt{{ID: "r1", Text: "do it"}}}

// at gives activities the positions 1, 2, 3 and so on.
func at(works ...coleo.Work) []coleo.Activity {
	var out []coleo.Activity
	for i, w := range works {
		out = append(out, coleo.Activity{Work: w, Source: coleo.SourceTranscript, Position: int64(i + 1)})
	}
	return out
}

func text(s string) coleo.Work { return coleo.AssistantText{Block: coleo.Block{Text: s, Done: true}} }

// told returns one line for each event: run, turn, kind, and the id or the text.
func told(t *testing.T, events []coleo.Event) []string {
	t.Helper()
	var out []string
	for _, e := range events {
		var p struct {
			ID, Text, Path, Type string
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %d %s %s", e.Run, e.Turn, e.Kind, p.ID+p.Text+p.Path+p.Type)))
	}
	return out
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the events are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestR4WorkIsToldWithItsRunAndItsTurn(t *testing.T) {
	t.Parallel()
	_, events, _ := State{}.Take("f", at(
		coleo.Prompted{Text: "do it"},
		coleo.Thinking{Block: coleo.Block{ID: "think", Done: true}},
		text("I will."),
		coleo.ToolCall{ID: "a", Kind: coleo.ToolEdit, Files: []string{"x.go"}},
		coleo.ToolCall{ID: "b", Kind: coleo.ToolSubagent, Arguments: json.RawMessage(`{"subagent_type":"Explore"}`)},
		coleo.ToolEnd{ID: "a", Outcome: coleo.ToolSuccess},
		coleo.ToolEnd{ID: "b", Outcome: coleo.ToolDenied},
		text("Done."),
	), open)
	same(t, told(t, events),
		"r1 1 turn",
		"r1 1 thinking think",
		"r1 1 assistant_text text-1-1I will.",
		"r1 1 tool_call_start a",
		"r1 1 tool_call_start b",
		"r1 1 subagent_start bExplore",
		"r1 1 tool_call_end a",
		"r1 1 file_changed x.go",
		"r1 1 tool_call_end b",
		"r1 1 subagent_end b",
		"r1 2 turn",
		"r1 2 assistant_text text-2-1Done.",
	)
}

// Claude Code writes the result of a tool before the next call of the same reply. Both calls must
// still belong to one turn.
func TestAReplyWithAnIDIsOneTurn(t *testing.T) {
	t.Parallel()
	list := at(coleo.Prompted{Text: "do it"}, coleo.ToolCall{ID: "a"}, coleo.ToolEnd{ID: "a"}, coleo.ToolCall{ID: "b"},
		text("next"))
	for i, reply := range []string{"", "m1", "", "m1", "m2"} {
		list[i].Reply = reply
	}
	_, events, _ := State{}.Take("f", list, open)
	same(t, told(t, events), "r1 1 turn", "r1 1 tool_call_start a", "r1 1 tool_call_end a", "r1 1 tool_call_start b",
		"r1 2 turn", "r1 2 assistant_text text-2-1next")
}

func TestR3AnUnfinishedCallIsAnOrphan(t *testing.T) {
	t.Parallel()
	s, _, _ := State{}.Take("f", at(coleo.Prompted{Text: "do it"}, coleo.ToolCall{ID: "a"}, coleo.ToolCall{ID: "b"},
		coleo.ToolEnd{ID: "a"}), open)
	if got := s.Orphans("r1"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("the orphans are %q, want b", got)
	}
	s = s.End("r1")
	_, events, _ := s.Take("f", at(nil, nil, nil, nil, text("late"))[4:], open)
	same(t, told(t, events), "0 turn", "0 assistant_text text-1-1late")
}

// A prompt can be in the record before Coleo has proved its arrival. Its run has then not begun yet. The work
// that follows in the record must wait for this run.
func TestWorkWaitsForItsRunToBegin(t *testing.T) {
	t.Parallel()
	list := at(coleo.Prompted{Text: "first"}, text("one"), coleo.Prompted{Text: "second\nprompt"}, text("two"))
	runs := Runs{Open: []coleo.Receipt{{ID: "r1", Text: "first"}},
		Intended: []coleo.Receipt{{ID: "r2", Text: "second prompt"}}}
	s, events, left := State{}.Take("f", list, runs)
	same(t, told(t, events), "r1 1 turn", "r1 1 assistant_text text-1-1one")
	if len(left) != 2 {
		t.Fatalf("%d activities are left, want 2", len(left))
	}
	runs = Runs{Open: []coleo.Receipt{{ID: "r1", Text: "first"}, {ID: "r2", Text: "second prompt"}}}
	_, events, left = s.Take("f", left, runs)
	same(t, told(t, events), "r2 1 turn", "r2 1 assistant_text text-1-1two")
	if len(left) != 0 {
		t.Errorf("%d activities are left, want none", len(left))
	}
}

// If the same prompt is sent twice, the second one must belong to the second run.
func TestThePromptSaysWhichRunTheWorkBelongsTo(t *testing.T) {
	t.Parallel()
	runs := Runs{Open: []coleo.Receipt{{ID: "r1", Text: "go on"}, {ID: "r2", Text: "go on"}}}
	for _, c := range []struct{ text, run, want string }{
		{"go on", "", "r1"},
		{"go on", "r1", "r2"},
		{"<context>\ngo  on\n</context>", "r1", "r2"},
		{"typed by hand", "r1", "r1"},
		{"typed by hand", "", "r2"},
	} {
		if got, wait := runs.RunOf(c.text, c.run); got != c.want || wait {
			t.Errorf("RunOf(%q, %q) = %q, %v, want %q", c.text, c.run, got, wait, c.want)
		}
	}
	if got, wait := (Runs{}).RunOf("go on", "gone"); got != "" || wait {
		t.Errorf("without a run, RunOf = %q, %v", got, wait)
	}
	sending := Runs{Intended: []coleo.Receipt{{ID: "r3", Text: "other words"}}}
	if _, wait := sending.RunOf("go on", ""); !wait {
		t.Error("a prompt is on its way, and the work behind it does not wait")
	}
}

// The record is read in random pieces, and a host agent restarts at random times and reads it from
// its beginning. The events must be the same as for one read of the whole record.
func TestNothingIsToldTwice(t *testing.T) {
	t.Parallel()
	list := at(coleo.Prompted{Text: "do it"}, text("a"), coleo.ToolCall{ID: "a"}, coleo.ToolCall{ID: "b"},
		coleo.ToolEnd{ID: "b"}, coleo.ToolEnd{ID: "a"}, text("b"), coleo.ReplyUsage{})
	list[3].Position, list[3].Key = list[2].Position, "1" // both activities are in one line
	whole, want, _ := State{}.Take("f", list, open)
	for seed := range uint64(200) {
		draw := rand.New(rand.NewPCG(seed, 0))
		var s State
		var got []coleo.Event
		for read := 0; read < len(list); {
			if draw.IntN(3) == 0 {
				read = 0 // a new host agent begins at the beginning
				s = stored(t, s)
			}
			n := min(len(list)-read, 1+draw.IntN(4))
			next, events, left := s.Take("f", list[read:read+n], open)
			if len(left) > 0 {
				t.Fatal("nothing is to wait for")
			}
			s, got, read = next, append(got, events...), read+n
		}
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(stored(t, s), stored(t, whole)) {
			t.Fatalf("seed %d: the events are\n%s\nwant\n%s", seed, told(t, got), told(t, want))
		}
	}
}

// stored returns the State after it was written to the database and read again.
func stored(t *testing.T, s State) (out State) {
	t.Helper()
	raw, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An agent CLI changes to a new conversation and then back to the first one. The first record is then read again from
// its beginning. Activities that were read before must yield no event.
func TestEachRecordHasItsOwnPlace(t *testing.T) {
	t.Parallel()
	first, second := at(text("a"), text("b")), at(text("c"))
	s, events, _ := State{}.Take("first", first[:1], Runs{})
	for _, r := range []struct {
		name string
		list []coleo.Activity
	}{{"second", second}, {"first", first}} {
		var more []coleo.Event
		s, more, _ = s.Take(r.name, r.list, Runs{})
		events = append(events, more...)
	}
	var texts []string
	for _, line := range told(t, events) {
		if strings.Contains(line, "assistant_text") {
			texts = append(texts, line[len(line)-1:])
		}
	}
	if got := strings.Join(texts, ""); got != "acb" {
		t.Errorf("the texts are %q, want acb", got)
	}
}

// The record reports the tokens of a reply, with the model, after the reply. The turn begins earlier, and the
// State may still have the model of an earlier start. So the turn must take the model from the reply itself.
func TestATurnTellsTheModelOfItsReply(t *testing.T) {
	t.Parallel()
	list := at(coleo.Prompted{Text: "do it"}, text("one"), coleo.ReplyUsage{Model: "new"}, text("two"))
	list[1].Reply, list[1].Model, list[2].Reply, list[3].Reply = "m1", "new", "m1", "m2"
	_, events, _ := State{Model: "old"}.Take("f", list, open)
	var models []string
	for _, e := range events {
		var turn coleo.Turn
		if e.Kind == coleo.EventTurn && json.Unmarshal(e.Payload, &turn) == nil {
			models = append(models, turn.Model)
		}
	}
	if !slices.Equal(models, []string{"new", "new"}) {
		t.Errorf("the turns have the models %q", models)
	}
}
