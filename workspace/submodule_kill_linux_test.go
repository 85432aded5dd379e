package workspace_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
)

var atCalls = flag.Int("kill-calls", 3, "how many git calls of each step are killed; 0 means each one")

// killing carries out the steps of a worktree with submodules, and kills them at calls of git.
type killing struct {
	*stage
	fatal gittest.FatalGit
	kills int
}

// step carries out a step in another process. It kills that process at its git call number `call`. If `call` is
// 0, it kills nothing. It returns how many git calls the process has made.
func (k *killing) step(name string, call int) int {
	k.Helper()
	moment := []gittest.Moment{gittest.BeforeGit, gittest.DuringGit, gittest.AfterGit}[rand.IntN(3)]
	k.Plan(k.fatal, call, moment, rand.IntN(2) == 0)
	cmd := exec.Command(os.Args[0])
	cmd.Env = k.fatal.Environ([]string{helperFor + "=" + name + " " + k.Root, "PATH=" + os.Getenv("PATH")})
	out, err := cmd.CombinedOutput()
	calls := k.fatal.Calls()
	// The removal of a restored worktree deletes no branch, so it can end one call before the planned kill.
	killed := call > 0 && calls >= call
	if (err != nil) != killed {
		k.Fatalf("%s, killed at call %d of %d: %v\n%s", name, call, calls, err, out)
	}
	if killed {
		k.kills++
		k.Check(k.trees.Rename(k.Context(), k.ArmID("fix"), "fix")) // waits for git, which holds the lock
		k.DropLocks()
		k.Check(doStep("prune", k.Root))
	}
	return calls
}

// chosen returns the calls at which a step is killed.
func chosen(calls int) (out []int) {
	every := 1
	if *atCalls > 0 {
		every = max(1, calls/gittest.Repeats(*atCalls))
	}
	for call := 1 + rand.IntN(every); call <= calls; call += every {
		out = append(out, call)
	}
	return out
}

// TestM28AKillAtACallOfGitLeavesNoHalfSubmodule kills the making, the removal and the restoring of a
// worktree whose submodules contain work.
func TestM28AKillAtACallOfGitLeavesNoHalfSubmodule(t *testing.T) {
	t.Parallel()
	s := newLibraryStage(t)
	k := &killing{stage: s, fatal: s.NewFatalGit()}
	main := s.Person()
	calls := k.step("make", 0)
	s.Check(doStep("remove", s.Root))
	for _, call := range chosen(calls) {
		k.step("make", call)
		if _, there := s.ready(); there {
			t.Fatalf("the making was killed at call %d, and is ready", call)
		}
		s.nothingLeft()
		if out := s.Git(s.Repo, "branch", "--list", "coleo/*"); out != "" {
			t.Fatalf("the making that was killed at call %d has left the branch %s", call, out)
		}
	}
	s.Check(doStep("make", s.Root))
	w, _ := s.ready()
	if u, err := s.trees.Unsaved(t.Context(), w); err != nil || !u.Empty() {
		t.Fatalf("the new worktree has %v, %v", u, err)
	}
	s.Git(w.Path+"/lib", "commit", "-q", "--allow-empty", "-m", "work")
	s.Git(w.Path+"/lib/inner", "commit", "-q", "--allow-empty", "-m", "work")
	s.Write(w.Path+"/lib/inner/new", "new\n")
	before := s.bytesOf(w)
	k.removeAndRestore(w, before)
	s.Same("the main work folder", s.Person(), main)
	s.Fsck(s.Repo)
	t.Logf("%d kills", k.kills)
}

// removeAndRestore kills removals and restorings. After each kill, the worktree must be complete, or a kept ref
// must contain all of its work.
func (k *killing) removeAndRestore(w workspace.Workspace, before map[string]gittest.File) {
	k.Helper()
	back := func() {
		if _, there := k.ready(); !there {
			k.nothingLeft()
			k.Check(doStep("restore", k.Root))
		}
		if !k.Same("the worktree", k.bytesOf(w), before) {
			k.FailNow()
		}
	}
	calls := k.step("remove", 0)
	back()
	for _, call := range chosen(calls) {
		k.step("remove", call)
		back()
	}
	k.Check(doStep("remove", k.Root))
	calls = k.step("restore", 0)
	for _, call := range chosen(calls) {
		if _, there := k.ready(); there {
			k.Check(doStep("remove", k.Root))
		}
		k.step("restore", call)
		back()
	}
	for _, name := range []string{"lib", "lib/inner"} {
		if out := k.Git(filepath.Join(w.Path, name), "log", "-1", "--format=%s"); !strings.HasPrefix(out, "work") {
			k.Errorf("%s has the commit %s", name, out)
		}
	}
}
