package merge_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace/merge"
)

// time0 is a time that differs from the times of all files in the tests.
var time0 = time.Unix(1, 0)

// checkedOut makes a work folder of the person in which base is checked out.
func (s *stage) checkedOut() string {
	s.Helper()
	dir := filepath.Join(s.Root, "person")
	s.Git(s.Repo, "worktree", "add", "-q", dir, "base")
	return dir
}

func TestM28APersonsCheckoutIsUpdatedWithTheBranch(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	dir := s.checkedOut()
	s.Write(filepath.Join(dir, "own.txt"), "untracked\n")
	s.commit(w, "file", "changed\n", "change file")
	s.commit(w, "new", "new\n", "add new")
	// The file's time now differs from the time in the index.
	s.Check(os.Chtimes(filepath.Join(dir, "file"), time0, time0))
	for _, way := range []changes.MergeWay{changes.WayMerge, changes.WaySquash, changes.WayRebase} {
		s.commit(w, string(way), "x\n", "add "+string(way))
		m := s.merged(w, changes.MergeRequest{Way: way, UpdateCheckout: true})
		if m.Updated != dir || m.After == "" || s.Rev(dir, "HEAD") != m.After {
			t.Fatalf("%s: the merge is %+v", way, m)
		}
		if got := s.Git(dir, "status", "--porcelain"); got != "?? own.txt" {
			t.Fatalf("%s: the folder has %q", way, got)
		}
		s.Git(w.Path, "reset", "-q", "--hard", "base")
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "file")); string(data) != "changed\n" {
		t.Errorf("the file is %q", data)
	}
}

func TestM28ACheckoutWithWorkIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(s *stage, dir string)
		text    string
	}{
		"a changed file": {func(s *stage, dir string) { s.Write(filepath.Join(dir, "file"), "mine\n") },
			"1 uncommitted file (file)"},
		"a staged file": {func(s *stage, dir string) {
			s.Write(filepath.Join(dir, "mine"), "mine\n")
			s.Git(dir, "add", "mine")
		}, "1 uncommitted file (mine)"},
		"a hidden change": {func(s *stage, dir string) {
			s.Git(dir, "update-index", "--assume-unchanged", "file")
			s.Write(filepath.Join(dir, "file"), "mine\n")
		}, "1 uncommitted file (file)"},
		"a sparse checkout": {func(s *stage, dir string) {
			s.Git(dir, "sparse-checkout", "set", "--no-cone", "/new")
		}, "leaves out files such as .gitignore (git's sparse checkout)"},
		"an untracked file in the way": {func(s *stage, dir string) { s.Write(filepath.Join(dir, "new"), "mine\n") },
			"could not be updated"},
		"a git that works there": {func(s *stage, dir string) {
			s.Write(s.Git(dir, "rev-parse", "--git-path", "index.lock"), "")
		}, "index.lock exists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newArm(t, false)
			dir := s.checkedOut()
			s.commit(w, "file", "changed\n", "change file")
			s.commit(w, "new", "new\n", "add new")
			c.prepare(s, dir)
			refs, files, index := s.refs(), s.Files(dir), s.Git(dir, "ls-files", "-s")
			_, err := s.merge(w, changes.MergeRequest{UpdateCheckout: true})
			if coleo.ErrorCode(err) != coleo.EConflict && coleo.ErrorCode(err) != coleo.EBusy ||
				!strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "nothing was merged") {
				t.Errorf("the error is %v", err)
			}
			if s.refs() != refs || s.Git(dir, "ls-files", "-s") != index || !s.Same("the folder", s.Files(dir), files) {
				t.Error("something has changed")
			}
		})
	}
}

// TestACheckoutGetsItsFilesBackIfTheBranchCannotMove: the files change before the branch moves. If
// the branch cannot move, the old files must come back.
func TestACheckoutGetsItsFilesBackIfTheBranchCannotMove(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	dir := s.checkedOut()
	s.commit(w, "new", "new\n", "add new")
	s.Write(filepath.Join(s.Repo, ".git/refs/heads/base.lock"), "")
	refs, files := s.refs(), s.Files(dir)
	_, err := s.merge(w, changes.MergeRequest{UpdateCheckout: true})
	if coleo.ErrorCode(err) != coleo.EBusy ||
		!strings.Contains(err.Error(), s.Repo+"/.git/refs/heads/base.lock exists") ||
		!strings.Contains(err.Error(), "delete that file") {
		t.Errorf("the error is %v", err)
	}
	if s.refs() != refs || s.Git(dir, "status", "--porcelain") != "" || !s.Same("the folder", s.Files(dir), files) {
		t.Error("something has changed")
	}
	s.Check(os.Remove(filepath.Join(s.Repo, ".git/refs/heads/base.lock")))
	if m := s.merged(w, changes.MergeRequest{UpdateCheckout: true}); m.Updated != dir {
		t.Errorf("the merge is %+v", m)
	}
}

