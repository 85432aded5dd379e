package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
)

// A background command of Claude Code ends after the turn that started it. Claude Code then begins
// a turn by itself. This turn must be a run with an answer.
func TestATurnThatClaudeCodeBeginsItselfIsARun(t *testing.T) {
	t.Parallel()
	needAgent(t, "claude-code", "claude")
	w := newWorld(t, "")
	nonce, gate := conformance.Nonce(), w.path("gate")
	script, err := json.Marshal(map[string]any{"rules": []map[string]any{
		{"name": "start", "when": map[string]any{"contains": "in the background", "tool_result": false},
			"reply": []map[string]any{{"tool": map[string]any{"name": "Bash", "args": map[string]any{
				"command": "until test -e " + gate + "; do sleep 0.1; done", "description": "wait",
				"run_in_background": true}}}}},
		{"name": "started", "when": map[string]any{"contains": "in the background", "tool_result": true},
			"times": 1, "reply": []map[string]any{{"text": "it runs"}}},
		{"name": "woken", "when": map[string]any{"contains": "task-notification"},
			"reply": []map[string]any{{"text": "woken " + nonce}}},
	}})
	w.check(err)
	w.check(os.WriteFile(w.path("script.json"), script, 0o600))
	w.must("arm", "spawn", "-n", "one", "-w", w.workdirOf("one"), "--harness", "claude-code", "--model", "scripted",
		"--script", w.path("script.json"), "--permission-mode", "all", "--yes-without-sandbox")
	end := decode[coleo.RunEnd](w, "arm", "prompt", "one", "--wait", "--timeout", patience.String(),
		"wait in the background")
	if end.Answer != "it runs" || !strings.Contains(end.Background, "still running") {
		t.Errorf("the turn that leaves work in the background ended %+v", end)
	}
	w.check(os.WriteFile(gate, nil, 0o600))
	var run coleo.Receipt
	until(t, "a run has begun by itself", func() bool {
		starts := w.events("one", coleo.EventRunStart)
		if len(starts) < 2 {
			return false
		}
		w.check(json.Unmarshal(starts[1].Payload, &run))
		return true
	})
	if run.Origin != coleo.OriginSelf || !strings.Contains(run.Text, "task-notification") {
		t.Errorf("the second run is %+v", run)
	}
	until(t, "the run has ended", func() bool { return len(w.events("one", coleo.EventRunEnd)) == 2 })
	end, err = coleo.DecodeRunEnd(w.events("one", coleo.EventRunEnd)[1])
	if err != nil || end.Outcome != coleo.OutcomeFinished || !strings.Contains(end.Answer, "woken "+nonce) {
		t.Errorf("the run ended %+v, %v", end, err)
	}
}
