package main

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/wire"
)

// toolCaller is a real agent CLI whose model calls ask_user.
type toolCaller struct {
	harness, command string
	before           map[string]any // a tool call with which the model must first find ask_user; nil if it need not
	tool             string         // the agent CLI's name of ask_user
}

// askWait is how long a question waits for its answer. `make soak` sets it to 20 minutes.
var askWait = flag.Duration("ask-wait", 0, "time for which a question of a real agent CLI waits")

var toolCallers = []toolCaller{
	{"claude-code", "claude", map[string]any{"name": "ToolSearch",
		"args": map[string]any{"query": "select:mcp__coleo__ask_user", "max_results": 1}}, "mcp__coleo__ask_user"},
	{"codex", "codex", nil, "ask_user"},
	{"opencode", "opencode", nil, "coleo_ask_user"},
	{"gemini", "gemini", nil, "mcp_coleo_ask_user"},
}

// script writes a script for the scripted model. With it, the model asks the user, and then repeats
// the answer.
func (c toolCaller) script(w *world) string {
	yes, no := true, false
	ask := map[string]any{"name": c.tool,
		"args": map[string]any{"question": "Which colour?", "options": []string{"red", "blue"}}}
	rule := func(result *bool, times int, reply map[string]any) map[string]any {
		return map[string]any{"when": map[string]any{"tool_result": result, "contains": "colour"}, "times": times,
			"reply": []any{reply}}
	}
	rules := []any{rule(&no, 1, map[string]any{"tool": ask})}
	if c.before != nil {
		rules = []any{rule(&no, 1, map[string]any{"tool": c.before}), rule(&yes, 1, map[string]any{"tool": ask})}
	}
	rules = append(rules, map[string]any{"when": map[string]any{"tool_result": &yes},
		"reply": []any{map[string]any{"text": "RESULT ${result}"}}})
	script, err := json.Marshal(map[string]any{"rules": rules})
	w.check(err)
	w.write("script.json", string(script))
	return w.path("script.json")
}

// Serve and the host agent are killed while a question waits, and then a person answers. The user
// must be asked only once, and the model must receive the answer once. The agent CLI itself must
// ask for no permission, because Coleo's tools are allowed beforehand.
func TestM15ARealAgentCLIAsksItsUserWithOurTool(t *testing.T) {
	t.Parallel()
	for _, c := range toolCallers {
		t.Run(c.harness, func(t *testing.T) {
			if *askWait > 0 {
				t.Parallel()
			}
			c.asksItsUser(t)
		})
	}
}

// An agent CLI in a sandbox must reach its arm's door, the socket for Coleo's tools, even after the
// host agent was replaced. If the sandbox has no network, it must also reach the scripted model.
func TestARealAgentCLIAsksItsUserOutOfASandbox(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	for _, c := range toolCallers[:3] { // these harnesses declare what their agent CLIs need in a sandbox
		t.Run(c.harness, func(t *testing.T) { c.asksItsUser(t, "--sandbox", "bwrap", "--sandbox-net", "none") })
	}
}

// asksItsUser runs the test with one agent CLI and further flags of arm spawn.
func (c toolCaller) asksItsUser(t *testing.T, more ...string) {
	needAgent(t, c.harness, c.command)
	w := newWorld(t, "")
	spawn := append([]string{"arm", "spawn", "-n", "one", "-w", w.workdirOf("one"), "--harness", c.harness, "--model",
		"scripted", "--script", c.script(w), "--tools", "all"}, more...)
	arm := decode[wire.SpawnReply](w, spawn...).Arm
	if arm.State != coleo.Idle {
		t.Fatalf("the arm is %+v, want it idle", arm)
	}
	run := decode[coleo.Receipt](w, "arm", "prompt", "one", "choose a colour").ID
	asks := decode[coleo.Arm](w, "arm", "wait", "one", "--state", "waiting_approval")
	if len(asks.Suspensions) != 1 || asks.Dialog != nil {
		t.Fatalf("the arm asks %+v, its dialog is %+v\n%v", asks.Suspensions, asks.Dialog,
			w.must("arm", "screen", "one"))
	}
	if need, why := asks.Need(); need != coleo.NeedsYou || !strings.Contains(why, "Which colour?") {
		t.Errorf("its need is %q (%s)", need, why)
	}
	for _, verb := range []string{"serve", "agent"} {
		w.kill9(w.onlyProcess(verb))
	}
	w.must("up")
	time.Sleep(*askWait) // simulates how long a person takes to answer
	list := decode[[]coleo.Suspension](w, "arm", "questions", "one")
	if len(list) != 1 || list[0].ID != asks.Suspensions[0].ID || list[0].Run != run {
		t.Fatalf("after the kills the arm asks %+v, before %+v", list, asks.Suspensions)
	}
	nonce := conformance.Nonce()
	w.must("arm", "answer", "one", "2", "--text", nonce, "--dialog", list[0].ID)
	if end := w.awaitRun(run); strings.Count(end.Answer, nonce) != 1 || !strings.Contains(end.Answer, "blue") {
		t.Errorf("the run ended with %+v, want %s once", end, nonce)
	}
	for _, kind := range []coleo.EventKind{coleo.EventSuspension, coleo.EventAnswered} {
		if n := len(w.events("one", kind)); n != 1 {
			t.Errorf("%d events %s, want 1", n, kind)
		}
	}
	if again := decode[coleo.Arm](w, "arm", "status", "one"); len(again.Suspensions) != 0 {
		t.Errorf("the arm still asks %+v", again.Suspensions)
	}
}