// TestWhatTheArmStagesDuringACheckIsKept: the arm may work while a check runs. What it stages
// meanwhile must be kept.
func TestWhatTheArmStagesDuringACheckIsKept(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	s.Write(filepath.Join(w.Path, "a"), "1\n")
	calls := 0
	check := func(context.Context, string, string) error {
		if calls++; calls == 1 {
			s.Write(filepath.Join(w.Path, "b"), "staged\n")
			s.Git(w.Path, "add", "b")
		}
		return nil
	}
	m, err := merge.Do(t.Context(), s.trees, w, changes.MergeRequest{Commit: "all"}, merge.Options{Check: check})
	s.Check(err)
	if calls != 2 || s.show(m.After, "b") != "staged" || s.Git(w.Path, "status", "--porcelain") != "" {
		t.Errorf("after %d checks, the worktree has %q", calls, s.Git(w.Path, "status", "--porcelain"))
	}
}

func TestUncommittedWorkIsCommittedWithoutAMerge(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, false)
	head := s.commit(w, "a", "1\n", "add a")
	s.Write(filepath.Join(w.Path, "a"), "2\n")
	s.Write(filepath.Join(w.Path, "b"), "1\n")
	base, files := s.Rev(s.Repo, "base"), s.Files(w.Path)
	told := changes.Merged{}
	before := func(_ context.Context, m changes.Merged) error { told = m; return nil }
	request := changes.MergeRequest{Way: changes.WayCommit, Commit: "the rest"}
	m, err := merge.Do(t.Context(), s.trees, w, request, merge.Options{Before: before})
	s.Check(err)
	if m.Before != head || m.Committed == "" || told.After != m.Committed || m.Into != w.Branch ||
		s.Rev(s.Repo, w.Branch) != m.Committed || s.Rev(s.Repo, "base") != base {
		t.Errorf("the result is %+v", m)
	}
	if got := s.Git(w.Path, "status", "--porcelain"); got != "" || !s.Same("the worktree", s.Files(w.Path), files) {
		t.Errorf("the worktree has %q", got)
	}
	if m := s.merged(w, request); !m.Nothing {
		t.Errorf("the second result is %+v", m)
	}
	for _, request := range []changes.MergeRequest{{Way: changes.WayCommit},
		{Way: changes.WayCommit, Commit: "x", Into: "y"}} {
		if _, err := s.merge(w, request); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("%+v: the error is %v", request, err)
		}
	}
}

// TestASubmoduleInACheckoutIsNotDeleted: the arm replaces a submodule by a file or a link. Git would delete the folder
// of the submodule with the person's work in it. So Coleo must refuse the merge, except if the folder is empty.
func TestASubmoduleInACheckoutIsNotDeleted(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"file", "link"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			dir, sub := s.checkedOut(), filepath.Join(s.Root, "library")
			s.Git(s.Root, "init", "-q", sub)
			s.Git(sub, "commit", "-qm", "first", "--allow-empty")
			s.Git(dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "sub")
			s.Git(dir, "commit", "-qm", "add a submodule")
			w := s.arm("fix")
			s.Check(os.RemoveAll(filepath.Join(w.Path, "sub")))
			if kind == "file" {
				s.Write(filepath.Join(w.Path, "sub"), "a file\n")
			} else {
				s.Check(os.Symlink("file", filepath.Join(w.Path, "sub")))
			}
			s.Git(w.Path, "add", "sub")
			s.Git(w.Path, "commit", "-qm", "no submodule")
			mine := filepath.Join(dir, "sub/mine")
			s.Write(mine, "mine\n")
			refs := s.refs()
			_, err := s.merge(w, changes.MergeRequest{UpdateCheckout: true})
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "sub in "+dir+" is a submodule") ||
				!strings.Contains(err.Error(), "nothing was merged") || s.refs() != refs {
				t.Errorf("the error is %v", err)
			}
			if data, _ := os.ReadFile(mine); string(data) != "mine\n" {
				t.Errorf("the person's file is %q", data)
			}
			s.Git(dir, "submodule", "--quiet", "deinit", "--force", "sub")
			if m := s.merged(w, changes.MergeRequest{UpdateCheckout: true}); m.Updated != dir {
				t.Errorf("the merge is %+v", m)
			}
			if got := s.Git(dir, "status", "--porcelain"); got != "" {
				t.Errorf("the folder has %q", got)
			}
		})
	}
}

