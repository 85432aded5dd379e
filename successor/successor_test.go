package successor

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/armname"
	"coleo.dev/changes"
)

func TestASuccessorIsToldTheTaskTheWorkAndTheDiff(t *testing.T) {
	t.Parallel()
	w := Work{Folder: "/work", Parts: []Part{
		{Name: "a", Harness: "Claude Code", Prompts: []string{"make it fast", "and small"},
			Summary: coleo.ThreadSummary{Prompts: 2, Answers: 1, Tools: 3, Answer: "it is fast", Files: []string{"a.go"},
				MoreFiles: 2, Tasks: []coleo.Task{{Text: "measure", Status: coleo.TaskPending}}, MoreTasks: 4}},
		{Name: "b", Harness: "Codex", Prompts: []string{"one", "two @\ra.go", "go on"}},
	}, Tasks: []coleo.Task{{Text: "write it down", Status: coleo.TaskDone}},
		Diff: &changes.Diff{Base: "abc", Patch: []byte("--- a\n+++ b\n+\tnew\r\n\x1b[31m"), Files: []changes.File{
			{Path: "a.go", Kind: changes.Added, LinesAdded: 7}}}}
	got := Prompt(w)
	for _, want := range []string{
		"another coding agent, Codex. It has stopped, and you work in its folder, /work.",
		"the first prompt of the person\n\nmake it fast\n", "(1 later prompts are left out here.)", "\n1. one\n",
		"\n2. two @ a.go\n",
		"\n3. go on\n", "work of Claude Code (arm a)\n\nPrompts: 2. Answers: 1. Calls of tools: 3.",
		"last answer:\nit is fast\n", "- a.go\n- and 2 more\n", "- [pending] measure\n- and 4 more\n",
		"work of Codex (arm b)", "- [completed] write it down", "- added a.go (+7 -0)", "+++ b\n+    new\n[31m",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the prompt does not have %q:\n%s", want, got)
		}
	}
	if !IsFirst(got) || IsFirst("make it fast") || strings.Contains(got, "and small") ||
		strings.Contains(got, "not complete") || strings.ContainsAny(got, "\t\r\x1b") {
		t.Errorf("the prompt is\n%s", got)
	}
	w.Diff, w.NoDiff = nil, "the folder is not in a git repository"
	if got := Prompt(w); !strings.Contains(got, "There is no diff: the folder is not in a git repository.") {
		t.Errorf("without a diff, the prompt is\n%s", got)
	}
	w.Diff = &changes.Diff{}
	if got := Prompt(w); !strings.Contains(got, "No file has changed yet.") {
		t.Errorf("without changes, the prompt is\n%s", got)
	}
}

// The first prompt of a successor contains texts of the first arm, but stays below a bound even if these are
// very long. The prompt says how much it leaves out.
func TestTheFirstPromptOfASuccessorIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300_000)
	part := Part{Name: "a", Harness: "Codex", Summary: coleo.ThreadSummary{Answer: strings.Repeat("x", 1_200)}}
	for range 100 {
		part.Prompts = append(part.Prompts, long)
	}
	w := Work{Folder: "/work", Diff: &changes.Diff{Base: "abc", Patch: []byte(long)}}
	for range 5 {
		w.Parts = append(w.Parts, part)
	}
	for i := range 500 {
		w.Tasks = append(w.Tasks, coleo.Task{Text: long, Status: coleo.TaskPending})
		w.Diff.Files = append(w.Diff.Files, changes.File{Path: long + fmt.Sprint(i), Kind: changes.Modified})
	}
	got := Prompt(w)
	if len(got) > 70_000 || !strings.Contains(got, "and 480 more\n") || !strings.Contains(got, "and 470 more files") ||
		!strings.Contains(got, "This diff is not complete. 'git diff abc'") || !strings.Contains(got, "more bytes)") {
		t.Errorf("the prompt has %d bytes:\n%.3000s", len(got), got)
	}
}

func TestASuccessorStartsWithWhatEachAgentCLIUnderstands(t *testing.T) {
	t.Parallel()
	by := coleo.Predecessor{ArmLink: coleo.ArmLink{ID: "arm-a", Name: "a", Harness: "claude-code"}}
	c := coleo.SpawnConfig{Workdir: "/work", Home: "/home", Endpoint: "http://x", PermissionMode: coleo.PermissionEdit,
		TrustWorkdir: true, Policy: coleo.PolicyRead, Sandbox: &coleo.Sandbox{Kind: coleo.SandboxBwrap},
		EnvNames: []string{"A"}, Wrap: []string{"nice"}, Tools: []string{"ask_user"}}
	want := c
	want.Succeeds = &by
	c.Provider, c.Model, c.Args, c.Conversation = "anthropic", "claude", []string{"--x"}, "id"
	c.Parent, c.Depth, c.Binary, c.Worktree = "boss", 1, "/bin/claude", &coleo.Worktree{Path: "/work"}
	c.Chosen = &coleo.Chosen{Mode: "plan"}
	if got := Config(by, c, true); !reflect.DeepEqual(got, want) {
		t.Errorf("the configuration is %+v, want %+v", got, want)
	}
	if got := Config(by, c, false); got.Tools != nil || got.MCPServers != nil {
		t.Errorf("without MCP, the tools are %v and the servers %v", got.Tools, got.MCPServers)
	}
	if got := Config(by, coleo.SpawnConfig{Model: coleo.ModelScripted}, true); !got.Scripted() {
		t.Errorf("the successor of an arm with the scripted model has the model %q", got.Model)
	}
}

func TestTheNameOfASuccessorIsFreeAndValid(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 63)
	for _, c := range []struct {
		first, harness string
		taken          []string
		want           string
	}{
		{"fix", "claude-code", nil, "fix-codex"},
		{"fix-claude-code", "claude-code", nil, "fix-codex"},
		{"fix", "claude-code", []string{"fix-codex", "fix-codex-2"}, "fix-codex-3"},
		{long, "claude-code", nil, long[:54] + "-codex"},
	} {
		got := Name(coleo.ArmLink{Name: c.first, Harness: c.harness}, "codex", func(name string) bool {
			for _, taken := range c.taken {
				if name == taken {
					return true
				}
			}
			return false
		})
		if got != c.want || armname.Check(got) != nil {
			t.Errorf("the successor of %s is called %q, want %q", c.first, got, c.want)
		}
	}
}
