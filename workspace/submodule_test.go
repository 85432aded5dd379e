package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
)

// withLibrary is a repository with a submodule lib, which has a submodule inner. In a copy of the
// template, the remotes of both lead nowhere, so nothing can be fetched from them.
var withLibrary = gittest.Template{Fill: func(s *gittest.Stage) {
	twoCommits.Fill(s)
	for _, name := range []string{"inner", "library"} {
		dir := filepath.Join(s.Root, name)
		s.Git(s.Root, "init", "-q", dir)
		s.Write(dir+"/code", name+"\n")
		s.Write(dir+"/.gitignore", "*.out\n")
		s.Git(dir, "add", ".")
		if name == "library" {
			s.Git(dir, "submodule", "--quiet", "add", filepath.Join(s.Root, "inner"), "inner")
		}
		s.Git(dir, "commit", "-qm", name)
		s.Git(dir, "tag", "-am", "a release", "v1")
	}
	s.Git(s.Repo, "submodule", "--quiet", "add", filepath.Join(s.Root, "library"), "lib")
	s.Git(s.Repo, "submodule", "--quiet", "update", "--init", "--recursive")
	s.Git(s.Repo, "commit", "-qm", "a submodule")
}}

func newLibraryStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Stage: withLibrary.New(t)}
	s.trees = workspacesIn(s.Root)
	return s
}

// withLibraryTree is withLibrary with the worktree of the arm fix.
var withLibraryTree = gittest.Template{Of: &withLibrary, Moves: true, Fill: func(g *gittest.Stage) {
	s := &stage{Stage: g, trees: workspacesIn(g.Root)}
	s.made("fix")
}}

// newLibraryTree returns a stage with a submodule, and the worktree of the arm fix.
func newLibraryTree(t *testing.T) (s *stage, w workspace.Workspace) {
	t.Helper()
	s = &stage{Stage: withLibraryTree.New(t)}
	s.trees = workspacesIn(s.Root)
	w, there, err := s.trees.Of(s.ArmID("fix"))
	if err != nil || !there {
		t.Fatalf("the template has no worktree, %v", err)
	}
	return s, w
}

// inSubmodule is like newLibraryTree, but the submodule has a commit that no other repository contains. It also
// returns the commit.
func inSubmodule(t *testing.T) (s *stage, w workspace.Workspace, commit string) {
	t.Helper()
	s, w = newLibraryTree(t)
	s.Git(w.Path+"/lib", "commit", "-q", "--allow-empty", "-m", "not pushed")
	return s, w, s.Rev(w.Path+"/lib", "HEAD")
}

