package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/workspace"
)

// losses are the ways in which a removal could lose work. Each says a word of the refusal.
var losses = []struct {
	name, word string
	do         func(*stage, workspace.Workspace)
}{
	{"a changed file", "uncommitted file (file)", func(s *stage, w workspace.Workspace) { s.write(w.Path+"/file", "x") }},
	{"a deleted file", "uncommitted file (file)",
		func(s *stage, w workspace.Workspace) { s.check(os.Remove(w.Path + "/file")) }},
	{"another mode", "uncommitted file (file)",
		func(s *stage, w workspace.Workspace) { s.check(os.Chmod(w.Path+"/file", 0o755)) }},
	{"a staged change that the file no longer has", "uncommitted file (file)", func(s *stage, w workspace.Workspace) {
		s.write(w.Path+"/file", "x")
		s.must(w.Path, "add", "file")
		s.write(w.Path+"/file", "one\nand more\n")
	}},
	{"a file that was staged and deleted", "uncommitted file (only staged)", func(s *stage, w workspace.Workspace) {
		s.write(w.Path+"/only staged", "x")
		s.must(w.Path, "add", "only staged")
		s.check(os.Remove(w.Path + "/only staged"))
	}},
	{"a changed file that is marked as unchanged", "uncommitted file (file)", func(s *stage, w workspace.Workspace) {
		s.must(w.Path, "update-index", "--assume-unchanged", "file")
		s.write(w.Path+"/file", "x")
	}},
	{"a changed file that the index skips", "uncommitted file (file)", func(s *stage, w workspace.Workspace) {
		s.must(w.Path, "update-index", "--skip-worktree", "file")
		s.write(w.Path+"/file", "x")
	}},
	{"a change of the same size at the same time", "uncommitted file (file)", func(s *stage, w workspace.Workspace) {
		s.must(w.Path, "config", "core.trustctime", "false")
		s.must(w.Path, "config", "core.checkStat", "minimal")
		info, err := os.Stat(w.Path + "/file")
		s.check(err)
		s.write(w.Path+"/file", "two\nand more\n")
		s.check(os.Chtimes(w.Path+"/file", time.Now(), info.ModTime()))
	}},
	{"an untracked file", "untracked file (new)", func(s *stage, w workspace.Workspace) { s.write(w.Path+"/new", "x") }},
	{"an untracked repository", "untracked file (nested/)", func(s *stage, w workspace.Workspace) {
		s.must(w.Path, "init", "-q", "nested")
		s.write(w.Path+"/nested/x", "x")
	}},
	{"an ignored file", "ignored file (.env)", func(s *stage, w workspace.Workspace) { s.write(w.Path+"/.env", "x") }},
	{"files that are excluded", "ignored file (hidden)", func(s *stage, w workspace.Workspace) {
		s.write(filepath.Join(s.repo, ".git/info/exclude"), "hidden\n")
		s.write(w.Path+"/hidden", "x")
	}},
	{"a commit", "commit that no other branch has (", func(s *stage, w workspace.Workspace) {
		s.write(w.Path+"/file", "x")
		s.must(w.Path, "commit", "-qam", "work")
	}},
	{"a commit on no branch", "commit that no other branch has (", func(s *stage, w workspace.Workspace) {
		s.must(w.Path, "checkout", "-q", "--detach")
		s.must(w.Path, "commit", "-q", "--allow-empty", "-m", "work")
	}},
	{"a stash", "stash (WIP on ", func(s *stage, w workspace.Workspace) {
		s.write(w.Path+"/file", "x")
		s.must(w.Path, "stash", "-q")
	}},
	{"a merge in progress", "operation in progress (merge)", func(s *stage, w workspace.Workspace) {
		s.must(w.Path, "merge", "-q", "--no-commit", "--no-ff", "side")
	}},
	{"a replaced .git", "which is not that of the worktree", func(s *stage, w workspace.Workspace) {
		s.check(os.Remove(w.Path + "/.git"))
		s.must(w.Path, "init", "-q", ".")
	}},
}

// side makes a branch to merge.
func (s *stage) side() {
	s.must(s.repo, "checkout", "-q", "-b", "side", "HEAD^")
	s.write("other", "x")
	s.must(s.repo, "add", "other")
	s.must(s.repo, "commit", "-qm", "side")
	s.must(s.repo, "checkout", "-q", "main")
}

