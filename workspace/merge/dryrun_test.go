package merge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"coleo.dev/changes"
)

func TestADryRunTellsAllAndWritesNothing(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		t.Run(fmt.Sprint("clone: ", clones), func(t *testing.T) {
			t.Parallel()
			s, w := newArm(t, clones)
			s.commit(w, "a", "a\n", "add a")
			s.onBase("b", "b\n", "person's")
			s.Write(filepath.Join(w.Path, "untracked"), "untracked\n")
			refs, objects, person := s.refs(), s.objects(), s.Person()
			for _, way := range []changes.MergeWay{changes.WayMerge, changes.WaySquash, changes.WayRebase} {
				m := s.merged(w, changes.MergeRequest{Way: way, Commit: "the rest", DryRun: true})
				if len(m.Commits) != 2 || m.Commits[0].Subject != "the rest" || len(m.Files) != 2 || m.After == "" || !m.DryRun {
					t.Errorf("%s: the result is %+v", way, m)
				}
			}
			if m := s.merged(w, changes.MergeRequest{Into: "main", Commit: "x", DryRun: true}); m.CheckedOut != s.Repo {
				t.Errorf("main is checked out in %q", m.CheckedOut)
			}
			if s.refs() != refs || s.objects() != objects || s.Git(w.Path, "status", "--porcelain") != "?? untracked" {
				t.Error("the dry run has written something")
			}
			s.Same("the person's work folder", s.Person(), person)
			if left, _ := os.ReadDir(filepath.Join(s.trees.Dir, "tmp")); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
		})
	}
}