// submoduleLosses contains ways in which a removal could lose work in a submodule. Each has words that
// the refusal must contain.
var submoduleLosses = []struct {
	name, word string
	do         func(s *stage, w workspace.Workspace, lib string)
}{
	{"a changed file", "the submodule lib with 1 uncommitted file (code)",
		func(s *stage, _ workspace.Workspace, lib string) { s.Write(lib+"/code", "x") }},
	{"a changed file that is marked as unchanged", "the submodule lib with 1 uncommitted file (code)",
		func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib, "update-index", "--assume-unchanged", "code")
			s.Write(lib+"/code", "x")
		}},
	{"a file that is only staged", "the submodule lib with 1 uncommitted file (staged)",
		func(s *stage, _ workspace.Workspace, lib string) {
			s.Write(lib+"/staged", "x")
			s.Git(lib, "add", "staged")
			s.Check(os.Remove(lib + "/staged"))
		}},
	{"a file that is only staged, in a submodule without its folder", "the submodule lib with 1 uncommitted file (staged)",
		func(s *stage, _ workspace.Workspace, lib string) {
			s.Write(lib+"/staged", "x")
			s.Git(lib, "add", "staged")
			s.Check(os.RemoveAll(lib))
			s.Check(os.Mkdir(lib, 0o755))
		}},
	{"an untracked file", "the submodule lib with 1 untracked file (new)",
		func(s *stage, _ workspace.Workspace, lib string) { s.Write(lib+"/new", "x") }},
	{"an ignored file", "the submodule lib with 1 ignored file (a.out)",
		func(s *stage, _ workspace.Workspace, lib string) { s.Write(lib+"/a.out", "x") }},
	{"an untracked file of an inner submodule", "the submodule lib/inner with 1 untracked file (new)",
		func(s *stage, _ workspace.Workspace, lib string) { s.Write(lib+"/inner/new", "x") }},
	{"an untracked file of an inner submodule that a new commit adds",
		"the submodule lib/more with 1 untracked file (new)", func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib, "submodule", "--quiet", "add", filepath.Join(s.Root, "inner"), "more")
			s.Git(lib, "commit", "-qm", "more")
			s.Write(lib+"/more/new", "x")
		}},
	{"a commit of an inner submodule", "the submodule lib/inner with 1 commit that no other branch has (",
		func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib+"/inner", "commit", "-q", "--allow-empty", "-m", "work")
		}},
	{"a commit on a branch that is not checked out", "the submodule lib with 1 commit that no other branch has (",
		func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib, "checkout", "-q", "-b", "mine")
			s.Git(lib, "commit", "-q", "--allow-empty", "-m", "work")
			s.Git(lib, "checkout", "-q", "--detach", "HEAD^")
		}},
	{"a commit that only a tag has", "the submodule lib with 1 commit that no other branch has (",
		func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib, "commit", "-q", "--allow-empty", "-m", "work")
			s.Git(lib, "tag", "mine")
			s.Git(lib, "checkout", "-q", "--detach", "HEAD^")
		}},
	{"a commit that only an annotated tag has", "the submodule lib with 1 commit that no other branch has (",
		func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib, "commit", "-q", "--allow-empty", "-m", "work")
			s.Git(lib, "tag", "-am", "my words", "mine")
			s.Git(lib, "checkout", "-q", "--detach", "HEAD^")
		}},
	{"a tag of a file", "refs/tags/mine, which is a blob", func(s *stage, _ workspace.Workspace, lib string) {
		s.Write(lib+"/x", "x")
		s.Git(lib, "tag", "mine", s.Git(lib, "hash-object", "-w", "x"))
		s.Check(os.Remove(lib + "/x"))
	}},
	{"a stash", "the submodule lib with 1 stash (WIP on ", func(s *stage, _ workspace.Workspace, lib string) {
		s.Write(lib+"/code", "x")
		s.Git(lib, "stash", "-q")
	}},
	{"a merge in progress", "1 operation in progress (merge)", func(s *stage, _ workspace.Workspace, lib string) {
		s.Git(lib, "checkout", "-q", "-b", "side")
		s.Git(lib, "commit", "-q", "--allow-empty", "-m", "side")
		s.Git(lib, "checkout", "-q", "--detach", "HEAD^")
		s.Git(lib, "commit", "-q", "--allow-empty", "-m", "other side")
		s.Git(lib, "merge", "-q", "--no-commit", "side")
	}},
	{"a repository in the folder itself", "the submodule lib with a repository in an unusual place",
		func(s *stage, _ workspace.Workspace, lib string) {
			s.Check(os.RemoveAll(lib))
			s.Git(s.Root, "clone", "-q", filepath.Join(s.Root, "library"), lib)
		}},
	{"files without a repository", "the submodule lib with files, but without a repository",
		func(s *stage, _ workspace.Workspace, lib string) { s.Check(os.Remove(lib + "/.git")) }},
	{"a repository that git cannot read", "the submodule lib with a repository that Coleo cannot examine",
		func(s *stage, w workspace.Workspace, _ string) {
			s.Append(filepath.Join(w.Git, "modules/lib/config"), "[extensions]\n\tunknown = 1\n")
		}},
	{"a repository that keeps its commits elsewhere", "it belongs to ",
		func(s *stage, w workspace.Workspace, _ string) {
			s.Write(filepath.Join(w.Git, "modules/lib/commondir"), filepath.Join(s.Repo, ".git/modules/lib")+"\n")
		}},
	{"worktrees of the submodule itself", "it has worktrees of its own",
		func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib, "worktree", "add", "-q", "--detach", filepath.Join(s.Root, "second"))
		}},
	{"a repository within a repository", "the submodule lib/deep/er with something that is no repository of a submodule",
		func(s *stage, w workspace.Workspace, _ string) {
			s.Git(s.Root, "init", "-q", "--bare", filepath.Join(w.Git, "modules/lib/deep/er"))
		}},
	{"a file beside the repositories", "the submodule file with something that is no repository",
		func(s *stage, w workspace.Workspace, _ string) { s.Write(filepath.Join(w.Git, "modules/file"), "x") }},
}

// bytesOf returns all files of a worktree and of the repositories of its submodules.
func (s *stage) bytesOf(w workspace.Workspace) map[string]gittest.File {
	s.Helper()
	files := s.Files(w.Path)
	for name, file := range s.Files(filepath.Join(w.Git, "modules")) {
		files["modules/"+name] = file
	}
	return files
}

