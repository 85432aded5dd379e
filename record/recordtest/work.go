package recordtest

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
)

// made is a tool call as the scripted model made it.
type made struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// CheckWork compares the calls in the list with the calls that the scripted model made. The model's
// calls are in a file beside the recording at path: FILE.calls.jsonl for FILE.jsonl.gz.
// wantedOutcomes contains the outcome of each call, in order, or "" for a call without an end.
// lostArguments lists the calls whose arguments the agent CLI changes or drops, by their number
// from 0.
//
// CheckWork also checks that each piece of work is in the list only once and in order, and that the
// work forms a valid graph.
func CheckWork(t *testing.T, path string, list []coleo.Activity, wantedOutcomes []coleo.ToolOutcome,
	lostArguments ...int) {
	t.Helper()
	calls, ends := map[string]coleo.ToolCall{}, map[string]coleo.ToolEnd{}
	var order []string
	usages := map[string]bool{}
	for _, a := range list {
		if at := a.Time; at.IsZero() {
			t.Errorf("%s: %T has no time", path, a.Work)
		}
		switch w := a.Work.(type) {
		case coleo.ToolCall:
			if _, twice := calls[w.ID]; twice || w.ID == "" {
				t.Errorf("%s: the call %q is told twice", path, w.ID)
			}
			calls[w.ID], order = w, append(order, w.ID)
			needReply(t, path, a)
		case coleo.ToolEnd:
			if _, begun := calls[w.ID]; !begun {
				t.Errorf("%s: the call %q has an end and no beginning", path, w.ID)
			}
			if _, twice := ends[w.ID]; twice {
				t.Errorf("%s: the end of the call %q is told twice", path, w.ID)
			}
			ends[w.ID] = w
		case coleo.AssistantText, coleo.Thinking:
			needReply(t, path, a)
		case coleo.ReplyUsage:
			if usages[a.Reply] && a.Reply != "" { // the tokens of a compaction belong to no reply
				t.Errorf("%s: the tokens of the reply %q are told twice", path, a.Reply)
			}
			usages[a.Reply] = true
		}
	}
	for _, i := range lostArguments {
		if i < len(order) {
			c := calls[order[i]]
			c.Arguments = keptNowhere
			calls[c.ID] = c
		}
	}
	checkCalls(t, path, order, calls, ends, wantedOutcomes)
	checkGraph(t, path, list)
}

// keptNowhere replaces the arguments of a call if the agent CLI does not keep them.
var keptNowhere = json.RawMessage(`lost`)

func needReply(t *testing.T, path string, a coleo.Activity) {
	t.Helper()
	if a.Reply == "" {
		t.Errorf("%s: %+v belongs to no reply", path, a.Work)
	}
}

func checkCalls(t *testing.T, path string, order []string, calls map[string]coleo.ToolCall,
	ends map[string]coleo.ToolEnd, want []coleo.ToolOutcome) {
	t.Helper()
	all := madeCalls(t, strings.TrimSuffix(path, ".jsonl.gz")+".calls.jsonl")
	if len(order) != len(all) || len(want) != len(all) {
		t.Fatalf("%s has %d calls %q, the model has made %d, and %d outcomes are wanted", path, len(order), order,
			len(all), len(want))
	}
	for i, m := range all {
		c := calls[order[i]]
		if c.ID != m.ID && c.ID != m.Name+"__"+m.ID || c.Name != m.Name || // in Gemini CLI, the id of a call is NAME__ID
			!sameArguments(c, m.Arguments) {
			t.Errorf("call %d of %s is %+v, the model has made %+v", i+1, path, c, m)
		}
		if got := ends[c.ID].Outcome; got != want[i] {
			t.Errorf("call %d of %s, %s, ended with %q %+v, want %q", i+1, path, c.Name, got, ends[c.ID], want[i])
		}
	}
}

func madeCalls(t *testing.T, path string) (all []made) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var m made
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// sameArguments reports whether a call has the arguments that the model sent. Agent CLIs may add
// arguments with default values.
func sameArguments(c coleo.ToolCall, sent string) bool {
	if string(c.Arguments) == string(keptNowhere) {
		return true
	}
	if c.Malformed != nil {
		return c.Malformed.Raw == sent && c.Malformed.Error != "" && c.Arguments == nil
	}
	var want, got map[string]any
	var text string
	if json.Unmarshal([]byte(sent), &want) != nil {
		// The model sent plain text instead of a JSON object. The call's arguments contain this text as a
		// JSON string, or in the field `raw` if the API cannot transmit plain text.
		return json.Unmarshal(c.Arguments, &text) == nil && text == sent ||
			json.Unmarshal(c.Arguments, &got) == nil && got["raw"] == sent
	}
	if json.Unmarshal(c.Arguments, &got) != nil {
		return false
	}
	for name, value := range want {
		if !reflect.DeepEqual(got[name], value) {
			return false
		}
	}
	return true
}

// Work returns the work of the recording at path.
func Work(t *testing.T, d record.Decoder, path string) []coleo.Activity {
	t.Helper()
	return record.Activities(Entries(t, d, path))
}

// All returns all items of work of type W in the list.
func All[W coleo.Work](list []coleo.Activity) []W {
	var out []W
	for _, a := range list {
		if w, ok := a.Work.(W); ok {
			out = append(out, w)
		}
	}
	return out
}

// End returns the end of the call with the given number, counted from 0.
func End(t *testing.T, list []coleo.Activity, call int) coleo.ToolEnd {
	t.Helper()
	id := All[coleo.ToolCall](list)[call].ID
	for _, end := range All[coleo.ToolEnd](list) {
		if end.ID == id {
			return end
		}
	}
	t.Fatalf("the call %s has no end", id)
	return coleo.ToolEnd{}
}

// CheckUserCommands checks that the user's own commands in the entries do not change the state of
// the agent CLI. If such a command reported that the agent CLI works, no later entry would report
// the end, because the command belongs to no turn.
func CheckUserCommands(t *testing.T, entries []record.Entry) {
	t.Helper()
	commands, inside := 0, false
	for _, e := range entries {
		switch e.Work.(type) {
		case coleo.ShellInput:
			commands, inside = commands+1, true
		case coleo.ShellOutput:
			inside = false
			if e.Kind != record.Detail {
				t.Errorf("the output of a command of the user says %q", e.Kind)
			}
			continue
		}
		if inside && e.Kind != record.Detail {
			t.Errorf("beside a command of the user, the record says %q: %+v", e.Kind, e)
		}
	}
	if commands == 0 {
		t.Error("the recording has no command of the user")
	}
	for _, e := range slices.Backward(entries) {
		if e.Kind == record.Detail {
			continue
		}
		if e.Kind != record.End && !e.MayEnd {
			t.Errorf("the last thing that the record says is %q: no end follows", e.Kind)
		}
		return
	}
}
