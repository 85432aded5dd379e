package graph

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
)

// change returns the start of a call that changes files. `arguments` is the JSON that an agent CLI records.
func change(id, name, arguments string, files ...string) coleo.ToolCall {
	return coleo.ToolCall{ID: id, Name: name, Kind: coleo.ToolEdit, Arguments: json.RawMessage(arguments), Files: files}
}

func done(id string) coleo.ToolEnd { return coleo.ToolEnd{ID: id, Outcome: coleo.ToolSuccess} }

func ask(text string) Question {
	return Question{Paths: []string{"/w/a.go"}, Line: 7, Text: text, Folders: map[string]string{"a": "/w"}}
}

const patchOfTwo = `"*** Begin Patch\n*** Update File: b.go\n@@\n+line\n` +
	`*** Update File: a.go\n@@\n old\n-gone\n+new\n*** End Patch"`

// TestEachFormOfAnEditIsRead uses the arguments of the tools of several agent CLIs. Each call
// writes the line "new" into a.go and keeps the line "old".
func TestEachFormOfAnEditIsRead(t *testing.T) {
	t.Parallel()
	quoted, _ := json.Marshal("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.go\n+new\n*** End Patch\nEOF")
	for name, call := range map[string]coleo.ToolCall{
		"a whole file":         change("1", "Write", `{"file_path":"/w/a.go","content":"x\nnew\n"}`, "/w/a.go"),
		"a relative path":      change("1", "write", `{"filePath":"./a.go","content":"new"}`, "./a.go"),
		"carriage returns":     change("1", "Write", `{"file_path":"/w/a.go","content":"x\r\nnew\r\n"}`),
		"one text for another": change("1", "Edit", `{"file_path":"/w/a.go","old_string":"old","new_string":"old\nnew"}`),
		"camel case":           change("1", "edit", `{"filePath":"/w/a.go","oldString":"old","newString":"new\nold"}`),
		"several edits": change("1", "MultiEdit", `{"file_path":"/w/a.go","edits":[{"old_string":"q","new_string":"r"},`+
			`{"old_string":"old","new_string":"new"}]}`),
		"edits of several files": change("1", "edits",
			`{"edits":[{"path":"b.go","new_text":"line"},{"path":"a.go","new_text":"new"}]}`),
		"a patch as text":     change("1", "apply_patch", patchOfTwo, "b.go", "a.go"),
		"a patch with a name": change("1", "apply_patch", `{"patchText":`+patchOfTwo+`}`),
		"a patch in a command": {ID: "1", Kind: coleo.ToolExecute,
			Command: strings.Trim(strings.ReplaceAll(string(quoted), `\n`, "\n"), `"`)},
		"an edit of a cell": change("1", "NotebookEdit", `{"notebook_path":"/w/a.go","new_source":"new"}`),
		"an insertion":      change("1", "editor", `{"command":"insert","path":"/w/a.go","insert_text":"new"}`),
		"a tool of a server": {ID: "1", Kind: coleo.ToolMCP,
			Arguments: json.RawMessage(`{"path":"/w/a.go","content":"new"}`)},
	} {
		log := events("r", coleo.Receipt{Text: "p"}, coleo.Turn{}, call, done("1"))
		if f := Search(ask("new"), log); f.Certainty != Wrote || f.Call != "1" || f.Run != "r" {
			t.Errorf("%s: %+v", name, f)
		}
		for _, other := range []string{"old", "gone", "line"} {
			if f := Search(ask(other), log); f.Certainty != Changed || f.Unread {
				t.Errorf("%s, the line %q that it did not write: %+v", name, other, f)
			}
		}
		elsewhere := ask("new")
		elsewhere.Paths = []string{"/x/a.go"}
		if f := Search(elsewhere, log); f.Certainty != Nothing {
			t.Errorf("%s, another file: %+v", name, f)
		}
	}
}

