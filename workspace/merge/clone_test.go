package merge_test

import (
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/changes"
)

func TestTheCommitsOfACloneAreMerged(t *testing.T) {
	t.Parallel()
	for _, way := range []changes.MergeWay{changes.WayMerge, changes.WaySquash, changes.WayRebase, changes.WayCommit} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			s, w := newArm(t, true)
			first := s.commit(w, "first", "1\n", "first")
			s.Write(filepath.Join(w.Path, "second"), "2\n")
			person := s.Person()
			m := s.merged(w, changes.MergeRequest{Way: way, Commit: "second"})
			tip := s.Rev(s.Repo, "coleo/fix")
			if tip != s.Rev(w.Path, "HEAD") || tip != m.Committed || s.Git(s.Repo, "rev-parse", tip+"^") != first {
				t.Errorf("the arm's branch is at %s; the merge says %+v", tip, m)
			}
			if got := s.Git(w.Path, "status", "--porcelain"); got != "" {
				t.Errorf("the clone has %q", got)
			}
			if way == changes.WayCommit {
				return
			}
			if s.show("base", "first") != "1" || s.show("base", "second") != "2" {
				t.Error("the branch base lacks the arm's work")
			}
			s.Same("the person's work folder", s.Person(), person)
			if m = s.merged(w, changes.MergeRequest{Way: way}); way != changes.WaySquash && !m.Nothing {
				t.Errorf("a second merge has something to do: %+v", m)
			}
			s.Fsck(s.Repo)
		})
	}
}

func TestConflictsWithACloneChangeNothingButTheArmsOwnBranch(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, true)
	s.Write(filepath.Join(w.Path, "file"), "the arm's\n")
	base := s.onBase("file", "the person's\n", "person's")
	m, err := s.merge(w, changes.MergeRequest{Commit: "work"})
	s.Check(err)
	if len(m.Conflicts) != 1 || m.Committed == "" || s.Rev(s.Repo, "base") != base ||
		s.Rev(s.Repo, "coleo/fix") != m.Committed {
		t.Errorf("the result is %+v", m)
	}
}

func TestTheErrorNamesACommitThatIsOnlyInTheClone(t *testing.T) {
	t.Parallel()
	for _, way := range []changes.MergeWay{changes.WayMerge, changes.WayCommit} {
		s, w := newArm(t, true)
		s.Git(s.Repo, "worktree", "add", "-q", filepath.Join(s.Root, "look"), w.Branch)
		s.Write(filepath.Join(w.Path, "new"), "x\n")
		_, err := s.merge(w, changes.MergeRequest{Way: way, Commit: "work"})
		made := s.Git(w.Path, "rev-parse", "--short=12", "HEAD")
		if err == nil || !strings.Contains(err.Error(), "the clone has the work as the commit "+made) ||
			!strings.Contains(err.Error(), "is checked out in ") {
			t.Errorf("%s: the error is %v, and the commit %s", way, err, made)
		}
	}
}