func TestM28ARemovalRefusesToLoseWork(t *testing.T) {
	t.Parallel()
	for _, c := range losses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.side()
			w := s.made("fix")
			c.do(s, w)
			before := picture(t, w.Path)
			_, err := s.trees.Remove(t.Context(), w.ID, false)
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), c.word) {
				t.Fatalf("the error is %v, want %q", err, c.word)
			}
			if got := s.trees.Check(t.Context(), w.ID); got == nil || got.Error() != err.Error() {
				t.Errorf("Check says %v, and Remove %v", got, err)
			}
			pruned, err := s.trees.Prune(t.Context(), func(workspace.Workspace) bool { return false })
			if err != nil || len(pruned) != 1 || pruned[0].Removed || !strings.Contains(pruned[0].Left, c.word) {
				t.Errorf("prune: %+v, %v", pruned, err)
			}
			if picture(t, w.Path) != before {
				t.Error("the worktree was changed")
			}
			done, err := s.trees.Remove(t.Context(), w.ID, true)
			if err != nil || done.Kept == "" {
				t.Fatalf("with force: %+v, %v", done, err)
			}
			s.nothingLeft()
			kept, err := s.trees.Kept(t.Context())
			if err != nil || len(kept) != 1 || kept[0].Ref != done.Kept || kept[0].Name != "fix" {
				t.Fatalf("the list of what is kept: %+v, %v", kept, err)
			}
			s.must(s.repo, "gc", "-q", "--prune=now")
			back, err := s.trees.Restore(t.Context(), kept[0], "")
			s.check(err)
			if c.name == "a replaced .git" {
				before = strings.ReplaceAll(before, `".git`, `".git.kept`)
				before = strings.ReplaceAll(before, `".git.keptignore`, `".gitignore`)
			}
			if after := picture(t, back.Workspace.Path); sorted(after) != sorted(before) {
				t.Errorf("restored:\n%s\nbefore:\n%s", after, before)
			}
			s.must(s.repo, "fsck", "--no-dangling")
		})
	}
}

func TestM28WorkThatIsElsewhereIsRemoved(t *testing.T) {
	t.Parallel()
	for name, save := range map[string]func(*stage, workspace.Workspace){
		"pushed": func(s *stage, w workspace.Workspace) {
			s.must(s.repo, "init", "-q", "--bare", "../remote")
			s.must(s.repo, "remote", "add", "origin", "../remote")
			s.must(w.Path, "push", "-q", filepath.Join(filepath.Dir(s.repo), "remote"), "HEAD")
			s.must(s.repo, "fetch", "-q", "origin")
		},
		"merged into another branch": func(s *stage, w workspace.Workspace) { s.must(s.repo, "merge", "-q", w.Branch) },
		"tagged":                     func(s *stage, w workspace.Workspace) { s.must(w.Path, "tag", "done") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w := s.made("fix")
			s.write(w.Path+"/file", "x")
			s.must(w.Path, "commit", "-qam", "work")
			save(s, w)
			done, err := s.trees.Remove(t.Context(), w.ID, false)
			if err != nil || done.Kept != "" || done.BranchDeleted {
				t.Errorf("the removal: %+v, %v", done, err)
			}
			s.must(s.repo, "rev-parse", "--verify", "coleo/fix") // a branch with commits stays
		})
	}
}

// TestM28AnAmendedCommitIsKept: only the worktree's reflog has the commit before the amend.
func TestM28AnAmendedCommitIsKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	s.write(w.Path+"/file", "x")
	s.must(w.Path, "commit", "-qam", "before")
	lost := s.must(w.Path, "rev-parse", "HEAD")
	s.must(w.Path, "commit", "-q", "--amend", "-m", "after")
	s.must(s.repo, "merge", "-q", w.Branch)
	done, err := s.trees.Remove(t.Context(), w.ID, false)
	if err != nil || done.Kept == "" {
		t.Fatalf("the removal: %+v, %v", done, err)
	}
	s.must(s.repo, "reflog", "expire", "--all", "--expire=now")
	s.must(s.repo, "gc", "-q", "--prune=now")
	s.must(s.repo, "merge-base", "--is-ancestor", lost, done.Kept)
}

func TestM28PruneRemovesWhatNoArmHas(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	used, unused, gone := s.made("used"), s.made("unused"), s.made("gone")
	s.check(os.RemoveAll(gone.Path))
	pruned, err := s.trees.Prune(t.Context(), func(w workspace.Workspace) bool { return w.ID == used.ID })
	if err != nil || len(pruned) != 2 || !pruned[0].Removed || !pruned[1].Removed {
		t.Errorf("prune: %+v, %v", pruned, err)
	}
	for path, want := range map[string]bool{used.Path: true, unused.Path: false, gone.Git: false, used.Git: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
