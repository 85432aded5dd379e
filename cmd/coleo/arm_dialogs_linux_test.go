package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// asked is a tool call of the scripted model about which a real agent CLI opens a dialog.
type asked struct {
	harness, command string
	tool             string // the tool's name
	args             any
	answers          []answered
	want             string // a part of the result that the agent CLI must send to the model
}

// answered is the expected dialog, and the command that answers it.
type answered struct {
	title   string   // title of the dialog
	options []string // the first options of the dialog
	verb    []string // the verb with its argument, such as "answer", "2"
	page    string   // "1/2" if the screen shows that the dialog is the first of two questions
}

// openDialog waits for the arm's next dialog: one whose fingerprint differs from `last`. It returns
// the dialog.
func (w *world) openDialog(arm string, last coleo.Fingerprint) coleo.Dialog {
	w.t.Helper()
	var d coleo.Dialog
	until(w.t, "the next dialog of "+arm+" is open", func() bool {
		a := decode[coleo.Arm](w, "arm", "status", arm)
		if a.Dialog == nil || a.Dialog.Fingerprint == last {
			return false
		}
		d = *a.Dialog
		return true
	})
	return d
}

// scriptFile writes a script for the scripted model. With it, the model calls the tool of `a`, and
// then repeats the tool's result.
func (w *world) scriptFile(a asked) string {
	w.t.Helper()
	yes, no := true, false
	type when struct {
		ToolResult *bool  `json:"tool_result,omitempty"`
		Contains   string `json:"contains,omitempty"`
	}
	script, err := json.Marshal(map[string]any{"rules": []any{
		map[string]any{"when": when{Contains: policyDenies}, "reply": []any{map[string]any{"text": "STOPPED"}}},
		// When a background task has ended, the agent CLI sends the model this notice in a turn of its
		// own. The model answers it here.
		map[string]any{"when": when{Contains: "<task-notification>"}, "reply": []any{map[string]any{"text": "NOTED"}}},
		map[string]any{"when": when{ToolResult: &no}, "reply": []any{map[string]any{"tool": map[string]any{"name": a.tool,
			"args": a.args}}}},
		map[string]any{"when": when{ToolResult: &yes}, "reply": []any{map[string]any{"text": "RESULT ${result}"}}},
	}})
	w.check(err)
	path := filepath.Join(w.t.TempDir(), "script.json")
	w.check(os.WriteFile(path, script, 0o600))
	return path
}

// checkAsked makes an agent CLI open dialogs, and answers them all. It compares the result that the model
// received with the answers.
func (w *world) checkAsked(a asked) {
	w.t.Helper()
	w.must("arm", "spawn", "-n", "one", "-w", w.workdirOf("one"), "--harness", a.harness, "--model", "scripted",
		"--script", w.scriptFile(a))
	w.must("arm", "prompt", "one", "go on")
	var last coleo.Fingerprint
	for _, step := range a.answers {
		d := w.openDialog("one", last)
		if d.Title != step.title || !slices.Equal(d.Options[:min(len(d.Options), len(step.options))], step.options) {
			w.t.Fatalf("the dialog is %+v, want %q with %q", d, step.title, step.options)
		}
		if page := fmt.Sprintf("%d/%d", d.Page, d.Pages); step.page != "" && page != step.page {
			w.t.Errorf("the page of %q is %s, want %s", d.Title, page, step.page)
		}
		last = d.Fingerprint
		w.must(append([]string{"arm", step.verb[0], "one"}, step.verb[1:]...)...)
	}
	w.wait("one", coleo.Idle)
	until(w.t, "the model has answered", func() bool { return strings.Contains(w.answersOf("one"), "RESULT") })
	if got := w.answersOf("one"); !strings.Contains(got, a.want) {
		w.t.Errorf("the model got %q, want %q", got, a.want)
	}
}

// answersOf returns all answers of an arm's model so far. The last one may be the answer to a notice of a
// background task.
func (w *world) answersOf(arm string) string {
	w.t.Helper()
	text := w.run("arm", "last", arm).out
	for _, e := range w.events(arm, coleo.EventAssistantText) {
		var t coleo.AssistantText
		w.check(json.Unmarshal(e.Payload, &t))
		text += "\n" + t.Text
	}
	return text
}

// option returns an option of a question in the form in which agent CLIs accept it from the model.
func option(label, preview string) map[string]any {
	o := map[string]any{"label": label, "description": "choose " + label}
	if preview != "" {
		o["preview"] = preview
	}
	return o
}

func questions(list ...map[string]any) map[string]any { return map[string]any{"questions": list} }

func TestAQuestionWithPreviewsIsAnswered(t *testing.T) {
	t.Parallel()
	needAgent(t, "claude-code", "claude")
	newWorld(t, "").checkAsked(asked{harness: "claude-code", tool: "AskUserQuestion",
		args: questions(map[string]any{"question": "Which layout?", "header": "Layout", "multiSelect": false,
			"options": []any{option("Rows", "+---+\n| a |\n+---+"), option("Columns", "+---+---+\n| a | b |")}}),
		answers: []answered{{"Which layout?", []string{"Rows", "Columns"}, []string{"answer", "2"}, ""}},
		want:    `"Which layout?"="Columns"`,
	})
}

