package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/wire"
)

// policyDenies begins the text that a denying policy sends to the model.
const policyDenies = "The policy of this arm denies it"

// policyOf returns the decisions of an arm's policy, in order.
func (w *world) policyOf(name string) (out []coleo.PolicyDecision) {
	w.t.Helper()
	for line := range strings.Lines(w.must("--json", "run", "events", "--arm", name, "--kind", "policy")) {
		var e coleo.Event
		w.check(json.Unmarshal([]byte(line), &e))
		var p coleo.PolicyDecision
		w.check(json.Unmarshal(e.Payload, &p))
		out = append(out, p)
	}
	return out
}

// bashArm starts Claude Code with a policy, and with a model that runs one command.
func (w *world) bashArm(mode coleo.PolicyMode, command, description string) wire.SpawnReply {
	w.t.Helper()
	return w.toolArm(mode, asked{tool: "Bash", args: map[string]any{"command": command, "description": description}})
}

// toolArm starts Claude Code with a policy, and with a model that calls one tool.
func (w *world) toolArm(mode coleo.PolicyMode, call asked) wire.SpawnReply {
	w.t.Helper()
	dir := w.workdirOf("one")
	w.check(os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600))
	return decode[wire.SpawnReply](w, "arm", "spawn", "-n", "one", "-w", dir, "--harness", "claude-code", "--model",
		"scripted", "--policy", string(mode), "-e", "SHELL=/bin/bash", "--script", w.scriptFile(call))
}

// decided sends a prompt that makes the agent CLI ask for permission. It returns what the policy
// has decided.
func (w *world) decided() coleo.PolicyDecision {
	w.t.Helper()
	w.must("arm", "prompt", "one", "go on")
	until(w.t, "the policy has decided", func() bool { return len(w.policyOf("one")) > 0 })
	return w.policyOf("one")[0]
}

// The policy must judge the whole command, even if the screen cuts it off. Claude Code's hook
// reports each command in full. The test uses cksum, because Claude Code asks before it runs cksum.
func TestM14APolicyAnswersARealAgentCLI(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("cksum a.txt\n", 60)
	for name, command := range map[string]string{"short": "cksum a.txt", "cut off on the screen": long} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needAgent(t, "claude-code", "claude")
			w := newWorld(t, "")
			w.bashArm(coleo.PolicyRead, command, "Checks the file")
			if got := w.decided(); got.Decision != "allow" || !got.Applied || got.Tool != "Bash" || got.Subject != command ||
				got.Rule != "user: preset read" {
				t.Fatalf("the policy says %+v\n%s", got, w.must("arm", "screen", "one"))
			}
			until(t, "the model has the result", func() bool {
				return strings.Contains(w.run("arm", "last", "one").out, "RESULT 3015617425 6 a.txt")
			})
		})
	}
}

func TestAPolicyLeavesARealAgentCLIToAPerson(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("cksum a.txt\n", 30)
	for name, c := range map[string]struct {
		mode    coleo.PolicyMode
		command string
		want    string
	}{
		"in shadow":                    {coleo.PolicyShadow, "cksum a.txt", "allow"},
		"a command that writes":        {coleo.PolicyRead, "cksum a.txt > b.txt", "ask"},
		"where the screen cuts off":    {coleo.PolicyRead, lines + "touch b.txt\n" + lines, "ask"},
		"an unknown program":           {coleo.PolicyRead, "make", "ask"},
		"a file outside of its folder": {coleo.PolicyRead, "cksum ../serve.log", "ask"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needAgent(t, "claude-code", "claude")
			w := newWorld(t, "")
			w.bashArm(c.mode, c.command, "Checks the file")
			if got := w.decided(); got.Decision != c.want || got.Applied || got.Subject != c.command {
				t.Errorf("the policy says %+v, want %s\n%s", got, c.want, w.must("arm", "screen", "one"))
			}
			if a := w.arm("one"); a.Dialog == nil {
				t.Errorf("the arm is %s, and asks nothing", a.State)
			}
			w.must("arm", "deny", "one")
			w.wait("one", coleo.Idle)
			if _, err := os.Stat(w.path("work-one/b.txt")); err == nil {
				t.Error("the command was run")
			}
		})
	}
}

// rules writes the user's policy file.
func (w *world) rules(text string) {
	w.t.Helper()
	w.check(os.WriteFile(w.path("config/policy.toml"), []byte(text), 0o600))
}

