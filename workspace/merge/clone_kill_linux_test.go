package merge_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/changes"
	"coleo.dev/workspace/gittest"
)

// TestAKillOfAMergeOfACloneLosesNothing kills a merge at each of its git calls. Among them are the commit in
// the clone, the copying of the objects, and the moves of the two branches.
func TestAKillOfAMergeOfACloneLosesNothing(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, true)
	person, g := s.Person(), s.NewFatalGit()
	request := changes.MergeRequest{Commit: "the rest"}
	round := 0
	work := func() (committed, rest string) {
		round++
		committed, rest = fmt.Sprintf("committed-%d", round), fmt.Sprintf("rest-%d", round)
		s.commit(w, committed, "x\n", "work")
		s.Write(filepath.Join(w.Path, rest), "x\n")
		s.onBase(fmt.Sprintf("person-%d", round), "x\n", "person's")
		return committed, rest
	}
	work()
	s.Plan(g, 0, "", false)
	s.killed(w, request, g)
	for _, call := range g.Chosen() {
		committed, rest := work()
		moment := []gittest.Moment{gittest.BeforeGit, gittest.DuringGit, gittest.AfterGit}[call%3]
		s.Plan(g, call, moment, call%2 == 1)
		at := s.killed(w, request, g)
		s.settle(w)
		s.Check(filepath.WalkDir(w.Git, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".lock") { // git's error message advises to delete these locks
				return os.Remove(path)
			}
			return err
		}))
		s.merged(w, request)
		for _, name := range []string{committed, rest} {
			if _, err := s.Try(s.Repo, "show", "base:"+name); err != nil {
				t.Fatalf("after a kill at %q: the branch base lacks %s", at, name)
			}
		}
		if got := s.Git(w.Path, "status", "--porcelain"); got != "" {
			t.Fatalf("after a kill at %q: the clone has %s", at, got)
		}
		if arm := s.Rev(s.Repo, w.Branch); arm != s.Rev(w.Path, "HEAD") {
			t.Fatalf("after a kill at %q: the arm's branch is at %s", at, arm)
		}
	}
	s.Same("what belongs to the person", s.Person(), person)
	s.Fsck(s.Repo)
}
