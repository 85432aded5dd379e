package main

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
)

func TestAnArmForOneTaskEndsWhenItIsDone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	dir := f.path("work-task")
	f.check(os.Mkdir(dir, 0o700))
	spawn := []string{"arm", "spawn", "-n", "task", "-w", dir, "--harness", "fake"}
	r := f.run(append([]string{"--json"}, append(spawn, "--on-limit", "handover:generic")...)...)
	if !strings.Contains(r.err, `"code":"invalid"`) {
		t.Errorf("a hand-over to a shell at a limit: %s%s, want invalid", r.out, r.err)
	}
	f.must(append(spawn, "--end-when-done", "-p", "say task-n41")...)
	until(t, "the arm has ended", func() bool { return f.arm("task").Status == coleo.StatusStopped })
	if out := f.must("arm", "last", "task"); out != "task-n41\n" {
		t.Errorf("the answer is %q", out)
	}
	f.must("arm", "spawn", "-n", "task", "--end-when-done=false")
	f.must("arm", "prompt", "task", "--wait", "say again-n42")
	if arm := f.arm("task"); arm.Status == coleo.StatusStopped {
		t.Error("the arm ends without the setting")
	}
}
