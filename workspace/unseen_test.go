package workspace_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
)

// unseen contains ways in which a removal could lose work that git does not report. Each has a word that the
// refusal must contain.
var unseen = []struct {
	name, word string
	do         func(*stage, workspace.Workspace)
}{
	{"a repository in a folder with files of the branch", "git does not show (sub/.git)",
		func(s *stage, w workspace.Workspace) {
			s.Git(w.Path+"/sub", "init", "-q")
			s.Git(w.Path+"/sub", "commit", "-q", "--allow-empty", "-m", "work")
		}},
	{"files below a folder .git that is no repository", "git does not show (sub/deep/.git)",
		func(s *stage, w workspace.Workspace) { s.Write(w.Path+"/sub/deep/.git/notes", "x") }},
	{"a file .git", "git does not show (sub/.git)",
		func(s *stage, w workspace.Workspace) { s.Write(w.Path+"/sub/.git", "x") }},
	{"a commit on a ref of the worktree", "commit that no other branch has (", func(s *stage, w workspace.Workspace) {
		s.Git(w.Path, "update-ref", "refs/worktree/mine", s.newCommit(w))
	}},
	{"a commit on a ref of a bisect", "commit that no other branch has (", func(s *stage, w workspace.Workspace) {
		s.Git(w.Path, "update-ref", "refs/bisect/mine", s.newCommit(w))
	}},
	{"a cherry-pick between two commits", "operation in progress (cherry-pick)",
		func(s *stage, w workspace.Workspace) { s.Write(w.Git+"/sequencer/todo", "pick 1\n") }},
	{"a stash of a merge", "operation in progress (merge)",
		func(s *stage, w workspace.Workspace) { s.Write(w.Git+"/MERGE_AUTOSTASH", s.newCommit(w)+"\n") }},
	{"a file that is only staged, on a branch without a commit", "uncommitted file (new)",
		func(s *stage, w workspace.Workspace) {
			s.Git(w.Path, "checkout", "-q", "--orphan", "empty")
			s.Git(w.Path, "rm", "-rfq", ".")
			s.Write(w.Path+"/new", "x")
			s.Git(w.Path, "add", "new")
			s.Check(os.Remove(w.Path + "/new"))
		}},
}

// newCommit makes a commit to which no ref points.
func (s *stage) newCommit(w workspace.Workspace) string {
	s.Helper()
	return s.Git(w.Path, "commit-tree", "-p", "HEAD", "-m", "work", "HEAD^{tree}")
}

// TestWhatGitDoesNotShowIsNotLost: with -short, only some cases also check a forced removal and a restore.
func TestWhatGitDoesNotShowIsNotLost(t *testing.T) {
	t.Parallel()
	for n, c := range unseen {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for kind, change := range []func(*workspace.Order){branch(""), clone} {
				s := newStage(t)
				refusesToLose(s, s.made("fix", change), n+kind, c.do, c.word, s.WorkFiles)
			}
		})
	}
}

// withLink is a repository whose newest commit has a symbolic link.
var withLink = gittest.Template{Fill: func(s *gittest.Stage) {
	twoCommits.Fill(s)
	s.Check(os.Symlink("file", filepath.Join(s.Repo, "link")))
	s.Git(s.Repo, "add", "link")
	s.Git(s.Repo, "commit", "-qm", "with a link")
}}

// An arm can write the settings of its clone. They must not hide the arm's work. With -short, only some cases
// also check a forced removal and a restore.
func TestTheSettingsOfACloneHideNothing(t *testing.T) {
	t.Parallel()
	for n, c := range []struct {
		name, key, value, word string
		do                     func(*stage, workspace.Workspace)
	}{
		{"an executable file", "core.fileMode", "false", "uncommitted file (file)",
			func(s *stage, w workspace.Workspace) { s.Check(os.Chmod(w.Path+"/file", 0o755)) }},
		{"line ends", "core.autocrlf", "true", "uncommitted file (file)",
			func(s *stage, w workspace.Workspace) { s.Write(w.Path+"/file", "one\r\nand more\r\n") }},
		{"a file in place of a link", "core.symlinks", "false", "uncommitted file (link)",
			func(s *stage, w workspace.Workspace) {
				s.Check(os.Remove(w.Path + "/link"))
				s.Write(w.Path+"/link", "file")
			}},
		{"attributes", "core.attributesFile", "info/attributes", "uncommitted file (file)",
			func(s *stage, w workspace.Workspace) {
				s.Write(filepath.Join(w.Git, "info/attributes"), "* text\n")
				s.Write(w.Path+"/file", "one\r\nand more\r\n")
			}},
	} {
		for place, config := range []string{"--local", "--worktree"} {
			t.Run(c.name+" "+config, func(t *testing.T) {
				t.Parallel()
				s := &stage{Stage: withLink.New(t)}
				s.trees = workspacesIn(s.Root)
				w := s.made("fix", clone)
				s.Git(w.Path, "config", "extensions.worktreeConfig", "true")
				s.Git(w.Path, "config", config, c.key, c.value)
				refusesToLose(s, w, n+2*place, c.do, c.word, s.WorkFiles)
			})
		}
	}
}

