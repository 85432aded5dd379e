package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
)

// filled makes a worktree with work of all kinds, in a stage from newSideStage.
func (s *stage) filled() workspace.Workspace {
	s.Helper()
	s.Git(s.Repo, "checkout", "-q", "-b", "clash", "HEAD^")
	s.Write("file", "one\nclash\n")
	s.Git(s.Repo, "commit", "-qam", "clash")
	s.Git(s.Repo, "checkout", "-q", "main")
	w := s.made("fix")
	s.Write(w.Path+"/committed", "x")
	s.Git(w.Path, "add", "committed")
	s.Git(w.Path, "commit", "-qm", "work")
	if out := s.fails(w.Path, "merge", "clash"); !strings.Contains(out, "CONFLICT") {
		s.Fatalf("git merge: %s", out)
	}
	s.Write(w.Path+"/staged", "staged\n")
	s.Git(w.Path, "add", "staged")
	s.Write(w.Path+"/staged", "changed after it was staged\n")
	s.Write(w.Path+"/.env", "ignored\n")
	s.Write(w.Path+"/a \"name\"\twith\nall\xff", "strange\n")
	s.Write(w.Path+"/private", "private\n")
	s.Check(os.Chmod(w.Path+"/private", 0o600))
	s.Check(os.Symlink("/nowhere", w.Path+"/link"))
	s.Check(os.Symlink("sub", w.Path+"/folder"))
	s.Check(os.MkdirAll(w.Path+"/empty/folder", 0o700))
	s.Write(w.Path+"/cache/readonly", "x")
	s.Check(os.Chmod(w.Path+"/cache", 0o555))
	s.Git(w.Path, "init", "-q", "nested")
	s.Write(w.Path+"/nested/x", "x")
	s.Write(w.Path+"/zero", "")
	return w
}

func (s *stage) fails(dir string, args ...string) string {
	s.Helper()
	out, err := s.Try(dir, args...)
	if err == nil {
		s.Fatalf("git %v succeeds", args)
	}
	return out
}

func TestM28RestoreBringsEverythingBack(t *testing.T) {
	t.Parallel()
	s := newSideStage(t)
	w := s.filled()
	before, main := s.Files(w.Path), s.Person()
	index, err := os.ReadFile(filepath.Join(w.Git, "index"))
	s.Check(err)
	status := s.Git(w.Path, "status", "--porcelain=v2", "--branch", "-uall", "--ignored")
	stages := s.Git(w.Path, "ls-files", "--stage")
	done, err := s.trees.Remove(t.Context(), w.ID, true)
	s.Check(err)
	s.nothingLeft()
	s.Git(s.Repo, "gc", "-q", "--prune=now")
	kept, err := s.trees.Kept(t.Context())
	if err != nil || len(kept) != 1 {
		t.Fatalf("the list of what is kept: %+v, %v", kept, err)
	}
	back, err := s.trees.Restore(t.Context(), kept[0], "")
	if err != nil || back.Workspace.Path != w.Path || back.Workspace.Branch != "coleo/fix" || back.Detached != "" {
		t.Fatalf("restore: %+v, %v", back, err)
	}
	s.Same("restored", s.Files(w.Path), before)
	now, err := os.ReadFile(filepath.Join(w.Git, "index"))
	if err != nil || string(now) != string(index) {
		t.Errorf("the index is another one: %v", err)
	}
	if got := s.Git(w.Path, "ls-files", "--stage"); got != stages {
		t.Errorf("staged:\n%s\nbefore:\n%s", got, stages)
	}
	if got := s.Git(w.Path, "status", "--porcelain=v2", "--branch", "-uall", "--ignored"); got != status {
		t.Errorf("the status is\n%s\nbefore:\n%s", got, status)
	}
	s.Same("the main work folder", s.Person(), main)
	if _, err := s.trees.Restore(t.Context(), kept[0], ""); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a second restore: %v", err)
	}
	if again, err := s.trees.Remove(t.Context(), w.ID, true); err != nil || again.Kept == done.Kept {
		t.Errorf("the second removal: %+v, %v", again, err)
	}
}

func TestM28RestoreTakesNoBranchAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do       func(*stage)
		detached bool
	}{
		"the branch is gone":               {func(s *stage) { s.Git(s.Repo, "branch", "-D", "coleo/fix") }, false},
		"the branch has other commits":     {func(s *stage) { s.Git(s.Repo, "branch", "-f", "coleo/fix", "main") }, true},
		"the branch is checked out":        {func(s *stage) { s.Git(s.Repo, "checkout", "-q", "coleo/fix") }, true},
		"the branch is as it was and free": {func(*stage) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w := s.made("fix")
			s.Write(w.Path+"/file", "x")
			s.Git(w.Path, "commit", "-qam", "work")
			commit := s.Rev(w.Path, "HEAD")
			_, err := s.trees.Remove(t.Context(), w.ID, true)
			s.Check(err)
			c.do(s)
			kept, err := s.trees.Kept(t.Context())
			s.Check(err)
			place := filepath.Join(s.Root, "elsewhere")
			back, err := s.trees.Restore(t.Context(), kept[0], place)
			if err != nil || (back.Detached != "") != c.detached || back.Workspace.Path != place {
				t.Fatalf("restore: %+v, %v", back, err)
			}
			if got := s.Rev(place, "HEAD"); got != commit {
				t.Errorf("%s is checked out, want %s", got, commit)
			}
		})
	}
}

func TestM28RestoreOverwritesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	s.Write(w.Path+"/new", "x")
	_, err := s.trees.Remove(t.Context(), w.ID, true)
	s.Check(err)
	s.Write(w.Path+"/mine", "y")
	kept, err := s.trees.Kept(t.Context())
	s.Check(err)
	if _, err := s.trees.Restore(t.Context(), kept[0], ""); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("restore: %v", err)
	}
	if got := s.Files(w.Path); len(got) != 1 || got["mine"].Content != "y" {
		t.Errorf("the folder has %v", got)
	}
}