func TestTheNewestCallThatWroteTheLineIsFound(t *testing.T) {
	t.Parallel()
	write := func(id, text string) coleo.ToolCall {
		return change(id, "Write", `{"file_path":"/w/a.go","content":"`+text+`"}`, "/w/a.go")
	}
	failed := coleo.ToolEnd{ID: "3", Outcome: coleo.ToolError}
	denied := coleo.ToolEnd{ID: "4", Outcome: coleo.ToolDenied}
	read := coleo.ToolCall{ID: "7", Kind: coleo.ToolRead, Files: []string{"/w/a.go"}}
	log := events("r", coleo.Receipt{}, coleo.Turn{}, write("1", "new"), done("1"), write("2", "new"), done("2"),
		write("3", "new"), failed, write("4", "new"), denied, write("5", "new"), // call 5 has no end
		write("6", "other"), done("6"), read, done("7"))
	if f := Search(ask("new"), log); f.Call != "2" || f.Certainty != Wrote {
		t.Errorf("the line: %+v, want call 2", f)
	}
	if f := Search(ask("by hand"), log); f.Call != "6" || f.Certainty != Changed {
		t.Errorf("a line of nobody: %+v, want call 6", f)
	}
	if f := Search(ask("  "), log); f.Call != "6" || f.Certainty != Changed {
		t.Errorf("a blank line: %+v, want call 6", f)
	}
	long := events("r", coleo.Receipt{}, coleo.Turn{}, coleo.ToolCall{ID: "1", Kind: coleo.ToolEdit, Truncated: true,
		Files: []string{"/w/a.go"}}, done("1"), coleo.FileChanged{Path: "a.go", Call: "1"})
	if f := Search(ask("new"), long); f.Call != "1" || f.Certainty != Changed || !f.Unread {
		t.Errorf("a call whose text is not known: %+v", f)
	}
	unknown := events("r", coleo.Receipt{}, coleo.Turn{}, coleo.ToolCall{ID: "9", Kind: coleo.ToolOther}, done("9"),
		coleo.FileChanged{Path: "a.go", Call: "9"})
	if f := Search(ask("new"), unknown); f.Call != "9" || f.Certainty != Changed || !f.Unread {
		t.Errorf("a change that only file_changed tells: %+v", f)
	}
}

func TestTheFolderIsThatOfTheStart(t *testing.T) {
	t.Parallel()
	m := newMaker(1)
	m.put(coleo.Event{Arm: "a", Kind: coleo.EventSpawned}, coleo.Handle{Workdir: "/other", Generation: 3})
	e := coleo.Event{Arm: "a", Run: "r", Kind: coleo.EventRunStart}
	m.put(e, coleo.Receipt{})
	m.work(e, change("1", "Write", `{"path":"a.go","content":"new"}`, "a.go"))
	m.work(e, done("1"))
	q := ask("new")
	if f := Search(q, m.log); f.Certainty != Nothing {
		t.Errorf("the arm worked in another folder then: %+v", f)
	}
	q.Paths = append(q.Paths, "/other/a.go")
	if f := Search(q, m.log); f.Certainty != Wrote || f.Generation != 3 {
		t.Errorf("the file below the arm's folder of that time: %+v", f)
	}
}

func TestWhyNamesPromptCallAndApproval(t *testing.T) {
	t.Parallel()
	write := change("1", "Write", `{"file_path":"/w/a.go","content":"new"}`, "/w/a.go")
	shell := coleo.ToolCall{ID: "2", Kind: coleo.ToolExecute, Command: "sed -i s/x/y/ a.go"}
	log := events("r", coleo.Receipt{Text: "write it", Offset: 123}, coleo.Turn{}, write, dialog("/w/a.go"), done("1"),
		shell, done("2"))
	a := Why(ask("new"), log)
	if a.Certainty != Wrote || a.Run.Prompt.Text != "write it" || a.Run.Prompt.Offset != 123 ||
		a.Call.Call.Name != "Write" ||
		a.Approval == nil || a.Approval.Approval.Matched != MatchSubject || a.Path != "/w/a.go" || a.Line != 7 {
		t.Errorf("the answer is %+v", a)
	}
	if len(a.Possible) != 1 || a.Possible[0].Command != shell.Command {
		t.Errorf("the commands that name the file are %+v", a.Possible)
	}
	only := Why(ask("new"), events("r", coleo.Receipt{}, coleo.Turn{}, shell, done("2")))
	if only.Certainty != Possible || only.Call != nil || !strings.Contains(only.Note, "may have") {
		t.Errorf("with a command alone the answer is %+v", only)
	}
	if none := Why(ask("new"), nil); none.Certainty != Nothing || none.Run != nil {
		t.Errorf("without a log the answer is %+v", none)
	}
}

func TestAFileIsNamedAsAWord(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"cat a.go": true, "echo x>a.go": true, "sed -i 's/x/y/' ./src/a.go": true, `rm "a.go"`: true, "a.go": true,
		"cat aa.go": false, "cat a.go.orig": false, "cat b-a.go": false, "": false, "cat xa.go a.go": true,
	} {
		if got := hasWord(command, "a.go"); got != want {
			t.Errorf("%q names a.go: %v, want %v", command, got, want)
		}
	}
}

func FuzzSearch(f *testing.F) {
	f.Add(patchOfTwo, "apply_patch", "new")
	f.Add(`{"file_path":"a.go","edits":[{"new_string":"new"},7]}`, "*** Begin Patch\n+x", "new")
	f.Fuzz(func(_ *testing.T, arguments, command, line string) {
		c := change("1", "x", "", "a.go")
		c.Arguments, c.Command = json.RawMessage(arguments), command
		if _, err := json.Marshal(c); err != nil {
			return
		}
		Why(ask(line), events("r", coleo.Receipt{}, coleo.Turn{}, c, done("1")))
	})
}
