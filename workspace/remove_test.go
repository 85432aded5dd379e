package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
)

// losses contains ways in which a removal could lose work. Each has a word that the refusal must
// contain.
var losses = []struct {
	name, word string
	do         func(*stage, workspace.Workspace)
}{
	{"a changed file", "uncommitted file (file)", func(s *stage, w workspace.Workspace) { s.Write(w.Path+"/file", "x") }},
	{"a deleted file", "uncommitted file (file)",
		func(s *stage, w workspace.Workspace) { s.Check(os.Remove(w.Path + "/file")) }},
	{"another mode", "uncommitted file (file)",
		func(s *stage, w workspace.Workspace) { s.Check(os.Chmod(w.Path+"/file", 0o755)) }},
	{"a staged change that the file no longer has", "uncommitted file (file)", func(s *stage, w workspace.Workspace) {
		s.Write(w.Path+"/file", "x")
		s.Git(w.Path, "add", "file")
		s.Write(w.Path+"/file", "one\nand more\n")
	}},
	{"a file that was staged and deleted", "uncommitted file (only staged)", func(s *stage, w workspace.Workspace) {
		s.Write(w.Path+"/only staged", "x")
		s.Git(w.Path, "add", "only staged")
		s.Check(os.Remove(w.Path + "/only staged"))
	}},
	{"a changed file that is marked as unchanged", "uncommitted file (file)", func(s *stage, w workspace.Workspace) {
		s.Git(w.Path, "update-index", "--assume-unchanged", "file")
		s.Write(w.Path+"/file", "x")
	}},
	{"a changed file that the index skips", "uncommitted file (file)", func(s *stage, w workspace.Workspace) {
		s.Git(w.Path, "update-index", "--skip-worktree", "file")
		s.Write(w.Path+"/file", "x")
	}},
	{"a change of the same size at the same time", "uncommitted file (file)", func(s *stage, w workspace.Workspace) {
		s.Git(w.Path, "config", "core.trustctime", "false")
		s.Git(w.Path, "config", "core.checkStat", "minimal")
		info, err := os.Stat(w.Path + "/file")
		s.Check(err)
		s.Write(w.Path+"/file", "two\nand more\n")
		s.Check(os.Chtimes(w.Path+"/file", time.Now(), info.ModTime()))
	}},
	{"an untracked file", "untracked file (new)", func(s *stage, w workspace.Workspace) { s.Write(w.Path+"/new", "x") }},
	{"an untracked repository", "untracked file (nested/)", func(s *stage, w workspace.Workspace) {
		s.Git(w.Path, "init", "-q", "nested")
		s.Write(w.Path+"/nested/x", "x")
	}},
	{"an ignored file", "ignored file (.env)", func(s *stage, w workspace.Workspace) { s.Write(w.Path+"/.env", "x") }},
	{"files that are excluded", "ignored file (hidden)", func(s *stage, w workspace.Workspace) {
		s.Write(filepath.Join(s.Repo, ".git/info/exclude"), "hidden\n")
		s.Write(w.Path+"/hidden", "x")
	}},
	{"a commit", "commit that no other branch has (", func(s *stage, w workspace.Workspace) {
		s.Write(w.Path+"/file", "x")
		s.Git(w.Path, "commit", "-qam", "work")
	}},
	{"a commit on no branch", "commit that no other branch has (", func(s *stage, w workspace.Workspace) {
		s.Git(w.Path, "checkout", "-q", "--detach")
		s.Git(w.Path, "commit", "-q", "--allow-empty", "-m", "work")
	}},
	{"a stash", "stash (WIP on ", func(s *stage, w workspace.Workspace) {
		s.Write(w.Path+"/file", "x")
		s.Git(w.Path, "stash", "-q")
	}},
	{"a merge in progress", "operation in progress (merge)", func(s *stage, w workspace.Workspace) {
		s.Git(w.Path, "merge", "-q", "--no-commit", "--no-ff", "side")
	}},
	{"a replaced .git", "which is not that of the worktree", func(s *stage, w workspace.Workspace) {
		s.Check(os.Remove(w.Path + "/.git"))
		s.Git(w.Path, "init", "-q", ".")
	}},
}

// withSide is a repository with two commits and a branch to merge.
var withSide = gittest.Template{Fill: func(s *gittest.Stage) {
	twoCommits.Fill(s)
	s.Git(s.Repo, "checkout", "-q", "-b", "side", "HEAD^")
	s.Write("other", "x")
	s.Git(s.Repo, "add", "other")
	s.Git(s.Repo, "commit", "-qm", "side")
	s.Git(s.Repo, "checkout", "-q", "main")
}}

func newSideStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Stage: withSide.New(t)}
	s.trees = workspacesIn(s.Root)
	return s
}

// TestM28ARemovalRefusesToLoseWork: with -short, only every third case also checks a forced removal and a
// restore.
func TestM28ARemovalRefusesToLoseWork(t *testing.T) {
	t.Parallel()
	for n, c := range losses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSideStage(t)
			refusesToLose(s, s.made("fix"), n, c.do, c.word, s.Files)
		})
	}
}

