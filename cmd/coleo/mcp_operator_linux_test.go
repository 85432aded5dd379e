package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
)

// operateFrom starts `coleo mcp serve --operator` inside an arm that runs a shell. The server reads
// from a pipe and writes to a file.
func (w *world) operateFrom(arm, tokenFile string) *operatorSession {
	w.t.Helper()
	pipe, out := w.path(arm+".in"), w.path(arm+".out")
	w.check(syscall.Mkfifo(pipe, 0o600))
	w.must("arm", "prompt", arm, fmt.Sprintf("COLEO_DIR=%s %s mcp serve --operator --token-file %s <%s >%s 2>&1", w.dir,
		w.path("bin/coleo"), tokenFile, pipe, out))
	in, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	w.check(err)
	w.t.Cleanup(func() { in.Close() })
	return w.operate(in, out)
}

// spawnShell starts an arm that runs a shell.
func (w *world) spawnShell(name string) {
	w.t.Helper()
	dir := w.path("work-" + name)
	w.check(os.Mkdir(dir, 0o700))
	w.must("arm", "spawn", "-n", name, "-w", dir, "--harness", "generic")
	w.wait(name, coleo.Idle)
}

// TestAnArmOperatesOtherArmsAndNeverItself runs the MCP server with the operator tools inside an
// arm. The tools must work on other arms, and must be refused for the server's own arm. Serve
// learns from the kernel in which arm the server runs.
func TestAnArmOperatesOtherArmsAndNeverItself(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.spawnShell("conductor")
	f.write("operator", f.must("token", "create", "op", "--scope", "read,prompt,approve", "--runs-in", "conductor"))
	file := f.path("operator")
	s := f.operateFrom("conductor", file)
	if list := s.ask("tools/list", map[string]any{}); !strings.Contains(list, `"arm_approve"`) ||
		strings.Contains(list, `"arm_kill"`) {
		t.Errorf("the tools are %s", list)
	}
	if got := s.call("arm_list", nil); !strings.Contains(got, `"name":"`+f.name+`"`) ||
		strings.Contains(got, `"isError":true`) {
		t.Errorf("arm_list = %s", got)
	}

	d := f.asks("make test")
	got := s.call("arm_approve", map[string]any{"arm": f.name, "id": d.Fingerprint})
	if strings.Contains(got, `"isError":true`) {
		t.Fatalf("the dialog of another arm: %s", got)
	}
	f.wait(f.name, coleo.Idle)

	got = s.call("arm_approve", map[string]any{"arm": "conductor", "id": "x"})
	if !strings.Contains(got, `"code":"not_found"`) && !strings.Contains(got, `"code":"forbidden"`) {
		t.Errorf("its own arm: %s", got)
	}
	if got := f.asOperator(strings.TrimSpace(f.read("operator")), "POST", "/api/arms/conductor/respond",
		`{"choice":"approve","dialog":"x"}`); got != 403 {
		t.Errorf("its own arm, from elsewhere: %d, want 403", got)
	}
	f.wait(f.name, coleo.Idle)
	if got := s.call("arm_prompt", map[string]any{"arm": f.name, "prompt": "by the conductor"}); !strings.Contains(got,
		`"proof"`) {
		t.Fatalf("arm_prompt = %s", got)
	}
	f.wait(f.name, coleo.Idle)
	d = f.asks("make more")
	got = s.call("arm_approve", map[string]any{"arm": f.name, "id": d.Fingerprint})
	if !strings.Contains(got, `"code":"forbidden"`) || f.arm(f.name).State != coleo.WaitingApproval {
		t.Errorf("the dialog of an arm that it has prompted: %s", got)
	}
}

func TestATokenOfAnotherArmIsNothingInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.spawnShell("sh")
	w.write("operator", w.must("token", "create", "op"))
	file := w.path("operator")
	w.must("arm", "prompt", "sh", "--wait", fmt.Sprintf("COLEO_DIR=%s %s mcp serve --operator --token-file %s </dev/null",
		w.dir, w.path("bin/coleo"), file))
	if out := w.must("arm", "logs", "sh"); !strings.Contains(strings.Join(strings.Fields(out), " "),
		"was not made for that arm") {
		t.Errorf("the shell shows\n%s", out)
	}
	w.check(os.Chmod(file, 0o644))
	for _, args := range [][]string{{"--token-file", file}, {"--token-file", filepath.Join(w.dir, "none")}, {},
		{"--door", "d"}} {
		r := w.run(append([]string{"mcp", "serve", "--operator"}, args...)...)
		if r.code != 2 && r.code != 15 {
			t.Errorf("%q: exit %d, %s", args, r.code, r.err)
		}
	}
}

