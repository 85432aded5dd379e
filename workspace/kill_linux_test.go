package workspace_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev/workspace"
	"coleo.dev/workspace/script"
)

var rounds = flag.Int("kill-rounds", 4, "how often each step is killed at a random moment")

// helperFor names the variable that makes this test program do one step and end. Its value is
// the step and the folder of the stage.
const helperFor = "COLEO_TEST_WORKSPACE_STEP"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guardWord {
		code, err := script.Guarded(os.Args[2:], os.Stdin)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(code)
	}
	if step, root, ok := strings.Cut(os.Getenv(helperFor), " "); ok {
		if err := doStep(step, root); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func doStep(step, root string) error {
	ctx, s := context.Background(), workspacesIn(root)
	switch step {
	case "make":
		_, err := s.Make(ctx, workspace.Order{ID: "arm-fix", Name: "fix", Folder: filepath.Join(root, "project")})
		return err
	case "remove":
		_, err := s.Remove(ctx, "arm-fix", true)
		return err
	case "restore":
		kept, err := s.Kept(ctx)
		if err == nil {
			_, err = s.Restore(ctx, kept[len(kept)-1], "")
		}
		return err
	case "prune":
		_, err := s.Prune(ctx, func(workspace.Workspace) bool { return true })
		return err
	}
	return fmt.Errorf("no step %q", step)
}

// killed does a step in another process, and kills that process at a random moment. With
// whole, it kills the gits of the process too. It reports whether the step had ended before.
func (s *stage) killed(step string, whole bool, within time.Duration) (ended bool) {
	s.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{helperFor + "=" + step + " " + filepath.Dir(s.repo), "PATH=" + os.Getenv("PATH")}
	s.check(cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			s.Errorf("%s: %v", step, err)
		}
		return true
	case <-time.After(rand.N(within)):
	}
	pids := []int{cmd.Process.Pid}
	if whole {
		pids = append(pids, children(cmd.Process.Pid)...)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-done
	if whole {
		s.dropLocks()
	}
	return false
}

func children(pid int) (all []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		data, _ := os.ReadFile(path)
		for _, word := range strings.Fields(string(data)) {
			child, _ := strconv.Atoi(word)
			all = append(append(all, child), children(child)...)
		}
	}
	return all
}

// dropLocks deletes the locks that a killed git has left, as git tells its user to do.
func (s *stage) dropLocks() {
	s.Helper()
	s.check(filepath.WalkDir(filepath.Join(s.repo, ".git"), func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			return os.Remove(path)
		}
		return nil
	}))
}

// TestM28AKillLosesNothing kills the making, the removal and the restoring of a worktree, and
// the pruning after each.
func TestM28AKillLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	main := s.mainPicture()
	times := map[string]time.Duration{"prune": 500 * time.Millisecond}
	for round := -1; round < *rounds; round++ { // the first round measures
		do := func(step string) {
			began := time.Now()
			if round < 0 {
				s.check(doStep(step, filepath.Dir(s.repo)))
				times[step] = time.Since(began) + 200*time.Millisecond // the start of the other process
				return
			}
			s.killed(step, round%2 == 1, times[step])
			s.killed("prune", round%2 == 1, times["prune"])
			s.check(doStep("prune", filepath.Dir(s.repo)))
		}
		s.killRound(do)
		if now := s.mainPicture(); now != main {
			t.Fatalf("round %d: the main work folder was changed:\n%s\nbefore:\n%s", round, now, main)
		}
	}
	s.must(s.repo, "fsck", "--no-dangling")
}

func (s *stage) killRound(do func(step string)) {
	s.Helper()
	do("make")
	w, there := s.ready()
	if !there {
		s.nothingLeft()
		if out := s.must(s.repo, "branch", "--list", "coleo/*"); out != "" {
			s.Fatalf("a killed making has left the branch %s", out)
		}
		s.check(doStep("make", filepath.Dir(s.repo)))
		w, _ = s.ready()
	}
	if u, err := s.trees.Unsaved(s.Context(), w); err != nil || !u.Empty() {
		s.Fatalf("a new worktree has %v, %v", u, err)
	}
	s.write(w.Path+"/file", "work "+strconv.Itoa(rand.Int())+"\n")
	s.must(w.Path, "add", "file")
	s.write(w.Path+"/file", "more work\n")
	s.write(w.Path+"/new", "new\n")
	s.write(w.Path+"/.env", "ignored\n")
	s.write(w.Path+"/build/big", strings.Repeat("0123456789", 200_000))
	before, staged := picture(s.T, w.Path), s.must(w.Path, "ls-files", "--stage")
	do("remove")
	if _, there := s.ready(); there {
		s.same(w, before, staged)
		s.check(doStep("remove", filepath.Dir(s.repo)))
	}
	s.nothingLeft()
	do("restore")
	if _, there := s.ready(); !there {
		s.nothingLeft()
		s.check(doStep("restore", filepath.Dir(s.repo)))
	}
	s.same(w, before, staged)
	s.check(doStep("remove", filepath.Dir(s.repo)))
	s.nothingLeft()
	s.must(s.repo, "branch", "-D", w.Branch)
	s.must(s.repo, "pack-refs", "--all")
}

// ready returns the worktree if it is ready.
func (s *stage) ready() (workspace.Workspace, bool) {
	s.Helper()
	all, err := s.trees.List()
	s.check(err)
	if len(all) > 0 && all[0].Status != workspace.Ready {
		s.Fatalf("prune has left a worktree that is %s", all[0].Status)
	}
	if len(all) == 0 {
		return workspace.Workspace{}, false
	}
	return all[0], true
}

func (s *stage) same(w workspace.Workspace, before, staged string) {
	s.Helper()
	if now := picture(s.T, w.Path); now != before {
		s.Fatalf("the worktree has\n%s\nbefore:\n%s", now, before)
	}
	if now := s.must(w.Path, "ls-files", "--stage"); now != staged {
		s.Fatalf("staged:\n%s\nbefore:\n%s", now, staged)
	}
}