// A removal must be refused if it would lose work in a submodule. After a forced removal, a restore must bring
// back all files with their exact bytes. With -short, only every third case checks the forced removal and the
// restore.
func TestM28ARemovalRefusesToLoseWorkInASubmodule(t *testing.T) {
	t.Parallel()
	for n, c := range submoduleLosses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, w := newLibraryTree(t)
			c.do(s, w, w.Path+"/lib")
			before, main := s.bytesOf(w), s.Person()
			_, err := s.trees.Remove(t.Context(), w.ID, false)
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), c.word) ||
				strings.Contains(err.Error(), "\n") {
				t.Fatalf("the error is %v, want %q", err, c.word)
			}
			s.Same("the worktree", s.bytesOf(w), before)
			if !gittest.Costly(n) {
				return
			}
			done, err := s.trees.Remove(t.Context(), w.ID, true)
			if err != nil || done.Kept == "" {
				t.Fatalf("with force: %+v, %v", done, err)
			}
			s.nothingLeft()
			s.Git(s.Repo, "prune", "--expire=now")
			kept, err := s.trees.Kept(t.Context())
			s.Check(err)
			_, err = s.trees.Restore(t.Context(), kept[0], "")
			s.Check(err)
			s.Same("restored", s.bytesOf(w), before)
			s.Same("the main work folder", s.Person(), main)
			if u, err := s.trees.Unsaved(t.Context(), w); err != nil || !strings.Contains(u.String(), c.word) {
				t.Errorf("the restored worktree has %v, %v", u, err)
			}
		})
	}
}

// TestM28WorkInASubmoduleThatIsElsewhereIsRemoved also checks that a removal keeps commits that only a
// reflog or a tag contains.
func TestM28WorkInASubmoduleThatIsElsewhereIsRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(s *stage, w workspace.Workspace, lib string)
		kept bool
	}{
		"as it was made": {func(*stage, workspace.Workspace, string) {}, false},
		"fetched by git itself": {func(s *stage, w workspace.Workspace, _ string) {
			s.Git(w.Path, "submodule", "--quiet", "deinit", "-f", "lib")
			s.Check(os.RemoveAll(filepath.Join(w.Git, "modules")))
			s.Git(s.Repo, "config", "submodule.lib.url", filepath.Join(s.Root, "library"))
			s.Git(w.Path, "submodule", "--quiet", "update", "--init")
		}, false},
		"not in this commit, and without its folder": {func(s *stage, w workspace.Workspace, lib string) {
			s.Git(w.Path, "reset", "-q", "--hard", "HEAD^")
			s.Check(os.RemoveAll(lib))
		}, false},
		"the worktree's folder is gone": {func(s *stage, w workspace.Workspace, _ string) {
			s.Check(os.RemoveAll(w.Path))
		}, false},
		"fetched into the main repository": {func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib, "checkout", "-q", "-b", "mine")
			s.Git(lib, "commit", "-q", "--allow-empty", "-m", "work")
			s.Git(filepath.Join(s.Repo, "lib"), "fetch", "-q", lib, "mine:theirs")
			s.Git(lib, "checkout", "-q", "--detach", "HEAD^")
		}, false},
		"pushed": {func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib, "commit", "-q", "--allow-empty", "-m", "work")
			s.Git(lib, "remote", "set-url", "origin", filepath.Join(s.Root, "library"))
			s.Git(lib, "push", "-q", "origin", "HEAD:refs/heads/mine")
			s.Git(lib, "checkout", "-q", "--detach", "HEAD^")
		}, false},
		"an amended commit": {func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib, "commit", "-q", "--allow-empty", "-m", "work")
			s.Git(lib, "reset", "-q", "--hard", "HEAD^")
		}, true},
		"a new annotated tag": {func(s *stage, _ workspace.Workspace, lib string) {
			s.Git(lib, "tag", "-am", "my words", "mine")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newLibraryTree(t)
			c.do(s, w, w.Path+"/lib")
			main := s.Person()
			done, err := s.trees.Remove(t.Context(), w.ID, false)
			if err != nil || (done.Kept != "") != c.kept {
				t.Errorf("the removal: %+v, %v", done, err)
			}
			s.nothingLeft()
			s.Same("the main work folder", s.Person(), main)
		})
	}
}

