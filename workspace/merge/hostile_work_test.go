package merge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
)

// Git ignores files with names like .GIT or git~1, and only warns about them. A merge must not claim that it
// has committed all of the work.
func TestAFileThatGitDoesNotTakeIsNotLeftOut(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		for _, name := range []string{".GIT", "git~1", ".git ", "dir/.GIT/config"} {
			s, w := newArm(t, clones)
			s.Write(filepath.Join(w.Path, name), "x")
			s.Write(filepath.Join(w.Path, "other"), "x")
			refs, person := s.refs(), s.Person()
			_, err := s.merge(w, changes.MergeRequest{Commit: "all"})
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), name) ||
				!strings.Contains(err.Error(), "nothing was merged") {
				t.Errorf("%q, clone %v: the error is %v", name, clones, err)
			}
			if s.refs() != refs {
				t.Errorf("%q, clone %v: the refs are %s", name, clones, s.refs())
			}
			s.Same("what belongs to the person", s.Person(), person)
			if _, err := os.Lstat(filepath.Join(w.Path, name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// macOS ignores the invisible character in ".g\u200cit", so it treats this name like .git. Coleo could not
// fetch a commit with such a name, so it must refuse the name before it commits in the clone.
func TestAClonesNameForGitOnAMacIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, true)
	s.Write(filepath.Join(w.Path, ".g\u200cit"), "x")
	head := s.Rev(w.Path, "HEAD")
	_, err := s.merge(w, changes.MergeRequest{Commit: "all"})
	if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), `.g\u200cit`) {
		t.Errorf("the error is %v", err)
	}
	if now := s.Rev(w.Path, "HEAD"); now != head {
		t.Errorf("the clone has the commit %s", now)
	}
}

func TestALinkInPlaceOfAFolderIsCommitted(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		s, w := newArm(t, clones)
		s.commit(w, "dir/deep/file", "x\n", "a folder")
		s.Check(os.RemoveAll(filepath.Join(w.Path, "dir")))
		s.Check(os.Symlink("file", filepath.Join(w.Path, "dir")))
		s.merged(w, changes.MergeRequest{Commit: "a link"})
		if got := s.Git(s.Repo, "ls-tree", "-r", "--name-only", "base"); got != ".gitignore\ndir\nfile" {
			t.Errorf("clone %v: the branch has %q", clones, got)
		}
		if got := s.Git(w.Path, "status", "--porcelain"); got != "" {
			t.Errorf("clone %v: the worktree has %q", clones, got)
		}
	}
}

// An index can record a conflict although no file has changed. There is then nothing to commit. A merge with
// --commit must succeed, and not advise the user to use --commit.
func TestAnUnmergedIndexWithoutOtherWorkStopsNoMerge(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		s, w := newArm(t, clones)
		s.commit(w, "new", "x\n", "work")
		id := s.Git(w.Path, "rev-parse", "HEAD:file")
		conflict := s.Command(w.Path, "update-index", "--index-info")
		conflict.Stdin = strings.NewReader("0 " + strings.Repeat("0", len(id)) + "\tfile\n100644 " + id +
			" 1\tfile\n100644 " + id + " 2\tfile\n")
		s.Check(conflict.Run())
		if m := s.merged(w, changes.MergeRequest{Commit: "all"}); m.Nothing || m.Committed != "" {
			t.Errorf("clone %v: %+v", clones, m)
		}
		if got := s.show("base", "new"); got != "x" {
			t.Errorf("clone %v: the file is %q", clones, got)
		}
	}
}

// If git fails, its own error does not show whether something was merged. The error of the merge must say that
// nothing was merged.
func TestAnErrorOfGitSaysThatNothingWasMerged(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		s, w := newArm(t, clones)
		s.commit(w, "new", "x\n", "work")
		s.Append(s.Settings(), "[filter \"lfs\"]\n\tclean = false\n\trequired = true\n")
		s.Write(filepath.Join(w.Path, ".gitattributes"), "* filter=lfs\n")
		for _, request := range []changes.MergeRequest{{}, {Commit: "all"}, {Way: changes.WayCommit, Commit: "all"},
			{DryRun: true}} {
			_, err := s.merge(w, request)
			if err == nil || !strings.Contains(err.Error(), "nothing was merged") || !strings.Contains(err.Error(), "filter") {
				t.Errorf("clone %v: the error is %v", clones, err)
			}
		}
	}
}

// The arm has applied a stash, which conflicts with its last commit. No merge is in progress, but the file contains
// both versions between marks of conflict. A commit of all files must refuse such a file, as git commit does.
func TestAFileInConflictIsNotCommitted(t *testing.T) {
	t.Parallel()
	for _, clones := range []bool{false, true} {
		s, w := newArm(t, clones)
		s.Write(filepath.Join(w.Path, "file"), "stashed\n")
		s.Git(w.Path, "stash", "-q")
		s.commit(w, "file", "committed\n", "work")
		if out, err := s.Try(w.Path, "stash", "pop"); err == nil {
			t.Fatalf("the stash has no conflict: %s", out)
		}
		refs := s.refs()
		_, err := s.merge(w, changes.MergeRequest{Commit: "all"})
		if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "conflict in file") ||
			!strings.Contains(err.Error(), "nothing was merged") || s.refs() != refs {
			t.Errorf("clone %v: the error is %v", clones, err)
		}
		s.Write(filepath.Join(w.Path, "file"), "resolved\n")
		s.Git(w.Path, "add", "file")
		s.merged(w, changes.MergeRequest{Commit: "all"})
		if got := s.show("base", "file"); got != "resolved" {
			t.Errorf("clone %v: the file is %q", clones, got)
		}
	}
}
