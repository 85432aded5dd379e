package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"coleo.dev"
)

// Serve and the host agent are killed while a fan-out starts its arms. The report of the fan-out
// must be right afterwards. Each arm that has received the task must do it once. An arm that is
// reported as not started must not exist.
func TestWhatAFanOutSaysOutlivesAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.project() + "/sub"
	w.must("up")
	var text bytes.Buffer
	cmd := w.command("--json", "fan-out", "-n", "6", "--harness", "fake", "-w", dir, "say hello")
	cmd.Stdout = &text
	w.check(cmd.Start())
	until(t, "an arm of the fan-out is there", func() bool {
		return len(decode[struct{ Fanouts map[string][]string }](w, "fan-out", "list").Fanouts) > 0
	})
	for _, verb := range []string{"serve", "agent"} {
		// There can be several processes: until a new child process runs its own program, it has its
		// parent's command line.
		for _, pid := range w.processesOf(verb) {
			w.kill9(pid)
		}
	}
	_ = cmd.Wait()
	var out fanOut
	w.check(json.Unmarshal(text.Bytes(), &out))
	w.must("up")
	now := w.compared(out.ID, "--wait", "--timeout", patience.String())
	for _, a := range out.Arms {
		_, there := now[a.Arm]
		runs := now[a.Arm].Runs
		if a.Run != "" && runs == 0 {
			// The kill came while the prompt was being typed. The log must say that the prompt is lost.
			runs = len(w.events(a.Arm, coleo.EventPromptLost))
			t.Logf("the prompt of %s is called lost %d times", a.Arm, runs)
		}
		if a.Run == "" && a.Error == nil || a.Run != "" && runs != 1 || there && !a.Started && !a.Unknown {
			t.Errorf("fan-out says %+v, and the arm is %+v: %s", a, now[a.Arm], w.must("arm", "status", a.Arm))
		}
	}
}