// TestM28ABorrowingSubmoduleIsNotKept: a submodule uses the objects of another repository. Coleo must not keep the
// submodule, because the kept content would lack these objects.
func TestM28ABorrowingSubmoduleIsNotKept(t *testing.T) {
	t.Parallel()
	s, w, _ := inSubmodule(t)
	alternates := filepath.Join(w.Git, "modules/lib/objects/info/alternates")
	s.Write(alternates, filepath.Join(s.Root, "library/.git/objects")+"\n")
	before := s.bytesOf(w)
	_, err := s.trees.Remove(t.Context(), w.ID, true)
	if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "'git repack -a -d' in the submodule") {
		t.Fatalf("the error is %v", err)
	}
	s.Same("the worktree", s.bytesOf(w), before)
	s.Git(w.Path+"/lib", "repack", "-q", "-a", "-d")
	s.Check(os.Remove(alternates))
	if done, err := s.trees.Remove(t.Context(), w.ID, true); err != nil || done.Kept == "" {
		t.Errorf("after the repack: %+v, %v", done, err)
	}
}

// TestTheConfigurationOfASubmoduleStartsNothing: an arm can write the configuration of a submodule. This configuration
// must start no program.
func TestTheConfigurationOfASubmoduleStartsNothing(t *testing.T) {
	t.Parallel()
	s, w, _ := inSubmodule(t)
	mark := filepath.Join(s.Root, "mark")
	trap := "touch " + mark + " #"
	config := filepath.Join(w.Git, "modules/lib/config")
	s.Append(config, "[core]\n\tfsmonitor = \""+trap+"\"\n\thooksPath = "+s.Root+"/hooks\n[filter \"evil\"]\n\tclean = \""+
		trap+"\"\n\trequired = true\n[diff]\n\texternal = \""+trap+"\"\n[submodule \"inner\"]\n\tupdate = \"!"+trap+"\"\n")
	s.Write(w.Path+"/lib/.gitattributes", "* filter=evil\n")
	s.Write(w.Path+"/lib/code", "changed\n")
	s.Write(s.Root+"/hooks/post-index-change", "#!/bin/sh\n"+trap+"\n")
	s.Check(os.Chmod(s.Root+"/hooks/post-index-change", 0o755))
	_, err := s.trees.Remove(t.Context(), w.ID, false)
	if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "the submodule lib with") {
		t.Errorf("the error is %v", err)
	}
	_, err = s.trees.Remove(t.Context(), w.ID, true)
	s.Check(err)
	kept, err := s.trees.Kept(t.Context())
	s.Check(err)
	_, err = s.trees.Restore(t.Context(), kept[0], "")
	s.Check(err)
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a program of the submodule's configuration ran")
	}
	_, _ = s.Try(w.Path+"/lib", "status")
	if _, err := os.Lstat(mark); err != nil {
		t.Error("the traps do not work")
	}
}

// TestACommitInASubmoduleIsNotLost: a commit must survive if the submodule's folder is emptied, and if the
// worktree's folder is deleted. With -short, only some cases also check a forced removal and a restore.
func TestACommitInASubmoduleIsNotLost(t *testing.T) {
	t.Parallel()
	for n, c := range []struct {
		name string
		hide func(*stage, workspace.Workspace)
	}{
		{"the folder is gone", func(s *stage, w workspace.Workspace) { s.Check(os.RemoveAll(w.Path)) }},
		{"checked out", func(*stage, workspace.Workspace) {}},
		{"not in this commit", func(s *stage, w workspace.Workspace) { s.Git(w.Path, "reset", "-q", "--hard", "HEAD^") }},
		{"emptied", func(s *stage, w workspace.Workspace) {
			s.Git(w.Path, "submodule", "--quiet", "deinit", "-f", "lib")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, w, commit := inSubmodule(t)
			c.hide(s, w)
			_, err := s.trees.Remove(t.Context(), w.ID, false)
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "submodule") {
				t.Fatalf("the removal is not refused because of the submodule: %v", err)
			}
			if !gittest.Costly(n) {
				return
			}
			out, err := s.trees.Remove(t.Context(), w.ID, true)
			s.Check(err)
			if out.Kept == "" {
				t.Fatal("nothing was kept")
			}
			kept, err := s.trees.Kept(t.Context())
			s.Check(err)
			_, err = s.trees.Restore(t.Context(), kept[0], "")
			s.Check(err)
			s.Git(s.Root, "--git-dir", filepath.Join(w.Git, "modules/lib"), "--work-tree", s.Root, "cat-file", "-e", commit)
		})
	}
}