// On Linux, file and FILE are two files. No setting may hide one of them. With -short, only some cases also
// check a forced removal and a restore.
func TestNoSettingHidesAFileWithAnotherCase(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("file and FILE can be one file")
	}
	for kind, change := range []func(*workspace.Order){branch(""), clone} {
		for n, name := range []string{"FILE", ".GIT/work"} {
			s := newStage(t)
			w := s.made("fix", change)
			s.Git(w.Path, "config", "core.ignoreCase", "true")
			refusesToLose(s, w, kind+2*n, func(s *stage, w workspace.Workspace) { s.Write(filepath.Join(w.Path, name), "x") },
				"untracked file ("+name+")", s.WorkFiles)
		}
	}
}

// inDeepFolder makes a file whose path is too long for the system, so that git cannot see it.
func (s *stage) inDeepFolder(top string) {
	s.Helper()
	const parts, length = 30, 200
	root, err := os.OpenRoot(top)
	s.Check(err)
	for range parts {
		name := strings.Repeat("d", length)
		s.Check(root.Mkdir(name, 0o755))
		inner, err := root.OpenRoot(name)
		s.Check(err)
		root.Close()
		root = inner
	}
	s.Check(root.WriteFile("work", []byte("x"), 0o644))
	root.Close()
}

// Git skips a folder that it cannot read, and only warns about it. Nothing in it can be kept, so the removal must
// be refused.
func TestAFolderThatCannotBeReadIsNotRemoved(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(*stage, workspace.Workspace){
		"file name too long": func(s *stage, w workspace.Workspace) { s.inDeepFolder(w.Path) },
		"permission denied": func(s *stage, w workspace.Workspace) {
			s.Write(w.Path+"/closed/work", "x")
			s.Check(os.Chmod(w.Path+"/closed", 0))
			s.Cleanup(func() { _ = os.Chmod(w.Path+"/closed", 0o755) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "permission denied" && os.Geteuid() == 0 {
				t.Skip("root can read every folder")
			}
			for _, change := range []func(*workspace.Order){branch(""), clone} {
				s := newStage(t)
				w := s.made("fix", change)
				do(s, w)
				for _, force := range []bool{false, true} {
					_, err := s.trees.Remove(t.Context(), w.ID, force)
					if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), name) ||
						!strings.Contains(err.Error(), "nothing was removed") || len(err.Error()) > 1000 {
						t.Errorf("force %v: the error is %v", force, err)
					}
				}
				if !isThere(w.Path + "/file") {
					t.Error("the worktree is gone")
				}
			}
		})
	}
}

// An arm commits, and then switches to a branch that has no commit yet. Now only the reflog contains the arm's
// commits. A removal must keep them.
func TestTheReflogIsKeptWithoutACheckedOutCommit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	s.Git(w.Path, "checkout", "-q", "--detach")
	s.Git(w.Path, "commit", "-q", "--allow-empty", "-m", "work")
	id := s.Rev(w.Path, "HEAD")
	s.Git(w.Path, "checkout", "-q", "--orphan", "new")
	s.Git(w.Path, "rm", "-rfq", ".")
	done, err := s.trees.Remove(t.Context(), w.ID, false)
	s.Check(err)
	if done.Kept == "" {
		t.Fatal("nothing was kept")
	}
	s.Git(s.Repo, "merge-base", "--is-ancestor", id, done.Kept)
}

