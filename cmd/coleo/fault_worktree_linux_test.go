package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/workspace"
)

// TestM28AKilledHostAgentLeavesNoHalfWorktree kills the host agent at a random moment while it
// starts an arm in a worktree. The next start of the arm must have a complete worktree.
func TestM28AKilledHostAgentLeavesNoHalfWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.project()
	w.must("up")
	const rounds, within = 4, 1500 * time.Millisecond
	for range rounds {
		args := []string{"arm", "spawn", "-n", "one", "--harness", "fake", "-w", filepath.Join(dir, "sub"), "--worktree"}
		starting := w.command(args...)
		w.check(starting.Start())
		time.Sleep(rand.N(within)) // kills at a random moment
		for _, pid := range w.processesOf("agent") {
			w.kill9(pid)
		}
		_ = starting.Wait()
		w.must("up")
		until(t, "the arm works", func() bool {
			if r := w.run("--json", "arm", "status", "one"); r.code == 0 {
				var arm coleo.Arm
				w.check(json.Unmarshal([]byte(r.out), &arm))
				if arm.State == coleo.Idle && arm.PID != 0 {
					return true
				}
				w.run("arm", "recover", "one")
			}
			w.run(args...)
			return false
		})
		var all struct{ Workspaces []workspace.Workspace }
		w.check(json.Unmarshal([]byte(w.must("--json", "workspace", "list")), &all))
		if len(all.Workspaces) != 1 || all.Workspaces[0].Status != workspace.Ready {
			t.Fatalf("the worktrees are %+v", all.Workspaces)
		}
		tree := all.Workspaces[0].Path
		if out := w.git(tree, "status", "--porcelain", "-uno"); out != "" {
			t.Fatalf("the worktree is not whole: %s", out)
		}
		w.must("arm", "kill", "one")
		for _, name := range []string{fakeRecord, fakeEnviron} {
			_ = os.Remove(filepath.Join(tree, "sub", name))
		}
		w.must("arm", "remove", "one")
		if out := w.git(dir, "branch", "--list", "coleo/*") + w.git(dir, "status", "--porcelain"); out != "" {
			t.Fatalf("left: %s", out)
		}
		if _, err := os.Stat(tree); err == nil {
			t.Fatalf("%s is left", tree)
		}
	}
}
