package workspace_test

import (
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
)

func sorted(picture string) string {
	lines := strings.Split(picture, "\n")
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// filled makes a worktree that has something of everything.
func (s *stage) filled() workspace.Workspace {
	s.Helper()
	s.side()
	s.must(s.repo, "checkout", "-q", "-b", "clash", "HEAD^")
	s.write("file", "one\nclash\n")
	s.must(s.repo, "commit", "-qam", "clash")
	s.must(s.repo, "checkout", "-q", "main")
	w := s.made("fix")
	s.write(w.Path+"/committed", "x")
	s.must(w.Path, "add", "committed")
	s.must(w.Path, "commit", "-qm", "work")
	if out := s.fails(w.Path, "merge", "clash"); !strings.Contains(out, "CONFLICT") {
		s.Fatalf("git merge: %s", out)
	}
	s.write(w.Path+"/staged", "staged\n")
	s.must(w.Path, "add", "staged")
	s.write(w.Path+"/staged", "changed after it was staged\n")
	s.write(w.Path+"/.env", "ignored\n")
	s.write(w.Path+"/a \"name\"\twith\nall\xff", "strange\n")
	s.write(w.Path+"/private", "private\n")
	s.check(os.Chmod(w.Path+"/private", 0o600))
	s.check(os.Symlink("/nowhere", w.Path+"/link"))
	s.check(os.Symlink("sub", w.Path+"/folder"))
	s.check(os.MkdirAll(w.Path+"/empty/folder", 0o700))
	s.write(w.Path+"/cache/readonly", "x")
	s.check(os.Chmod(w.Path+"/cache", 0o555))
	s.must(w.Path, "init", "-q", "nested")
	s.write(w.Path+"/nested/x", "x")
	s.write(w.Path+"/zero", "")
	return w
}

func (s *stage) fails(dir string, args ...string) string {
	s.Helper()
	cmd := s.command(dir, args...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		s.Fatalf("git %v succeeds", args)
	}
	return string(out)
}

func TestM28RestoreBringsEverythingBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.filled()
	before, main := picture(t, w.Path), s.mainPicture()
	index, err := os.ReadFile(filepath.Join(w.Git, "index"))
	s.check(err)
	status := s.must(w.Path, "status", "--porcelain=v2", "--branch", "-uall", "--ignored")
	stages := s.must(w.Path, "ls-files", "--stage")
	done, err := s.trees.Remove(t.Context(), w.ID, true)
	s.check(err)
	s.nothingLeft()
	s.must(s.repo, "gc", "-q", "--prune=now")
	kept, err := s.trees.Kept(t.Context())
	if err != nil || len(kept) != 1 {
		t.Fatalf("the list of what is kept: %+v, %v", kept, err)
	}
	back, err := s.trees.Restore(t.Context(), kept[0], "")
	if err != nil || back.Workspace.Path != w.Path || back.Workspace.Branch != "coleo/fix" || back.Detached != "" {
		t.Fatalf("restore: %+v, %v", back, err)
	}
	if after := picture(t, w.Path); after != before {
		t.Errorf("restored:\n%s\nbefore:\n%s", after, before)
	}
	now, err := os.ReadFile(filepath.Join(w.Git, "index"))
	if err != nil || string(now) != string(index) {
		t.Errorf("the index is another one: %v", err)
	}
	if got := s.must(w.Path, "ls-files", "--stage"); got != stages {
		t.Errorf("staged:\n%s\nbefore:\n%s", got, stages)
	}
	if got := s.must(w.Path, "status", "--porcelain=v2", "--branch", "-uall", "--ignored"); got != status {
		t.Errorf("the status is\n%s\nbefore:\n%s", got, status)
	}
	if got := s.mainPicture(); got != main {
		t.Error("the main work folder was changed")
	}
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
		"the branch is gone":               {func(s *stage) { s.must(s.repo, "branch", "-D", "coleo/fix") }, false},
		"the branch has other commits":     {func(s *stage) { s.must(s.repo, "branch", "-f", "coleo/fix", "main") }, true},
		"the branch is checked out":        {func(s *stage) { s.must(s.repo, "checkout", "-q", "coleo/fix") }, true},
		"the branch is as it was and free": {func(*stage) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w := s.made("fix")
			s.write(w.Path+"/file", "x")
			s.must(w.Path, "commit", "-qam", "work")
			commit := s.must(w.Path, "rev-parse", "HEAD")
			_, err := s.trees.Remove(t.Context(), w.ID, true)
			s.check(err)
			c.do(s)
			kept, err := s.trees.Kept(t.Context())
			s.check(err)
			place := filepath.Join(filepath.Dir(s.repo), "elsewhere")
			back, err := s.trees.Restore(t.Context(), kept[0], place)
			if err != nil || (back.Detached != "") != c.detached || back.Workspace.Path != place {
				t.Fatalf("restore: %+v, %v", back, err)
			}
			if got := s.must(place, "rev-parse", "HEAD"); got != commit {
				t.Errorf("%s is checked out, want %s", got, commit)
			}
		})
	}
}

func TestM28RestoreOverwritesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	s.write(w.Path+"/new", "x")
	_, err := s.trees.Remove(t.Context(), w.ID, true)
	s.check(err)
	s.write(w.Path+"/mine", "y")
	kept, err := s.trees.Kept(t.Context())
	s.check(err)
	if _, err := s.trees.Restore(t.Context(), kept[0], ""); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("restore: %v", err)
	}
	if got := picture(t, w.Path); !strings.HasPrefix(got, `"mine"`) || strings.Contains(got, "\n") {
		t.Errorf("the folder has\n%s", got)
	}
}
