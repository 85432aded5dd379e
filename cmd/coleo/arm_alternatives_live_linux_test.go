package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/modelserver"
)

// newLimitedClaude starts Claude Code, runs a first turn, and then sends a prompt at which the
// model reports a limit. `onLimit` says what the arm must do at a limit.
func newLimitedClaude(t *testing.T, onLimit string) (l *live, nonce string) {
	t.Helper()
	needAgent(t, "claude-code", "claude")
	l = newLiveOf(t, "claude-code", "-e", "CLAUDE_CODE_MAX_RETRIES=1", "--on-limit", onLimit)
	nonce = conformance.Nonce()
	decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "say "+nonce)
	l.check(l.model.SetScript(modelserver.Script{Rules: []modelserver.Rule{{Name: "limit",
		When:  modelserver.When{Contains: "carry on", Dialect: "anthropic-messages"},
		Reply: quotaLimit.reply}}}))
	l.must("arm", "prompt", l.name, "please carry on")
	return l, nonce
}

// promptsTo returns the prompts that the named model has received. It omits requests that the agent
// CLI makes for itself, such as for a title.
func (l *live) promptsTo(model string) (out []string) {
	for _, q := range l.model.Record() {
		if q.Model == model && q.Prompt != "" && q.Side == "" {
			out = append(out, q.Prompt)
		}
	}
	return out
}

// parkSteps returns the entries of an arm's log that say how it was parked and what followed.
func (l *live) parkSteps(name string) (out []coleo.ParkChange) {
	for _, e := range l.events(name, coleo.EventParked) {
		var c coleo.ParkChange
		l.check(json.Unmarshal(e.Payload, &c))
		out = append(out, c)
	}
	return out
}

// TestClaudeCodeGoesOnWithAnotherModelAtALimit: an arm reaches the limit of its model and is
// parked. Its first alternative, a hand-over, is impossible. The second is another model, with
// which the arm must continue by itself.
func TestClaudeCodeGoesOnWithAnotherModelAtALimit(t *testing.T) {
	t.Parallel()
	l, nonce := newLimitedClaude(t, "handover:claude-code,model:mock-2,wait")
	until(t, "it has gone on", func() bool { return len(l.events(l.name, coleo.EventRunEnd)) == 3 })
	if got := l.promptsTo("mock-2"); !slices.Equal(got, []string{"continue"}) || !l.modelGot(nonce, "please carry on",
		"continue") {
		t.Errorf("the other model was prompted %q", got)
	}
	if got := l.promptsTo("mock-1"); slices.Contains(got, "continue") {
		t.Errorf("the first model was prompted %q", got)
	}
	steps := l.parkSteps(l.name)
	if len(steps) != 3 || steps[1].Step != coleo.ParkTried || steps[1].Failed == "" ||
		steps[2].Step != coleo.ParkContinued || !strings.Contains(steps[2].Why, "mock-2") {
		t.Errorf("the steps are %+v", steps)
	}
	arm := l.arm(l.name)
	if arm.Model != "mock-2" || arm.Queue != nil {
		t.Errorf("afterwards the arm has the model %s and the queue %+v", arm.Model, arm.Queue)
	}
	l.checkAnswer()
}

// TestClaudeCodeHandsItsTaskToCodexAtALimit: an arm with Claude Code reaches the limit of its model
// and is parked. It must hand its task to Codex by itself.
func TestClaudeCodeHandsItsTaskToCodexAtALimit(t *testing.T) {
	t.Parallel()
	needAgent(t, "codex", "codex")
	l, nonce := newLimitedClaude(t, "handover:codex,wait")
	next := l.name + "-codex"
	until(t, "there is a successor", func() bool { return l.run("arm", "status", next).code == 0 })
	until(t, "the successor has done its first turn", func() bool {
		return len(l.events(next, coleo.EventRunEnd)) == 1
	})
	l.checkTold("another coding agent, Claude Code", nonce, "please carry on")
	first := l.arm(l.name)
	if first.Queue == nil || first.Queue.Parked != nil || first.Queue.Handover == nil || first.Queue.Handover.Open ||
		first.Queue.Handover.Name != next {
		t.Errorf("the queue of the first arm is %+v", first.Queue)
	}
	if n := len(l.events(l.name, coleo.EventRunStart)); n != 2 {
		t.Errorf("the first arm has begun %d runs", n)
	}
	var names []string
	for _, arm := range decode[struct{ Arms []coleo.Arm }](l.world, "arm", "list", "--all").Arms {
		names = append(names, arm.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{l.name, next}) {
		t.Errorf("the arms are %q", names)
	}
}
