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
	"testing"
	"time"

	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
	"coleo.dev/workspace/script"
)

var rounds = flag.Int("kill-rounds", 4, "how often each step is killed at a random moment")

// helperFor is an environment variable that makes this test program carry out one step and end. Its
// value contains the step and the folder of the stage.
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
	case "make", "make-clone":
		_, err := s.Make(ctx, workspace.Order{ID: gittest.ArmID(root, "fix"), Name: "fix",
			Folder: filepath.Join(root, "project"), Clone: step != "make"})
		return err
	case "make-several", "make-several-clones":
		_, err := s.Make(ctx, workspace.Order{ID: gittest.ArmID(root, "fix"), Name: "fix", With: []string{furtherRepo(root)},
			Folder: filepath.Join(root, "project"), Clone: step != "make-several"})
		return err
	case "restore-several":
		return restoreSeveral(ctx, s)
	case "remove":
		_, err := s.Remove(ctx, gittest.ArmID(root, "fix"), true)
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

// killed carries out a step in another process, and kills that process at a random moment. If `whole` is true,
// it also kills the git processes of that process.
func (s *stage) killed(step string, whole bool, within time.Duration) {
	s.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{helperFor + "=" + step + " " + s.Root, "PATH=" + os.Getenv("PATH")}
	if !s.Kill(cmd, whole, within) && whole {
		s.DropLocks()
	}
}

// TestM28AKillLosesNothing kills the making, the removal and the restoring of a worktree. After each of these
// kills, it also kills the pruning, which completes or undoes the killed step.
func TestM28AKillLosesNothing(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"make", "make-clone"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			killAll(newStage(t), first)
		})
	}
}

// killAll kills all steps at random moments. `first` is the name of the step that makes the worktree or the
// clone.
func killAll(s *stage, first string) {
	s.Helper()
	main := s.Person()
	times := map[string]time.Duration{"prune": 500 * time.Millisecond}
	for round := -1; round < gittest.Repeats(*rounds); round++ { // the first round only measures the times of the steps
		do := func(step string) {
			began := time.Now()
			if round < 0 {
				s.Check(doStep(step, s.Root))
				// Includes the start-up time of the other process.
				times[step] = time.Since(began) + 200*time.Millisecond
				return
			}
			s.killed(step, round%2 == 1, times[step])
			s.killed("prune", round%2 == 1, times["prune"])
			s.Check(doStep("prune", s.Root))
		}
		s.killRound(first, do)
		if !s.Same("the main work folder", s.Person(), main) {
			s.Fatalf("this was round %d", round)
		}
	}
	s.Fsck(s.Repo)
}

func (s *stage) killRound(first string, do func(step string)) {
	s.Helper()
	do(first)
	w, there := s.ready()
	if !there {
		s.nothingLeft()
		if out := s.Git(s.Repo, "branch", "--list", "coleo/*"); out != "" {
			s.Fatalf("a killed making has left the branch %s", out)
		}
		s.Check(doStep(first, s.Root))
		w, _ = s.ready()
	}
	if u, err := s.trees.Unsaved(s.Context(), w); err != nil || !u.Empty() {
		s.Fatalf("a new worktree has %v, %v", u, err)
	}
	s.Write(w.Path+"/file", "work "+strconv.Itoa(rand.Int())+"\n")
	s.Git(w.Path, "add", "file")
	s.Write(w.Path+"/file", "more work\n")
	s.Write(w.Path+"/new", "new\n")
	s.Write(w.Path+"/.env", "ignored\n")
	s.Write(w.Path+"/build/big", strings.Repeat("0123456789", 200_000))
	before, staged := s.WorkFiles(w.Path), s.Git(w.Path, "ls-files", "--stage")
	do("remove")
	if _, there := s.ready(); there {
		s.same(w, before, staged)
		s.Check(doStep("remove", s.Root))
	}
	s.nothingLeft()
	do("restore")
	if _, there := s.ready(); !there {
		s.nothingLeft()
		s.Check(doStep("restore", s.Root))
	}
	s.same(w, before, staged)
	s.Check(doStep("remove", s.Root))
	s.nothingLeft()
	s.Git(s.Repo, "branch", "-D", w.Branch)
	s.Git(s.Repo, "pack-refs", "--all")
}

// ready returns the worktree if it is ready.
func (s *stage) ready() (workspace.Workspace, bool) {
	s.Helper()
	all, err := s.trees.List()
	s.Check(err)
	if len(all) > 0 && all[0].Status != workspace.Ready {
		s.Fatalf("prune has left a worktree that is %s", all[0].Status)
	}
	if len(all) == 0 {
		return workspace.Workspace{}, false
	}
	return all[0], true
}

func (s *stage) same(w workspace.Workspace, before map[string]gittest.File, staged string) {
	s.Helper()
	if !s.Same("the worktree", s.WorkFiles(w.Path), before) {
		s.FailNow()
	}
	if now := s.Git(w.Path, "ls-files", "--stage"); now != staged {
		s.Fatalf("staged:\n%s\nbefore:\n%s", now, staged)
	}
}