func TestAWorkflowIsDeniedOrApproved(t *testing.T) {
	t.Parallel()
	for verb, want := range map[string]string{"approve": "Workflow launched", "deny": ""} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			needAgent(t, "claude-code", "claude")
			w := newWorld(t, "")
			script := fmt.Sprintf("export const meta = {name: %q, description: 'Counts'}\nreturn 1", "count")
			a := asked{harness: "claude-code", tool: "Workflow", args: map[string]any{"script": script}, want: want,
				answers: []answered{{"Run a dynamic workflow?", []string{"Yes, run it", "No"}, []string{verb}, ""}}}
			if verb == "approve" {
				w.checkAsked(a)
				return
			}
			w.must("arm", "spawn", "-n", "one", "-w", w.workdirOf("one"), "--harness", a.harness, "--model", "scripted",
				"--script", w.scriptFile(a))
			w.must("arm", "prompt", "one", "go on")
			w.openDialog("one", "")
			w.must("arm", "deny", "one")
			w.wait("one", coleo.Idle)
			if logs := w.must("arm", "screen", "one"); !strings.Contains(logs, "Dynamic workflow cancelled") {
				t.Errorf("the workflow was not denied:\n%s", logs)
			}
		})
	}
}

// fruits returns a question that allows several answers. `several` is the key that says so in the
// format of the agent CLI.
func fruits(several string) map[string]any {
	return map[string]any{"question": "Which fruits?", "header": "Fruits", several: true, "type": "choice",
		"options": []any{option("Apple", ""), option("Banana", ""), option("Cherry", "")}}
}

func side() map[string]any {
	return map[string]any{"question": "Which side?", "header": "Side", "type": "choice",
		"options": []any{option("Left", ""), option("Right", "")}}
}

// The model must receive exactly the answers that were given, whatever the screen shows.
func TestSeveralOptionsAndPagesAreAnswered(t *testing.T) {
	t.Parallel()
	three, two := []string{"Apple", "Banana", "Cherry"}, []string{"Left", "Right"}
	claude := func(list ...map[string]any) map[string]any { return questions(list...) }
	for name, a := range map[string]asked{
		"claude-code, several": {harness: "claude-code", command: "claude", tool: "AskUserQuestion",
			args: claude(fruits("multiSelect")), want: `="Apple, Cherry"`, answers: []answered{
				{"Which fruits?", three, []string{"answer", "1,3"}, ""},
				{"Review your answers", []string{"Submit answers"}, []string{"answer", "1"}, ""}}},
		"claude-code, a text": {harness: "claude-code", command: "claude", tool: "AskUserQuestion",
			args: claude(side()), want: `="in the middle"`, answers: []answered{
				{"Which side?", two, []string{"answer", "--text", "in the middle"}, ""}}},
		"claude-code, pages": {harness: "claude-code", command: "claude", tool: "AskUserQuestion",
			args: claude(side(), fruits("multiSelect")), want: `"Which side?"="Right", "Which fruits?"="Banana"`,
			answers: []answered{
				{"Which side?", two, []string{"answer", "2"}, "1/2"},
				{"Which fruits?", three, []string{"answer", "2"}, "2/2"},
				{"Review your answers", []string{"Submit answers"}, []string{"answer", "1"}, ""}}},
		"opencode, pages": {harness: "opencode", command: "opencode", tool: "question",
			args: claude(side(), fruits("multiple")), want: `"Which side?"="Right", "Which fruits?"="Apple, Cherry"`,
			answers: []answered{
				{"Which side?", two, []string{"answer", "2"}, "1/2"},
				{"Which fruits? (select all that apply)", three, []string{"answer", "1,3"}, "2/2"},
				{"Review", []string{"Submit"}, []string{"answer", "1"}, ""}}},
		"gemini, several and a text": {harness: "gemini", command: "gemini", tool: "ask_user",
			args: claude(fruits("multiSelect")), want: "Apple, a pear", answers: []answered{
				{"Which fruits?", three, []string{"answer", "1", "--text", "a pear"}, ""}}},
		"gemini, pages": {harness: "gemini", command: "gemini", tool: "ask_user",
			args: claude(side(), fruits("multiSelect")), want: `Right\",\"1\":\"Banana, Cherry`, answers: []answered{
				{"Which side?", two, []string{"answer", "2"}, "1/2"},
				{"Which fruits?", three, []string{"answer", "2,3"}, "2/2"},
				{"Review your answers:", []string{"Submit"}, []string{"answer", "1"}, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			needAgent(t, a.harness, a.command)
			newWorld(t, "").checkAsked(a)
		})
	}
}

func TestClaudesPlanIsApprovedOrDenied(t *testing.T) {
	t.Parallel()
	for verb, want := range map[string]string{"approve": "User has approved", "deny": ""} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			needAgent(t, "claude-code", "claude")
			w := newWorld(t, "")
			a := asked{harness: "claude-code", tool: "ExitPlanMode", args: map[string]any{"plan": "1. Read."}}
			w.must("arm", "spawn", "-n", "one", "-w", w.workdirOf("one"), "--harness", a.harness, "--model", "scripted",
				"--permission-mode", "plan", "--script", w.scriptFile(a))
			w.must("arm", "prompt", "one", "go on")
			if d := w.openDialog("one", ""); d.Kind != coleo.DialogPlan {
				t.Fatalf("the dialog is %+v, want a plan", d)
			}
			w.must("arm", verb, "one")
			w.wait("one", coleo.Idle)
			if want == "" {
				until(t, "the plan is rejected", func() bool {
					return strings.Contains(w.must("arm", "screen", "one"), "Rejected Claude's plan")
				})
				return
			}
			until(t, "the model has answered", func() bool {
				return strings.Contains(w.run("arm", "last", "one").out, want)
			})
		})
	}
}
