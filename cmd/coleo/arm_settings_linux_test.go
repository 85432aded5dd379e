package main

import (
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/harnesses/codex"
)

// Without animations, Codex shows no sign of work while the model streams, and its screen
// contradicts the state that it reports by escape sequences. Coleo normally switches animations on,
// so this test uses a harness that switches them off.
func TestCodexWithoutAnimationsWorksUntilItsTurnEnds(t *testing.T) {
	t.Parallel()
	needAgent(t, "codex", "codex")
	w := newWorld(t, "")
	still := string(codex.Spec)
	for _, change := range [][2]string{{"name = \"codex\"\n", "name = \"codex-still\"\nbase = \"codex\"\n"},
		{"animations=false|", ""}, {"tui.animations=true", "tui.animations=false"}} {
		if !strings.Contains(still, change[0]) {
			t.Fatalf("the description of Codex has no %q", change[0])
		}
		still = strings.Replace(still, change[0], change[1], 1)
	}
	w.write("config/harnesses/codex-still.toml", still)
	w.must("arm", "spawn", "-n", "one", "-w", w.workdirOf("one"), "--harness", "codex-still", "--model", "scripted")
	for _, prompt := range []string{"count to 40 every 200ms", "think hard for 8s, then say thought"} {
		end := decode[coleo.RunEnd](w, "arm", "prompt", "one", "--wait", "--timeout", patience.String(), prompt)
		last := strings.Fields(end.Answer)
		if len(last) == 0 || last[len(last)-1] != "40" && last[len(last)-1] != "thought" || end.Status != coleo.Idle {
			t.Errorf("the answer to %q is %+v, want all of it", prompt, end)
		}
	}
	if x := decode[coleo.Explanation](w, "arm", "explain", "one"); x.Blind == "" {
		t.Errorf("explain does not say that the screen is blind: %+v", x.Witnesses)
	}
	w.must("arm", "prompt", "one", "think hard for 8s, then say thought")
	if r := w.run("arm", "prompt", "one", "say typed"); r.code != 11 {
		t.Errorf("a prompt into the running turn: %v, want it refused as busy (11)", r)
	}
	w.wait("one", coleo.Idle)
	nonce := conformance.Nonce()
	w.answered("one", "say "+nonce, nonce)
}
