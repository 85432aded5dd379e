package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

func TestArgumentsOfACall(t *testing.T) {
	t.Parallel()
	long := `{"command":"` + strings.Repeat("x", coleo.MaxWorkText) + `"}`
	tests := []struct {
		arguments string
		kind      coleo.ToolKind
		want      coleo.ToolCall
	}{
		{"", coleo.ToolOther, coleo.ToolCall{}},
		{`{"command":"ls"}`, coleo.ToolExecute, coleo.ToolCall{Command: "ls"}},
		{`{"cmd":["bash","-lc","ls -l"]}`, coleo.ToolExecute, coleo.ToolCall{Command: "ls -l"}},
		{`{"command":["git","log"]}`, coleo.ToolExecute, coleo.ToolCall{Command: "git log"}},
		{`{"command":7}`, coleo.ToolExecute, coleo.ToolCall{}},
		{`[1]`, coleo.ToolExecute, coleo.ToolCall{}},
		{`{"command":"ls"}`, coleo.ToolOther, coleo.ToolCall{}},
		{`{"filePath":"a b"}`, coleo.ToolRead, coleo.ToolCall{Files: []string{"a b"}}},
		{`{"paths":["a","","b"]}`, coleo.ToolRead, coleo.ToolCall{Files: []string{"a", "b"}}},
		{`{"patchText":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n"}`, coleo.ToolEdit,
			coleo.ToolCall{Files: []string{"a", "b"}}},
		{long, coleo.ToolExecute, coleo.ToolCall{Truncated: true, Command: strings.Repeat("x", coleo.MaxWorkText)}},
	}
	for _, tt := range tests {
		got := Call("c", "tool", tt.kind, tt.arguments)
		kept := tt.arguments != "" && !tt.want.Truncated
		if got.Command != tt.want.Command || !slices.Equal(got.Files, tt.want.Files) || got.Truncated != tt.want.Truncated ||
			got.Malformed != nil || (string(got.Arguments) == tt.arguments) != (kept || tt.arguments == "") {
			t.Errorf("a call with %.60s is %.200v, want %.200v", tt.arguments, got, tt.want)
		}
	}
	bad := Call("c", "tool", coleo.ToolExecute, `{"command": "l`)
	if bad.Malformed == nil || bad.Malformed.Raw != `{"command": "l` || bad.Malformed.Error == "" || bad.Arguments != nil {
		t.Errorf("a call with malformed arguments is %+v", bad)
	}
	if raw, err := json.Marshal(bad); err != nil || !strings.Contains(string(raw), "malformed") {
		t.Errorf("it is stored as %s, %v", raw, err)
	}
}

func TestWorkJoinsTheStateOfItsLine(t *testing.T) {
	t.Parallel()
	text, call := coleo.AssistantText{}, coleo.ToolCall{ID: "c"}
	usage, end := coleo.ReplyUsage{}, coleo.ToolEnd{ID: "c"}
	tests := []struct {
		name  string
		state []Kind
		work  []coleo.Work
		want  string
	}{
		{"a reply that ends the turn", []Kind{Answer, End}, []coleo.Work{text, usage}, "answer+ detail+ end"},
		{"a call before the text", []Kind{Tool, Answer}, []coleo.Work{text, call}, "tool answer+ detail+"},
		{"more calls than entries", []Kind{Tool}, []coleo.Work{call, call, end}, "tool+ detail+ detail+"},
		{"work of a prompt", []Kind{Prompt}, []coleo.Work{usage}, "prompt detail+"},
		{"a denied call", []Kind{End}, []coleo.Work{end}, "detail+ end"},
		{"no work", []Kind{Prompt, End}, nil, "prompt end"},
		{"no state", nil, []coleo.Work{text}, "detail+"},
	}
	for _, tt := range tests {
		var state, work []Entry
		for _, k := range tt.state {
			state = append(state, Entry{Kind: k, Text: "as it was"})
		}
		for _, w := range tt.work {
			work = append(work, Worked(w, "r", time.Time{}))
		}
		var got []string
		for _, e := range Join(state, work) {
			mark := ""
			if e.Work != nil {
				mark = "+"
			}
			if (e.Kind == Detail) == (e.Text != "") || (e.Work != nil) != (e.Reply == "r") {
				t.Errorf("%s: the entry %+v was changed", tt.name, e)
			}
			got = append(got, string(e.Kind)+mark)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// each is a Decoder that returns one entry for each byte of a line.
type each struct{}

func (each) Decode(line []byte) (out []Entry) {
	for range line {
		out = append(out, Worked(coleo.Remark{Text: "x"}, "", time.Time{}))
	}
	return out
}

// Each piece of work must have its own place, a position and a key. It must have the same place each time that
// the file is read.
func TestWorkHasAPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(path, []byte("ab\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := Lines(func() Decoder { return each{} })
	for range 2 {
		tail := open(path, Where{})
		var got []string
		for _, a := range Activities(tail.Next()) {
			got = append(got, string(rune('0'+a.Position))+":"+a.Key)
		}
		tail.Close()
		if want := []string{"3:0", "3:1", "5:0"}; !slices.Equal(got, want) {
			t.Errorf("the work is at %q, want %q", got, want)
		}
	}
}

func TestTasksOfSeveralForms(t *testing.T) {
	t.Parallel()
	got, ok := Tasks(json.RawMessage(`[{"id":7,"content":"a","status":"completed"},{"step":"b","status":"in_progress"},` +
		`{"description":"c","status":"cancelled"},{"id":"x","description":"d","status":"blocked"}]`))
	want := []coleo.Task{{ID: "7", Text: "a", Status: coleo.TaskDone}, {ID: "2", Text: "b", Status: coleo.TaskRunning},
		{ID: "x", Text: "d", Status: coleo.TaskPending}}
	if !ok || !slices.Equal(got.Tasks, want) {
		t.Errorf("the tasks are %+v, want %+v", got.Tasks, want)
	}
	if empty, ok := Tasks(json.RawMessage(`[]`)); !ok || empty.Tasks == nil || len(empty.Tasks) != 0 {
		t.Errorf("an empty list is %+v, %t", empty, ok)
	}
	for _, raw := range []string{``, `null`, `{}`, `"x"`} {
		if got, ok := Tasks(json.RawMessage(raw)); ok {
			t.Errorf("%q is the list %+v", raw, got)
		}
	}
}