// refusesToLose calls the function `do`, after which a removal would lose work. It then checks these rules:
//   - Remove refuses, with an error that contains `word`.
//   - Check and Prune refuse, too.
//   - A forced removal keeps the work.
//   - A restore brings back all files that the function `files` returns.
//
// With -short, it checks only the first rule, except for every third `number`.
func refusesToLose(s *stage, w workspace.Workspace, number int, do func(*stage, workspace.Workspace), word string,
	files func(dir string) map[string]gittest.File) {
	do(s, w)
	before := files(w.Path)
	_, err := s.trees.Remove(s.Context(), w.ID, false)
	if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), word) {
		s.Fatalf("the error is %v, want %q", err, word)
	}
	s.Same("the worktree", files(w.Path), before)
	if !gittest.Costly(number) {
		return
	}
	if got := s.trees.Check(s.Context(), w.ID); got == nil || got.Error() != err.Error() {
		s.Errorf("Check says %v, and Remove %v", got, err)
	}
	pruned, err := s.trees.Prune(s.Context(), func(workspace.Workspace) bool { return false })
	if err != nil || len(pruned) != 1 || pruned[0].Removed || !strings.Contains(pruned[0].Left, word) {
		s.Errorf("prune: %+v, %v", pruned, err)
	}
	s.Same("the worktree", files(w.Path), before)
	done, err := s.trees.Remove(s.Context(), w.ID, true)
	if err != nil || done.Kept == "" {
		s.Fatalf("with force: %+v, %v", done, err)
	}
	s.nothingLeft()
	kept, err := s.trees.Kept(s.Context())
	if err != nil || len(kept) != 1 || kept[0].Ref != done.Kept || kept[0].Name != "fix" {
		s.Fatalf("the list of what is kept: %+v, %v", kept, err)
	}
	s.Collect(s.Repo)
	back, err := s.trees.Restore(s.Context(), kept[0], "")
	s.Check(err)
	s.Same("restored", files(back.Workspace.Path), withKeptGit(before))
	s.Fsck(s.Repo)
}

// withKeptGit returns the files of a worktree as a restore brings them back: the arm's own git folder is at
// .git.kept instead of .git.
func withKeptGit(files map[string]gittest.File) map[string]gittest.File {
	kept := map[string]gittest.File{}
	for name, file := range files {
		if rest, ok := strings.CutPrefix(name, ".git"); ok && (rest == "" || rest[0] == '/') {
			name = ".git.kept" + rest
		}
		kept[name] = file
	}
	return kept
}

func TestM28WorkThatIsElsewhereIsRemoved(t *testing.T) {
	t.Parallel()
	for name, save := range map[string]func(*stage, workspace.Workspace){
		"pushed": func(s *stage, w workspace.Workspace) {
			s.Git(s.Repo, "init", "-q", "--bare", "../remote")
			s.Git(s.Repo, "remote", "add", "origin", "../remote")
			s.Git(w.Path, "push", "-q", filepath.Join(s.Root, "remote"), "HEAD")
			s.Git(s.Repo, "fetch", "-q", "origin")
		},
		"merged into another branch": func(s *stage, w workspace.Workspace) { s.Git(s.Repo, "merge", "-q", w.Branch) },
		"tagged":                     func(s *stage, w workspace.Workspace) { s.Git(w.Path, "tag", "done") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w := s.made("fix")
			s.Write(w.Path+"/file", "x")
			s.Git(w.Path, "commit", "-qam", "work")
			save(s, w)
			done, err := s.trees.Remove(t.Context(), w.ID, false)
			if err != nil || done.Kept != "" || done.BranchDeleted {
				t.Errorf("the removal: %+v, %v", done, err)
			}
			s.Git(s.Repo, "rev-parse", "--verify", "coleo/fix") // a branch with commits must stay
		})
	}
}

// TestM28AnAmendedCommitIsKept: after an amend, only the worktree's reflog contains the old commit. A
// removal must keep it.
func TestM28AnAmendedCommitIsKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	s.Write(w.Path+"/file", "x")
	s.Git(w.Path, "commit", "-qam", "before")
	lost := s.Rev(w.Path, "HEAD")
	s.Git(w.Path, "commit", "-q", "--amend", "-m", "after")
	s.Git(s.Repo, "merge", "-q", w.Branch)
	done, err := s.trees.Remove(t.Context(), w.ID, false)
	if err != nil || done.Kept == "" {
		t.Fatalf("the removal: %+v, %v", done, err)
	}
	s.Git(s.Repo, "reflog", "expire", "--all", "--expire=now")
	s.Git(s.Repo, "gc", "-q", "--prune=now")
	s.Git(s.Repo, "merge-base", "--is-ancestor", lost, done.Kept)
}

func TestM28PruneRemovesWhatNoArmHas(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	used, unused, gone := s.made("used"), s.made("unused"), s.made("gone")
	s.Check(os.RemoveAll(gone.Path))
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

// TestARemovalDeletesNoBranchThroughAnother: the arm has made its branch a symbolic ref to the person's branch. The
// removal must not delete the person's branch.
func TestARemovalDeletesNoBranchThroughAnother(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	main := s.Rev(s.Repo, "main")
	s.Git(s.Repo, "symbolic-ref", "refs/heads/"+w.Branch, "refs/heads/main")
	_, err := s.trees.Remove(t.Context(), w.ID, false)
	s.Check(err)
	if out, err := s.Try(s.Repo, "rev-parse", "refs/heads/main"); err != nil || out != main {
		t.Errorf("the branch main is at %s: %v", out, err)
	}
}