func TestM14RulesForToolsAndCategoriesDecideForARealAgentCLI(t *testing.T) {
	t.Parallel()
	const noEdits = "[[rule]]\ncategory = \"edit\"\ndecision = \"deny\"\n"
	write := asked{tool: "Write", args: map[string]any{"file_path": "new.txt", "content": "it is\nnew\n"}}
	search := asked{tool: "WebSearch", args: map[string]any{"query": "what is it"}}
	for name, c := range map[string]struct {
		rules   string
		call    asked
		want    string
		rule    string
		applied bool
		written bool
	}{
		"an edit is left to a person": {"", write, "ask", "default", false, false},
		"a category is denied":        {noEdits, write, "deny", "user: category edit", true, false},
		"the tool beats its category": {noEdits + "[[rule]]\ntool = \"Write\"\ndecision = \"allow\"\n", write, "allow",
			"user: tool Write", true, true},
		"the network is denied": {"[[rule]]\ncategory = \"network\"\ndecision = \"deny\"\n", search, "deny",
			"user: category network", true, false},
		"a command is denied": {"[[rule]]\ncommand = \"cksum *\"\ndecision = \"deny\"\n",
			asked{tool: "Bash", args: map[string]any{"command": "cksum a.txt", "description": "sums"}}, "deny",
			`user: command "cksum *"`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needAgent(t, "claude-code", "claude")
			w := newWorld(t, "")
			w.rules(c.rules)
			call := c.call
			if call.tool == "Write" {
				call.args = map[string]any{"file_path": filepath.Join(w.path("work-one"), "new.txt"), "content": "it is\nnew\n"}
			}
			w.toolArm(coleo.PolicyRead, call)
			got := w.decided()
			if got.Decision != c.want || got.Rule != c.rule || got.Applied != c.applied || got.Tool != call.tool {
				t.Fatalf("the policy says %+v, want %s by %s\n%s", got, c.want, c.rule, w.must("arm", "screen", "one"))
			}
			if !c.applied {
				w.must("arm", "deny", "one")
			}
			if c.applied && c.want == "deny" {
				until(t, "the model has read why it was denied", func() bool {
					return strings.Contains(w.run("arm", "last", "one").out, "STOPPED")
				})
			}
			w.wait("one", coleo.Idle)
			if _, err := os.Stat(w.path("work-one/new.txt")); (err == nil) != c.written {
				t.Errorf("the file was written: %v", err == nil)
			}
			if all := w.policyOf("one"); len(all) != 1 {
				t.Errorf("the policy has decided %d times: %+v", len(all), all)
			}
		})
	}
}

// The policy must judge the command as the shell receives it. OpenCode's server reports each call
// in full, and passes a command to the shell unchanged. So quoted text stays quoted.
func TestM14APolicyAnswersOpenCode(t *testing.T) {
	t.Parallel()
	command := `cksum a.txt; echo '$(touch new.txt)' '\t' "x\\"`
	for name, c := range map[string]struct {
		rules    string
		tool     string
		args     map[string]any
		decision string
		rule     string
		result   string
	}{
		"a command that reads": {"", "bash", map[string]any{"command": command, "description": "x"}, "allow",
			"user: preset read", "3015617425 6 a.txt\n$(touch new.txt) \\t x\\"},
		"an edit is left to a person": {"", "write", map[string]any{"filePath": "new.txt", "content": "x"}, "ask",
			"default", ""},
		"a category is denied": {"[[rule]]\ncategory = \"edit\"\ndecision = \"deny\"\n", "write",
			map[string]any{"filePath": "new.txt", "content": "x"}, "deny", "user: category edit", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needAgent(t, "opencode", "opencode")
			w := newWorld(t, "")
			w.rules(c.rules)
			dir := w.workdirOf("one")
			w.check(os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600))
			if c.args["filePath"] != nil {
				c.args["filePath"] = filepath.Join(dir, "new.txt")
			}
			script, err := modelserver.LoadScript(w.scriptFile(asked{tool: c.tool, args: c.args}))
			w.check(err)
			model, err := modelserver.Start(modelserver.Config{Script: script})
			w.check(err)
			t.Cleanup(func() { _ = model.Close() })
			w.must("arm", "spawn", "-n", "one", "-w", dir, "--harness", "opencode-api", "--profile", "hermetic",
				"--home", w.home, "--endpoint", model.URL(), "--model", "coleo/mock-1", "--policy", "read", "-e", "SHELL=/bin/bash")
			w.wait("one", coleo.Idle)
			got := w.decided()
			if got.Decision != c.decision || got.Rule != c.rule || got.Applied != (c.decision != "ask") || got.Tool != c.tool {
				t.Fatalf("the policy says %+v, want %s by %s", got, c.decision, c.rule)
			}
			if !got.Applied {
				w.must("arm", "deny", "one")
			}
			w.wait("one", coleo.Idle)
			until(t, "the model has the result", func() bool {
				return strings.Contains(w.run("arm", "last", "one").out,
					c.result)
			})
			if _, err := os.Stat(w.path("work-one/new.txt")); err == nil {
				t.Error("a file was written")
			}
		})
	}
}
