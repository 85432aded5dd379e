package main

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/wire"
)

// subarmCaller is a real agent CLI whose model calls spawn_arm and await_arm.
type subarmCaller struct {
	harness, command string
	prefix           string // what the agent CLI writes before the names of Coleo's tools
	searches         bool   // the model must first search for the tools by their names
}

var subarmCallers = []subarmCaller{
	{"claude-code", "claude", "mcp__coleo__", true},
	{"codex", "codex", "", false},
	{"opencode", "opencode", "coleo_", false},
	{"gemini", "gemini", "mcp_coleo_", false},
}

// script writes a script for the scripted model. With it, the model starts a subarm with the given
// prompt, awaits the subarm, and repeats its answer.
func (c subarmCaller) script(w *world, prompt string) string {
	spawn, await := c.prefix+coleo.ToolSpawnArm, c.prefix+coleo.ToolAwaitArm
	calls := []map[string]any{
		{"name": spawn, "args": map[string]any{"name": "kid", "prompt": prompt}},
		{"name": await, "args": map[string]any{"name": "boss.kid"}},
	}
	if c.searches {
		calls = append([]map[string]any{{"name": "ToolSearch",
			"args": map[string]any{"query": "select:" + spawn + "," + await, "max_results": 2}}}, calls...)
	}
	var rules []any
	for n, call := range calls {
		rules = append(rules, map[string]any{"when": map[string]any{"tool_result": n > 0, "contains": "divide"}, "times": 1,
			"reply": []any{map[string]any{"tool": call}}})
	}
	rules = append(rules, map[string]any{"when": map[string]any{"tool_result": true},
		"reply": []any{map[string]any{"text": "RESULT ${result}"}}})
	script, err := json.Marshal(map[string]any{"rules": rules})
	w.check(err)
	w.write("script.json", string(script))
	return w.path("script.json")
}

// A real agent CLI starts a subarm and awaits it, while serve and the host agent are killed. The
// subarm runs the same agent CLI, and its model repeats the prompt. Nothing except the start of the
// subarm may need an approval.
func TestM19ARealAgentCLIStartsASubarmAndAwaitsIt(t *testing.T) {
	t.Parallel()
	for _, c := range subarmCallers {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			w := newWorld(t, "")
			nonce := conformance.Nonce()
			boss := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "boss", "-w", w.workdirOf("boss"), "--harness",
				c.harness, "--model", "scripted", "--script", c.script(w, "the word is "+nonce), "--tools", "all").Arm
			run := decode[coleo.Receipt](w, "arm", "prompt", "boss", "divide the work").ID
			q := w.asking("boss", 1).Suspensions[0]
			if q.Kind != coleo.SuspensionSubarm || q.Run != run || !strings.Contains(q.Text, nonce) {
				t.Fatalf("the arm asks %+v\n%v", q, w.must("arm", "screen", "boss"))
			}
			for _, verb := range []string{"serve", "agent"} {
				w.kill9(w.onlyProcess(verb))
			}
			w.must("up")
			w.must("arm", "approve", "boss")
			end := w.awaitRun(run)
			if end.Outcome != coleo.OutcomeFinished || strings.Count(end.Answer, nonce) != 1 ||
				!strings.Contains(end.Answer, "boss.kid") {
				t.Errorf("the run ended with %+v, want %s once\n%s", end, nonce, w.must("arm", "screen", "boss.kid"))
			}
			kid := w.arm("boss.kid")
			if kid.ParentArmID != boss.ID || kid.Harness != c.harness || kid.Model != "scripted" || kid.Workdir != boss.Workdir {
				t.Errorf("the subarm is %+v", kid)
			}
			if n := len(w.events("boss.kid", coleo.EventRunStart)); n != 1 {
				t.Errorf("the subarm got %d prompts, want 1", n)
			}
			for _, name := range []string{"boss", "boss.kid"} {
				if n := len(w.events(name, coleo.EventDecision)); n != 0 {
					t.Errorf("%s showed %d dialogs", name, n)
				}
			}
		})
	}
}
