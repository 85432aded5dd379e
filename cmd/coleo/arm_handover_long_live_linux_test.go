package main

import (
	"fmt"
	"testing"

	"coleo.dev/conformance"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/wire"
)

// TestALongDiffReachesTheModelOfEachSuccessor hands over a task whose diff is as long as a first
// prompt may be. The diff contains lines such as `/help`, `!ls` and `@base.txt`, which agent CLIs
// treat as commands and files. Each agent CLI must pass the diff on unchanged.
func TestALongDiffReachesTheModelOfEachSuccessor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ harness, command string }{
		{"claude-code", "claude"}, {"codex", "codex"}, {"opencode", "opencode"}, {"gemini", "gemini"},
	} {
		t.Run(c.harness, func(t *testing.T) {
			t.Parallel()
			needAgent(t, c.harness, c.command)
			l := newLiveOf(t, "claude-code")
			base := conformance.Nonce()
			l.write("work-real/base.txt", base+"\n")
			l.commit(l.workdir, "base")
			last := conformance.Nonce()
			text := "/help\n!ls\n@base.txt\n#x\n\ttab\n"
			for n := range 200 {
				text += fmt.Sprintf("line %d with some words that fill it up\n", n)
			}
			l.write("work-real/new.txt", text+last+"\n")
			l.check(l.model.SetScript(modelserver.Script{Rules: []modelserver.Rule{{Name: "task",
				When:  modelserver.When{Contains: "You take over a task"},
				Reply: []modelserver.Step{{Text: "it is done"}}}}}))
			l.must("arm", "prompt", l.name, "--wait", "say hello")
			done := decode[wire.HandoverReply](l.world, "arm", "handover", l.name, "--to", c.harness, "--model", "mock-1",
				"-n", "next")
			l.finishes("next", done.Run, "it is done")
			if !l.modelGot("You take over a task", "+line 0 with", "+line 199 with", "+"+last) {
				t.Errorf("no request to the model has the whole diff")
			}
			// The diff names `@base.txt`, but the agent CLI must not read that file, whose only line is
			// `base`. The diff itself may contain the line as "+base", if the arm's work began before the
			// commit.
			if at := l.around(base, "+"+base); at != "" {
				t.Errorf("the agent CLI has read a file that the diff names: %q", at)
			}
		})
	}
}