// TestARealAgentCLIOperatesAnotherArm: the model of a real agent CLI prompts another arm with
// arm_prompt. The other arm's record must contain the prompt.
func TestARealAgentCLIOperatesAnotherArm(t *testing.T) {
	t.Parallel()
	for _, c := range []toolCaller{
		{"claude-code", "claude", map[string]any{"name": "ToolSearch",
			"args": map[string]any{"query": "select:mcp__op__arm_prompt", "max_results": 1}}, "mcp__op__arm_prompt"},
		{"codex", "codex", nil, "arm_prompt"},
		{"opencode", "opencode", nil, "op_arm_prompt"},
		{"gemini", "gemini", nil, "mcp_op_arm_prompt"},
	} {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			f := newFake(t)
			nonce := conformance.Nonce()
			server := fmt.Sprintf("op=/usr/bin/env COLEO_DIR=%s %s mcp serve --operator --token-file %s", f.dir,
				f.path("bin/coleo"), f.path("operator"))
			script := c.operatorScript(f.world, map[string]any{"arm": f.name, "prompt": nonce})
			arm := []string{"arm", "spawn", "-n", "boss", "-w", f.workdirOf("boss"), "--harness", c.harness,
				"--model", "scripted", "--script", script, "--mcp", server}
			f.must(arm...) // a token needs an existing arm, so the arm is first started without a server
			f.must("arm", "kill", "boss")
			f.write("operator", f.must("token", "create", "op", "--runs-in", "boss"))
			f.must(arm...)
			until(t, "a server of the agent CLI that has shown its token", func() bool {
				list := decode[struct{ Tokens []coleo.OperatorToken }](f.world, "token", "list").Tokens
				return len(list) == 1 && !list[0].Used.IsZero()
			})
			run := decode[coleo.Receipt](f.world, "arm", "prompt", "boss", "operate the arm").ID
			until(t, "the end of the turn, with each dialog approved", func() bool {
				now := f.arm("boss")
				if now.Dialog != nil && now.State == coleo.WaitingApproval {
					f.run("arm", "approve", "boss", "--dialog", string(now.Dialog.Fingerprint))
				}
				return decode[coleo.Run](f.world, "run", "show", run).Outcome != ""
			})
			if end := f.awaitRun(run); !strings.Contains(end.Answer, "proof") {
				t.Errorf("the model got %q\n%s", end.Answer, f.must("arm", "screen", "boss"))
			}
			if got := f.received(); strings.Count(got, nonce) != 1 {
				t.Errorf("the other arm has got %q, want %s once", got, nonce)
			}
			for _, a := range decode[struct{ Commands []coleo.Audit }](f.world, "audit", f.name, "--limit", "1").Commands {
				if a.Command != "prompt-arm" || a.Caller.Kind != coleo.CallerOperator || a.Caller.PID == 0 {
					t.Errorf("the last command is %+v", a)
				}
			}
		})
	}
}

// operatorScript writes a script for the scripted model. With it, the model calls the operator tool
// once, and then repeats the result.
func (c toolCaller) operatorScript(w *world, arguments map[string]any) string {
	yes, no := true, false
	rule := func(result *bool, reply map[string]any) map[string]any {
		return map[string]any{"when": map[string]any{"tool_result": result, "contains": "operate"}, "times": 1,
			"reply": []any{reply}}
	}
	call := map[string]any{"tool": map[string]any{"name": c.tool, "args": arguments}}
	rules := []any{rule(&no, call)}
	if c.before != nil {
		rules = []any{rule(&no, map[string]any{"tool": c.before}), rule(&yes, call)}
	}
	rules = append(rules, map[string]any{"when": map[string]any{"tool_result": &yes},
		"reply": []any{map[string]any{"text": "RESULT ${result}"}}})
	script, err := json.Marshal(map[string]any{"rules": rules})
	w.check(err)
	w.write("operator.json", string(script))
	return w.path("operator.json")
}