// If reflogs are switched off, only ORIG_HEAD names a commit after a reset. A removal must keep this commit.
func TestACommitInOrigHeadIsKept(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*workspace.Order){branch(""), clone} {
		s := newStage(t)
		w := s.made("fix", change)
		id := s.newCommit(w)
		s.Git(w.Path, "-c", "core.logAllRefUpdates=false", "update-ref", "ORIG_HEAD", id)
		done, err := s.trees.Remove(t.Context(), w.ID, false)
		s.Check(err)
		if done.Kept == "" {
			t.Fatal("nothing was kept")
		}
		s.Git(s.Repo, "merge-base", "--is-ancestor", id, done.Kept)
	}
}

// Somebody has deleted the folder of a worktree. The worktree's index still contains a staged file that is
// nowhere else. A removal must be refused, and a forced removal must keep the file.
func TestAStagedFileOfADeletedFolderIsNotLost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	s.Write(w.Path+"/new", "x")
	s.Git(w.Path, "add", "new")
	blob := s.Git(w.Path, "rev-parse", ":new")
	s.Check(os.RemoveAll(w.Path))
	_, err := s.trees.Remove(t.Context(), w.ID, false)
	if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "uncommitted file (new)") {
		t.Errorf("the error is %v", err)
	}
	_, err = s.trees.Remove(t.Context(), w.ID, true)
	s.Check(err)
	s.Git(s.Repo, "gc", "-q", "--prune=now")
	if got := s.Git(s.Repo, "cat-file", "blob", blob); got != "x" {
		t.Errorf("the staged file has %q", got)
	}
}

func TestAMovedWorktreeKeepsItsGitFolder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix")
	s.Git(s.Repo, "worktree", "unlock", w.Path)
	moved := filepath.Join(s.Root, "moved")
	s.Git(s.Repo, "worktree", "move", w.Path, moved)
	for _, force := range []bool{false, true} {
		_, err := s.trees.Remove(t.Context(), w.ID, force)
		if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), moved) {
			t.Errorf("force %v: the error is %v", force, err)
		}
	}
	s.Git(moved, "status")
	s.Git(s.Repo, "worktree", "move", moved, w.Path)
	_, err := s.trees.Remove(t.Context(), w.ID, false)
	s.Check(err)
	s.nothingLeft()
}

// If git fails because the git folder is broken, its own error does not show whether something was removed. The
// error of the removal must be one line, and must say that nothing was removed.
func TestABrokenGitFolderIsOneClearLine(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*workspace.Order){branch(""), clone} {
		for name, do := range map[string]func(s *stage, w workspace.Workspace){
			"no HEAD":   func(s *stage, w workspace.Workspace) { s.Check(os.Remove(w.Git + "/HEAD")) },
			"odd HEAD":  func(s *stage, w workspace.Workspace) { s.Write(w.Git+"/HEAD", "nothing") },
			"no config": func(s *stage, w workspace.Workspace) { s.Write(w.Common+"/config", "[core\n") },
		} {
			s := newStage(t)
			w := s.made("fix", change)
			do(s, w)
			for _, force := range []bool{false, true} {
				_, err := s.trees.Remove(t.Context(), w.ID, force)
				if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "nothing was removed") ||
					strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: the error is %v", name, err)
				}
			}
			if !isThere(w.Path + "/file") {
				t.Errorf("%s: the worktree is gone", name)
			}
		}
	}
}

// A file in the shared git folder can be a pipe, at which git would wait forever. A removal must then fail at
// once with an error that names the pipe.
func TestNoPipeInAGitFolderStopsARemoval(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(s *stage, w workspace.Workspace) (pipe string){
		"the list of ignored files": func(s *stage, _ workspace.Workspace) string { return s.Repo + "/.git/info/exclude" },
		"the index":                 func(_ *stage, w workspace.Workspace) string { return w.Git + "/index" },
		"the list of commits": func(s *stage, _ workspace.Workspace) string {
			return s.Repo + "/.git/objects/info/commit-graph"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w := s.made("fix")
			pipe := plant(s, w)
			s.Check(os.MkdirAll(filepath.Dir(pipe), 0o755))
			os.Remove(pipe)
			s.Check(syscall.Mkfifo(pipe, 0o644))
			_, err := s.trees.Remove(t.Context(), w.ID, false)
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), pipe) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