// TestAMergeThatAPersonTakesBackIsNotRecovered: a kill right after the branch has moved leaves the record of the merge.
// Then the person takes the merge back, but keeps its files. A recovery must leave the files and the index alone. If
// the branch has had the same commit only before the merge, the recovery must put the files back.
func TestAMergeThatAPersonTakesBackIsNotRecovered(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{true, false} {
		s, w := newArm(t, false)
		dir := s.checkedOut()
		s.commit(w, "new", "new\n", "add new")
		request := changes.MergeRequest{Way: changes.WayRebase, UpdateCheckout: true} // the commit stays the same
		if !moved {
			s.merged(w, request)
			s.Git(dir, "reset", "-q", "--hard", "HEAD~1")
		}
		file := filepath.Join(s.trees.Dir, fmt.Sprintf("merge-%x.checkout.json", sha256.Sum256([]byte(s.Repo+"/.git"))))
		s.Git(s.Repo, "config", "--global", "filter.copier.smudge", "cp "+file+" "+file+".copy; cat")
		s.Write(filepath.Join(s.Repo, ".git/info/attributes"), "new filter=copier\n")
		s.merged(w, request)
		s.Check(os.Rename(file+".copy", file))
		if moved {
			s.Git(dir, "reset", "-q", "--soft", "HEAD~1")
		} else {
			log := filepath.Join(s.Repo, ".git/logs/refs/heads/base")
			lines := strings.SplitAfter(strings.TrimSuffix(string(s.read(log)), "\n"), "\n")
			s.Git(dir, "update-ref", "refs/heads/base", "HEAD~1")
			s.Write(log, strings.Join(lines[:len(lines)-1], "")) // as if the branch had never moved
		}
		before := s.Git(dir, "status", "--porcelain")
		all, err := merge.Recover(t.Context(), s.trees)
		s.Check(err)
		now := s.Git(dir, "status", "--porcelain")
		if want := map[bool]string{true: before}[moved]; now != want || before != "A  new" || len(all) != 1 {
			t.Errorf("moved %v: the folder had %q and has %q; recovered %+v", moved, before, now, all)
		}
	}
}

func (s *stage) read(path string) []byte {
	s.Helper()
	data, err := os.ReadFile(path)
	s.Check(err)
	return data
}

// TestAFileThatComesBackHasItsOldLineEnds: the merge also changes the attributes, which decide how git writes a file.
// If the branch cannot move, the files must have the bytes that the old attributes give them.
func TestAFileThatComesBackHasItsOldLineEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dir := s.checkedOut()
	s.Write(filepath.Join(dir, ".gitattributes"), "*.txt text eol=lf\n")
	s.Write(filepath.Join(dir, "folder/.gitattributes"), "* text\n")
	const texts = 20
	for n := range texts {
		s.Write(filepath.Join(dir, fmt.Sprintf("%d.txt", n)), "one\ntwo\n")
	}
	s.Git(dir, "add", ".")
	s.Git(dir, "commit", "-qm", "person's")
	w := s.arm("fix")
	s.Write(filepath.Join(w.Path, ".gitattributes"), "*.txt text eol=crlf\n")
	s.Git(w.Path, "rm", "-rq", "folder")
	s.Write(filepath.Join(w.Path, "folder"), "a file now\n")
	s.Git(w.Path, "add", ".")
	for n := range texts {
		s.Write(filepath.Join(w.Path, fmt.Sprintf("%d.txt", n)), "ONE\r\nTWO\r\n")
	}
	s.Git(w.Path, "commit", "-qam", "change all")
	s.Write(filepath.Join(s.Repo, ".git/refs/heads/base.lock"), "")
	files := s.Files(dir)
	if _, err := s.merge(w, changes.MergeRequest{UpdateCheckout: true}); coleo.ErrorCode(err) != coleo.EBusy {
		t.Errorf("the error is %v", err)
	}
	s.Same("the folder", s.Files(dir), files)
	if got := s.Git(dir, "status", "--porcelain"); got != "" {
		t.Errorf("the folder has %q", got)
	}
}
