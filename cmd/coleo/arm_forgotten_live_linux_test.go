package main

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

// TestAnArmThatDiesBeforeItsFirstPromptIsRecovered: an agent CLI dies before its first prompt, so
// it has not stored its conversation. Some agent CLIs then refuse to continue the conversation. The
// recovery must start the arm with a new conversation instead.
func TestAnArmThatDiesBeforeItsFirstPromptIsRecovered(t *testing.T) {
	t.Parallel()
	for _, c := range append([]toolCaller{{"qwen", "qwen", nil, ""}, {"copilot", "copilot", nil, ""}}, toolCallers...) {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			l := newLiveOf(t, c.harness)
			l.kill9(l.pid)
			until(t, "the end of the agent CLI is told", func() bool { return l.arm(l.name).State == coleo.Dead })
			reply := decode[wire.SpawnReply](l.world, "arm", "recover", l.name)
			if reply.Arm.State != coleo.Idle || reply.Resumed && strings.Contains(reply.Warning, "new one") {
				t.Errorf("the arm was recovered with %+v", reply)
			}
			l.checkAnswer()
		})
	}
}
