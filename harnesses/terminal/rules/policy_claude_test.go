package rules

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
)

// The rows come from Claude Code 2.1.329. Coleo must find exactly one tool call in each dialog.
func TestADialogOfClaudeCodeIsAboutOneCall(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../claudecode/harness.toml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ParseSpec("harness.toml", raw)
	if err != nil {
		t.Fatal(err)
	}
	const proceed = "Do you want to proceed?"
	line := " " + strings.Repeat("╌", 30)
	mcp := []string{" Tool use", " coleo — Ping Tool: (MCP)", ` text: "hello"`, " About the coleo — Ping Tool:",
		" │ Answers."}
	fetch := []string{" Fetch", " Claude wants to fetch content from x.example", line, " url: http://x.example/",
		" prompt: What is it?", line}
	search := []string{" Tool use", " │ Claude wants to search the web for: what is it", line, ` Web Search("what is it")`,
		line}
	for name, c := range map[string]struct {
		title   string
		subject []string
		tool    string
		inputs  map[string]string
		want    bool
	}{
		"a command": {proceed, []string{" Bash command", " sums", line, " │ cksum a.txt", line,
			" This command requires approval"}, "Bash",
			map[string]string{"command": "cksum a.txt", "description": "sums"}, true},
		"a command without a description": {proceed, []string{" Bash command", " Tip: auto mode handles these prompts",
			" Run shell command", line, " cksum a.txt", line, " This command requires approval"}, "Bash",
			map[string]string{"command": "cksum a.txt"}, true},
		"another command without a description": {proceed, []string{" Bash command", " Run shell command", line,
			" cksum b.txt", line}, "Bash", map[string]string{"command": "cksum a.txt"}, false},
		"another command": {proceed, []string{" Bash command", " sums", line, " │ cksum b.txt", line}, "Bash",
			map[string]string{"command": "cksum a.txt", "description": "sums"}, false},
		"more than the command": {proceed, []string{" Bash command", " sums", line, " │ cksum a.txt", " │ rm a.txt", line},
			"Bash", map[string]string{"command": "cksum a.txt", "description": "sums"}, false},
		"a file": {proceed, []string{" Read file", line, " Read(/etc/hosts)", line}, "Read",
			map[string]string{"file_path": "/etc/hosts"}, true},
		"another file": {proceed, []string{" Read file", line, " Read(/etc/hosts)", line}, "Read",
			map[string]string{"file_path": "/etc/host"}, false},
		"a new file": {"Do you want to create new.txt?", nil, "Write", map[string]string{"file_path": "/w/new.txt"},
			true},
		"another new file": {"Do you want to create new.txt?", nil, "Write", map[string]string{"file_path": "/w/old.txt"},
			false},
		"no name of a file": {"Do you want to create ?", nil, "Write", map[string]string{"file_path": "/w/old.txt"}, false},
		"an edit": {"Do you want to make this edit to a.go?", nil, "Edit",
			map[string]string{"file_path": "/w/a.go"}, true},
		"a command is no edit": {proceed, []string{" Bash command", " x", " echo Do you want to make this edit to a.go?"},
			"Edit", map[string]string{"file_path": "/w/a.go"}, false},
		"a page": {"Do you want to allow Claude to fetch this content?", fetch, "WebFetch",
			map[string]string{"url": "http://x.example/", "prompt": "What is it?"}, true},
		"another page": {"Do you want to allow Claude to fetch this content?", fetch, "WebFetch",
			map[string]string{"url": "http://y.example/", "prompt": "What is it?"}, false},
		"a search":       {proceed, search, "WebSearch", map[string]string{"query": "what is it"}, true},
		"another search": {proceed, search, "WebSearch", map[string]string{"query": "who is it"}, false},
		"a skill":        {proceed, []string{` Use skill "greet"?`}, "Skill", map[string]string{"skill": "greet"}, true},
		"another skill":  {proceed, []string{` Use skill "greet"?`}, "Skill", map[string]string{"skill": "leave"}, false},
		"a server":       {proceed, mcp, "mcp__coleo__ping", map[string]string{"text": "hello"}, true},
		"another server": {proceed, mcp, "mcp__other__ping", map[string]string{"text": "hello"}, false},
		"a text of a tool that looks like a tool of a server": {proceed,
			[]string{" Tool use", " │ coleo — Ping Tool: (MCP)", " x"}, "mcp__coleo__ping", nil, false},
		"a command that looks like a tool of a server": {proceed, []string{" Bash command", " x",
			" echo coleo — Ping Tool: (MCP)"}, "mcp__coleo__ping", nil, false},
	} {
		tool := spec.Policy.Tool(c.tool)
		if tool == nil {
			t.Errorf("%s: the tool %s is not known", name, c.tool)
			continue
		}
		v := Verdict{Dialog: &coleo.Dialog{Kind: coleo.DialogPermission, Title: c.title}, subject: c.subject}
		if got := v.IsAbout(tool, c.tool, c.inputs); got != c.want {
			t.Errorf("%s: the dialog is about the call: %v, want %v", name, got, c.want)
		}
	}
}
