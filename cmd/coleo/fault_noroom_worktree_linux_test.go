package main

import (
	"os"
	"strings"
	"testing"
)

// On a full disk, removing an arm is the way to make room. It must also remove the worktree of the arm.
func TestOnAFullDiskAnArmWithAWorktreeIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.smallState("48m")
	w.project()
	w.must("up")
	arm := w.spawnInWorktree("one")
	w.must("arm", "kill", "one")
	w.forgetFake(arm.Workdir)
	w.fill()
	w.must("arm", "remove", "one")
	if _, err := os.Stat(arm.Workdir); !os.IsNotExist(err) {
		t.Errorf("the worktree %s: %v", arm.Workdir, err)
	}
	w.check(os.Remove(w.path("state/filler")))
	if out := w.must("workspace", "list"); !strings.Contains(out, "No worktrees") {
		t.Errorf("there are worktrees:\n%s", out)
	}
}
