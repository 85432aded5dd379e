package merge_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
	"coleo.dev/workspace/merge"
)

var rounds = flag.Int("kill-rounds", 4, "how often a merge is killed at a random moment")

// mostRounds is how many times as many merges are killed, until one is interrupted.
const mostRounds = 10

// helperFor names the variable that makes this test program merge and end.
const helperFor = "COLEO_TEST_MERGE"

// task is the value of that variable.
type task struct {
	Dir     string
	Environ []string
	Arm     workspace.Workspace
	Wish    changes.MergeWish
}

func TestMain(m *testing.M) {
	if text := os.Getenv(helperFor); text != "" {
		var t task
		err := json.Unmarshal([]byte(text), &t)
		if err == nil {
			trees := workspace.Workspaces{Dir: t.Dir, Environ: t.Environ, Now: time.Now}
			_, err = merge.Do(context.Background(), trees, t.Arm, t.Wish, merge.Hooks{})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// killed merges in another process, and kills that process at a random moment. With whole, it
// kills the gits of the process too. It reports whether the merge had ended before.
func (s *stage) killed(w workspace.Workspace, wish changes.MergeWish, whole bool, within time.Duration) (ended bool) {
	s.Helper()
	text, err := json.Marshal(task{s.trees.Dir, s.Environ, w, wish})
	s.Check(err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{helperFor + "=" + string(text), "PATH=" + os.Getenv("PATH")}
	return s.Kill(cmd, whole, within)
}

// settle waits until no git of a killed merge runs, and deletes the locks that a killed git
// has left, as git tells its user to do.
func (s *stage) settle(w workspace.Workspace) {
	s.Helper()
	_, unlock, err := s.trees.LockRepository(s.Context(), w.Common)
	s.Check(err)
	defer unlock()
	s.DropLocks()
}

// TestM28AKillOfAMergeLosesNothing kills merges of all ways, with work that is committed and
// work that is not.
func TestM28AKillOfAMergeLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.arm("fix")
	person := s.Person()
	ways := []changes.MergeWay{changes.WayMerge, changes.WaySquash, changes.WayRebase}
	within, interrupted := time.Duration(0), 0
	// The first round measures. Chance decides whether a merge is interrupted: at least one must be.
	for round := -1; round < *rounds || interrupted == 0 && round < mostRounds**rounds; round++ {
		// The arm begins anew on the branch, so that a rebase meets no merge commit.
		s.Git(w.Path, "reset", "-q", "--hard", "base")
		name := fmt.Sprintf("file-%d", round)
		head := s.commit(w, name, "committed\n", "add "+name)
		s.Write(filepath.Join(w.Path, name), "uncommitted\n")
		s.Write(filepath.Join(w.Path, name+"-new"), "untracked\n")
		s.onBase(fmt.Sprintf("person-%d", round), "x\n", "person's")
		before, files := s.Git(s.Repo, "rev-parse", "base"), s.Files(w.Path)
		wish := changes.MergeWish{Way: ways[(round+1)%len(ways)], Commit: "the rest of " + name}
		if round < 0 {
			began := time.Now()
			s.merged(w, wish)
			within = time.Since(began) + 100*time.Millisecond // the start of the other process
			continue
		}
		if !s.killed(w, wish, round%2 == 1, within) {
			interrupted++
		}
		s.settle(w)
		s.checkKilled(w, before, head, name, files)
		if !s.Same("the person's work folder", s.Person(), person) {
			t.Fatalf("this was round %d", round)
		}
	}
	s.Git(s.Repo, "fsck", "--no-dangling")
	t.Logf("%d merges were interrupted", interrupted)
	if interrupted == 0 && *rounds > 0 {
		t.Error("no merge was interrupted")
	}
}

// checkKilled checks that the branches are as before a merge or as after it, that no file of
// the arm was changed, and that the next merge does what is left.
func (s *stage) checkKilled(w workspace.Workspace, before, head, name string,
	files map[string]gittest.File) {
	s.Helper()
	base, own := s.Git(s.Repo, "rev-parse", "base"), s.Git(s.Repo, "rev-parse", "coleo/fix")
	if own != head && s.Git(s.Repo, "rev-parse", own+"^") != head {
		s.Fatalf("the arm's branch was at %s and is at %s", head, own)
	}
	if base != before {
		s.Git(s.Repo, "merge-base", "--is-ancestor", before, base)
		s.whole(base, name)
	}
	if !s.Same("the worktree", s.Files(w.Path), files) {
		s.FailNow()
	}
	if base == before || own == head { // it was not merged, or only one of the branches was moved
		s.merged(w, changes.MergeWish{Commit: "the rest"})
	}
	s.whole("base", name)
	if out := s.Git(w.Path, "status", "--porcelain"); out != "" || !s.Same("the worktree", s.Files(w.Path), files) {
		s.Fatalf("the worktree has %q", out)
	}
}

// whole checks that a commit has all work of a round.
func (s *stage) whole(commit, name string) {
	s.Helper()
	if s.show(commit, name) != "uncommitted" || s.show(commit, name+"-new") != "untracked" {
		s.Fatalf("%s has not all work of %s", commit, name)
	}
}
