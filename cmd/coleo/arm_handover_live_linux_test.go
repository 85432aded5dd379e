package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/wire"
)

// TestATaskGoesFromOneRealAgentCLIToTheNext interrupts Claude Code in the middle of a task. Codex continues
// the task, and OpenCode finishes it. The requests to the model must show that each of them received the task.
func TestATaskGoesFromOneRealAgentCLIToTheNext(t *testing.T) {
	t.Parallel()
	needAgent(t, "codex", "codex")
	needAgent(t, "opencode", "opencode")
	l := newLiveOf(t, "claude-code", "--permission-mode", "edit", "--label", "team=a")
	l.write("work-real/base.txt", "base\n")
	l.commit(l.workdir, "base")
	task, parts, queued := conformance.Nonce(), []string{}, conformance.Nonce()
	for range 3 {
		parts = append(parts, conformance.Nonce())
	}
	l.check(l.model.SetScript(modelserver.Script{Rules: slices.Concat(
		l.writes("another coding agent, Codex", "three.txt", parts[2], modelserver.Step{Text: "all is done"}),
		l.writes("another coding agent, Claude Code", "two.txt", parts[1], modelserver.Step{Text: "part two is done"}),
		l.writes(task, "one.txt", parts[0], modelserver.Step{Stall: true}))}))

	l.must("arm", "prompt", l.name, "write three files: "+task)
	until(t, "the first part is written", func() bool { return l.settles(l.name) && l.read("work-real/one.txt") != "" })
	if e := l.fails(11, "arm", "handover", l.name, "--to", "codex", "--model", "mock-1"); e.Code != coleo.EBusy ||
		!strings.Contains(e.Message, "as it was") {
		t.Errorf("the hand-over of an arm that works: %+v", e)
	}
	l.must("arm", "follow-up", l.name, "say "+queued)
	second := l.handover(l.name, "codex", "--interrupt")
	if !second.Interrupted || len(second.Moved) != 1 {
		t.Errorf("the hand-over says %+v", second)
	}
	l.finishes(second.To.Arm.Name, second.Run, "part two is done")
	l.finishes(second.To.Arm.Name, second.Moved[0], queued)
	third := l.handover(second.To.Arm.Name, "opencode")
	l.finishes(third.To.Arm.Name, third.Run, "all is done")

	l.checkTold("another coding agent, Claude Code", task, "of the work of Claude Code", "+"+parts[0])
	l.checkTold("another coding agent, Codex", task, "say "+queued, "of the work of Claude Code", "of the work of Codex",
		"Its last answer:\\n"+queued, "+"+parts[0], "+"+parts[1])
	for i, name := range []string{"one.txt", "two.txt", "three.txt"} {
		if got := strings.TrimSpace(l.read("work-real/" + name)); got != parts[i] {
			t.Errorf("%s has %q, want %q", name, got, parts[i])
		}
	}
	if n := l.told("say " + queued); n != 1 {
		t.Errorf("the queued prompt was sent %d times", n)
	}
	for _, name := range []string{l.name, second.To.Arm.Name} {
		if arm := l.arm(name); arm.Queue == nil || arm.Queue.Paused == "" || arm.Queue.Length != 0 ||
			arm.Queue.Handover == nil || arm.Queue.Handover.Open {
			t.Errorf("the queue of %s is %+v", name, arm.Queue)
		}
	}
}

// writes returns rules for the scripted model. They apply to a prompt that contains the text
// `contains`. The model writes a file, and then makes the step `last`.
func (l *live) writes(contains, file, text string, last modelserver.Step) []modelserver.Rule {
	before, after := false, true
	write := modelserver.Call{Does: modelserver.Write, Args: map[string]any{"path": filepath.Join(l.workdir, file),
		"content": text + "\n"}}
	return []modelserver.Rule{
		{Name: file, When: modelserver.When{Contains: contains, ToolResult: &before},
			Reply: []modelserver.Step{{Tool: &write}}},
		{Name: file + " is there", When: modelserver.When{Contains: contains, ToolResult: &after},
			Reply: []modelserver.Step{last}},
	}
}

// handover hands over the task of an arm. It checks that each of the two arms names the other.
func (l *live) handover(name, to string, more ...string) wire.HandoverReply {
	l.t.Helper()
	first := l.arm(name)
	done := decode[wire.HandoverReply](l.world, append([]string{"arm", "handover", name, "--to", to, "--model",
		"mock-1"}, more...)...)
	next := done.To.Arm
	if done.From.ID != first.ID || next.ParentArmID != first.ID || next.Harness != to || next.Workdir != first.Workdir ||
		next.Labels.String() != "team=a" {
		l.t.Errorf("the hand-over says %+v", done)
	}
	for _, arm := range []coleo.Arm{first, next} {
		var c coleo.HandoverChange
		list := l.events(arm.Name, coleo.EventHandover)
		for _, e := range list {
			l.check(json.Unmarshal(e.Payload, &c))
		}
		if len(list) == 0 || c.From.ID != first.ID || c.To.ID != next.ID || c.To.Name != next.Name || c.Run != done.Run {
			l.t.Errorf("%d events of %s, the last one is %+v", len(list), arm.Name, c)
		}
	}
	if list := l.must("arm", "list"); !strings.Contains(list, next.Name+" (successor)") {
		l.t.Errorf("the list is\n%s", list)
	}
	return done
}

// settles approves the arm's dialog if one is open. It always returns true, so that callers can use
// it in a condition with &&.
func (l *live) settles(name string) bool {
	if arm := l.arm(name); arm.State == coleo.WaitingApproval && arm.Dialog != nil {
		l.run("arm", "approve", name, "--dialog", string(arm.Dialog.Fingerprint))
	}
	return true
}

// finishes waits for the end of a run and checks its answer.
func (l *live) finishes(name, run, answer string) {
	l.t.Helper()
	defer func() {
		if l.t.Failed() {
			l.t.Logf("the queue of %s is\n%s\nand its screen\n%s", name, l.run("arm", "queue", name).out,
				l.run("arm", "screen", name).out)
		}
	}()
	var ends []coleo.Event
	until(l.t, "the run of "+name+" has ended", func() bool {
		ends = slices.DeleteFunc(l.events(name, coleo.EventRunEnd), func(e coleo.Event) bool { return e.Run != run })
		return l.settles(name) && len(ends) > 0
	})
	end, err := coleo.DecodeRunEnd(ends[0])
	if err != nil || end.Outcome != coleo.OutcomeFinished || strings.TrimSpace(end.Answer) != answer {
		l.t.Errorf("the run of %s has ended with %+v, %v, want %q", name, end, err, answer)
	}
}

// checkTold finds the first request to the model that contains `opening`, the first words of a
// prompt. The request must contain all `words`. checkTold ignores requests for a title: they may
// contain a part of the prompt, but offer no tools.
func (l *live) checkTold(opening string, words ...string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.bodies, func(body string) bool {
		return strings.Contains(body, opening) && strings.Contains(body, `"tools":[{`)
	})
	if at < 0 {
		l.t.Errorf("no request to the model has %q", opening)
		return
	}
	for _, word := range words {
		if !strings.Contains(l.bodies[at], word) {
			l.t.Errorf("the first request with %q does not have %q:\n%s", opening, word, l.bodies[at])
		}
	}
}
