package main

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
)

// Without animations Codex shows no sign of work while the model streams. Coleo turns them
// on for its arms, whatever the user's file says.
func TestCodexWithoutAnimationsWorksUntilItsTurnEnds(t *testing.T) {
	t.Parallel()
	needAgent(t, "codex", "codex")
	w := newWorld(t, "")
	reply := decode[coleo.SpawnReply](w, "arm", "spawn", "-n", "one", "-w", w.workdirOf("one"), "--harness", "codex",
		"--model", "scripted")
	w.must("arm", "kill", "one")
	config := w.path("state/arms/" + reply.Arm.ID + "/home/.codex/config.toml")
	text, err := os.ReadFile(config)
	w.check(err)
	quiet := strings.Replace(string(text), "[tui]\n", "[tui]\nanimations = false\n", 1)
	if quiet == string(text) {
		t.Fatalf("config.toml has no table [tui]:\n%s", text)
	}
	w.check(os.WriteFile(config, []byte(quiet), 0o600))
	w.must("arm", "recover", "one")
	for _, prompt := range []string{"count to 40 every 200ms", "think hard for 8s, then say thought"} {
		end := decode[coleo.RunEnd](w, "arm", "prompt", "one", "--wait", "--timeout", patience.String(), prompt)
		last := strings.Fields(end.Answer)
		if len(last) == 0 || last[len(last)-1] != "40" && last[len(last)-1] != "thought" || end.Status != coleo.Idle {
			t.Errorf("the answer to %q is %+v, want all of it", prompt, end)
		}
	}
}
