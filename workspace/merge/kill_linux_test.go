package merge_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
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

// helperFor is an environment variable that makes this test program carry out a task and end.
const helperFor = "COLEO_TEST_MERGE"

// task is the value of the variable helperFor.
type task struct {
	Dir     string
	Environ []string
	Arm     workspace.Workspace
	Request changes.MergeRequest
	Step    string   // the step to carry out; "" is the merge
	With    []string // further repositories of the arm
}

// do does a step of a task.
func (t task) do() error {
	ctx, trees := context.Background(), workspace.Workspaces{Dir: t.Dir, Environ: t.Environ, Now: time.Now}
	switch t.Step {
	case "", "merge":
		_, err := merge.Do(ctx, trees, t.Arm, t.Request, merge.Options{})
		return err
	case "make":
		_, err := trees.Make(ctx, workspace.Order{ID: t.Arm.ID, Name: t.Arm.Name, Folder: t.Arm.From, Base: "base",
			With: t.With})
		return err
	case "remove":
		_, err := trees.Remove(ctx, t.Arm.ID, true)
		return err
	case "restore":
		return t.restore(ctx, trees)
	case "prune":
		all, err := merge.Recover(ctx, trees)
		for _, r := range all {
			if r.Left != "" {
				err = errors.Join(err, errors.New(r.Left))
			}
		}
		_, pruned := trees.Prune(ctx, func(workspace.Workspace) bool { return true })
		return errors.Join(err, pruned)
	}
	return fmt.Errorf("no step %q", t.Step)
}

// restore restores each missing worktree of the arm from the newest ref that has kept it.
func (t task) restore(ctx context.Context, trees workspace.Workspaces) error {
	kept, err := trees.Kept(ctx)
	if err != nil {
		return err
	}
	for _, repo := range append([]string{t.Arm.From}, t.With...) {
		var newest workspace.Kept
		for _, k := range kept { // the oldest first
			if k.Common == filepath.Join(repo, ".git") {
				newest = k
			}
		}
		if _, there, err := trees.OfKept(ctx, newest); err != nil || there {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := trees.Restore(ctx, newest, ""); err != nil {
			return err
		}
	}
	return nil
}

func TestMain(m *testing.M) {
	if text := os.Getenv(helperFor); text != "" {
		var t task
		err := json.Unmarshal([]byte(text), &t)
		if err == nil {
			err = t.do()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// killed merges in another process. The plan `g` kills that process at one of its git calls. killed returns
// that git call, or "" if the merge has ended before it.
func (s *stage) killed(w workspace.Workspace, request changes.MergeRequest, g gittest.FatalGit) string {
	s.Helper()
	text, err := json.Marshal(task{Dir: s.trees.Dir, Environ: g.Environ(s.Environ), Arm: w, Request: request})
	s.Check(err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{helperFor + "=" + string(text), "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	err = cmd.Run()
	at := g.Killed()
	if (err == nil) != (at == "") {
		s.Fatalf("the merge ended with %v, and the fatal call is %q", err, at)
	}
	return at
}

// settle waits until no git of a killed merge is running. Then it deletes the locks that a killed
// git has left, as git's error message advises.
func (s *stage) settle(w workspace.Workspace) {
	s.Helper()
	_, unlock, err := s.trees.LockRepository(s.Context(), w.Common)
	s.Check(err)
	defer unlock()
	s.DropLocks()
}

// TestM28AKillOfAMergeLosesNothing kills merges in all ways, with committed and with uncommitted
// work. The kill comes at a random git call of the merge. It comes before git starts, while git
// runs, or before the merge learns that git has ended.
func TestM28AKillOfAMergeLosesNothing(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	person := s.Person()
	ways := []changes.MergeWay{changes.WayMerge, changes.WaySquash, changes.WayRebase}
	g, moments := s.NewFatalGit(), []gittest.Moment{gittest.BeforeGit, gittest.DuringGit, gittest.AfterGit}
	calls, kills := map[changes.MergeWay]int{}, map[gittest.Moment]int{}
	// The first rounds only count the git calls of each way.
	for round := -len(ways); round < gittest.Repeats(*rounds); round++ {
		// In each round the arm begins at the branch again, so that a rebase meets no merge commit.
		s.Git(w.Path, "reset", "-q", "--hard", "base")
		name := fmt.Sprintf("file-%d", round)
		head := s.commit(w, name, "committed\n", "add "+name)
		s.Write(filepath.Join(w.Path, name), "uncommitted\n")
		s.Write(filepath.Join(w.Path, name+"-new"), "untracked\n")
		s.onBase(fmt.Sprintf("person-%d", round), "x\n", "person's")
		before, files := s.Rev(s.Repo, "base"), s.Files(w.Path)
		request := changes.MergeRequest{Way: ways[(round+len(ways))%len(ways)], Commit: "the rest of " + name}
		if round < 0 {
			s.Plan(g, 0, "", false)
			s.killed(w, request, g)
			calls[request.Way] = g.Calls()
			continue
		}
		moment, call := moments[rand.IntN(len(moments))], 1+rand.IntN(calls[request.Way])
		s.Plan(g, call, moment, round%2 == 1)
		at := s.killed(w, request, g)
		if at == "" {
			t.Errorf("the merge (%s) was not interrupted at call %d of %d", request.Way, call, calls[request.Way])
		}
		kills[moment]++
		s.settle(w)
		s.checkKilled(w, before, head, name, files)
		if !s.Same("the person's work folder", s.Person(), person) {
			t.Fatalf("this was round %d, killed at %s", round, at)
		}
	}
	s.Fsck(s.Repo)
	t.Logf("merges have %v git calls; they were killed at %v", calls, kills)
}

// checkKilled checks that each branch is as before or as after a merge, and that no file of the arm
// has changed. The next merge must complete the work.
func (s *stage) checkKilled(w workspace.Workspace, before, head, name string,
	files map[string]gittest.File) {
	s.Helper()
	base, own := s.Rev(s.Repo, "base"), s.Rev(s.Repo, "coleo/fix")
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
	if base == before || own == head { // nothing was merged, or only one of the branches was moved
		s.merged(w, changes.MergeRequest{Commit: "the rest"})
	}
	s.whole("base", name)
	if out := s.Git(w.Path, "status", "--porcelain"); out != "" || !s.Same("the worktree", s.Files(w.Path), files) {
		s.Fatalf("the worktree has %q", out)
	}
}

// whole checks that a commit contains all work of a round.
func (s *stage) whole(commit, name string) {
	s.Helper()
	if s.show(commit, name) != "uncommitted" || s.show(commit, name+"-new") != "untracked" {
		s.Fatalf("%s has not all work of %s", commit, name)
	}
}
