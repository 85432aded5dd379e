package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/workspace"
)

// secret makes another repository of the person, and returns its git folder and its commit. An arm knows the
// id of the commit, but must not be able to read it.
func (s *stage) secret() (gitDir, commit string) {
	s.Helper()
	other := filepath.Join(s.Root, "secret")
	s.Git(s.Root, "init", "-q", other)
	s.Write(filepath.Join(other, "password"), "secret")
	s.Git(other, "add", ".")
	s.Git(other, "commit", "-qm", "secret")
	return filepath.Join(other, ".git"), s.Rev(other, "HEAD")
}

func TestACloneDoesNotFetchObjectsFromElsewhere(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(s *stage, w workspace.Workspace, other string){
		"links in place of loose objects": func(s *stage, w workspace.Workspace, other string) {
			files, err := filepath.Glob(filepath.Join(other, "objects/??/*"))
			s.Check(err)
			for _, file := range files {
				to := filepath.Join(w.Git, "objects", filepath.Base(filepath.Dir(file)), filepath.Base(file))
				s.Check(os.MkdirAll(filepath.Dir(to), 0o755))
				s.Check(os.Symlink(file, to))
			}
		},
		// A check of the file's size does not help, because a pipe has the size 0. The arm can write into the pipe
		// while git reads from it.
		"a pipe as alternates": func(s *stage, w workspace.Workspace, other string) {
			pipe := filepath.Join(w.Git, "objects/info/alternates")
			s.Check(os.MkdirAll(filepath.Dir(pipe), 0o755))
			s.Check(syscall.Mkfifo(pipe, 0o600))
			// Opening a pipe for reading and writing never blocks. git then receives all lines at once.
			held, err := os.OpenFile(pipe, os.O_RDWR, 0)
			s.Check(err)
			s.Cleanup(func() { held.Close() })
			_, err = held.WriteString(filepath.Join(other, "objects") + "\n")
			s.Check(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			other, secret := s.secret()
			w := s.made("fix", clone)
			plant(s, w, other)
			s.Write(filepath.Join(w.Git, "refs/heads/coleo/fix"), secret+"\n")
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if id, err := s.trees.FetchWork(ctx, w); coleo.ErrorCode(err) != coleo.EConflict {
				t.Errorf("fetched %s, %v", id, err)
			}
			if out, err := s.Try(s.Repo, "show", secret+":password"); err == nil {
				t.Errorf("the repository has the %s", out)
			}
		})
	}
}

// A sparse file takes no disk space at any size, so an arm can easily make a huge reflog. Coleo must not
// read all of it into memory.
func TestAHugeReflogOfACloneIsNotReadIntoMemory(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix", clone)
	s.Check(os.Truncate(filepath.Join(w.Git, "logs/HEAD"), 1<<42))
	if u, err := s.trees.Unsaved(t.Context(), w); err != nil || !u.Empty() {
		t.Errorf("unsaved: %+v, %v", u, err)
	}
}

// A restored worktree belongs to the person's own repository, and the person's own git runs in it. So it
// must contain no program of the arm.
func TestARestoredCloneBringsNoProgramOfTheArm(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Git(s.Root, "init", "-q", "lib")
	s.Git(filepath.Join(s.Root, "lib"), "commit", "-q", "--allow-empty", "-m", "lib")
	s.Git(s.Repo, "submodule", "--quiet", "add", filepath.Join(s.Root, "lib"), "lib")
	s.Git(s.Repo, "commit", "-qm", "with a submodule")
	s.Git(s.Repo, "config", "core.repositoryFormatVersion", "1")
	s.Git(s.Repo, "config", "extensions.worktreeConfig", "true")
	w := s.made("fix", clone)
	mark := filepath.Join(s.Root, "mark")
	trap := "[core]\n\tfsmonitor = \"touch " + mark + " #\"\n"
	s.Append(filepath.Join(w.Git, "config.worktree"), trap)
	s.Append(filepath.Join(w.Git, "modules/lib/config"), trap)
	s.Write(filepath.Join(w.Git, "modules/lib/hooks/post-checkout"), "#!/bin/sh\ntouch "+mark+"\n")
	s.Check(os.Chmod(filepath.Join(w.Git, "modules/lib/hooks/post-checkout"), 0o755))
	s.Write(w.Path+"/lib/work", "x")
	_, err := s.trees.Remove(t.Context(), w.ID, true)
	s.Check(err)
	kept, err := s.trees.Kept(t.Context())
	s.Check(err)
	back, err := s.trees.Restore(t.Context(), kept[0], "")
	s.Check(err)
	if got := s.Git(back.Workspace.Path, "status", "--porcelain"); got != "? lib" && got != "M lib" && got != "m lib" {
		t.Errorf("the status is %q", got)
	}
	s.Git(filepath.Join(back.Workspace.Path, "lib"), "checkout", "-q", "--detach")
	if isThere(mark) {
		t.Error("a program of the arm ran")
	}
}

// An arm can make the repository of its submodule point to another repository with harmful settings. After a
// restore, the person's own git must not read these settings.
func TestARestoredSubmoduleOfACloneLeadsToNoOtherRepository(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"", "worktrees/inner"} {
		s := newStage(t)
		s.Git(s.Root, "init", "-q", "lib")
		s.Git(filepath.Join(s.Root, "lib"), "commit", "-q", "--allow-empty", "-m", "lib")
		s.Git(s.Repo, "submodule", "--quiet", "add", filepath.Join(s.Root, "lib"), "lib")
		s.Git(s.Repo, "commit", "-qm", "with a submodule")
		w := s.made("fix", clone)
		mark := filepath.Join(s.Root, "mark")
		evil, module := w.Path+"/evil", filepath.Join(w.Git, "modules/lib", part)
		s.Git(w.Path, "init", "-q", "--bare", evil)
		s.Write(evil+"/config", "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n\tfsmonitor = \"touch "+mark+" #\"\n")
		head, err := os.ReadFile(filepath.Join(w.Git, "modules/lib/HEAD"))
		s.Check(err)
		if part == "" {
			s.Check(os.RemoveAll(module))
		}
		s.Write(module+"/HEAD", string(head))
		s.Write(module+"/commondir", evil+"\n")
		s.Write(module+"/gitdir", w.Path+"/lib/.git\n")
		s.Write(w.Path+"/lib/.git", "gitdir: "+module+"\n")
		_, _ = s.Try(w.Path+"/lib", "status")
		if !isThere(mark) {
			t.Fatal("the program does not run in the clone either, so this test proves nothing")
		}
		s.Check(os.Remove(mark))
		_, err = s.trees.Remove(t.Context(), w.ID, true)
		s.Check(err)
		kept, err := s.trees.Kept(t.Context())
		s.Check(err)
		back, err := s.trees.Restore(t.Context(), kept[0], "")
		s.Check(err)
		_, _ = s.Try(back.Workspace.Path+"/lib", "status")
		if isThere(mark) {
			t.Errorf("%q: a program of the arm ran", part)
		}
	}
}

// An arm can make trees that git itself never makes, for example with a name twice. Such a tree looks different
// in a diff and on the disk, so Coleo must not fetch it.
func TestNoBrokenTreeOfACloneIsFetched(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string]string{
		"a name twice":    "100644 blob %[1]s\tfile\n100755 blob %[1]s\tfile\n",
		"a folder .git":   "040000 tree %[2]s\t.git\n",
		"a folder .GIT":   "040000 tree %[2]s\t.GIT\n",
		"a folder above":  "040000 tree %[2]s\t..\n",
		"a bad submodule": "100644 blob %[3]s\t.gitmodules\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w := s.made("fix", clone)
			s.Write(w.Path+"/modules", "[submodule \"../x\"]\n\tpath = x\n\turl = https://example.org/x\n")
			text := fmt.Sprintf(entries+"%.0[1]s%.0[2]s%.0[3]s", s.Git(w.Path, "rev-parse", "HEAD:file"),
				s.Git(w.Path, "rev-parse", "HEAD:sub"), s.Git(w.Path, "hash-object", "-w", "modules"))
			command := s.Command(w.Path, "mktree")
			command.Stdin = strings.NewReader(text)
			tree, err := command.Output()
			s.Check(err)
			s.Git(w.Path, "update-ref", "HEAD",
				s.Git(w.Path, "commit-tree", "-p", "HEAD", "-m", "x", strings.TrimSpace(string(tree))))
			if id, err := s.trees.FetchWork(t.Context(), w); coleo.ErrorCode(err) != coleo.EConflict {
				t.Errorf("fetched %s, %v", id, err)
			}
			if tip := s.Rev(s.Repo, w.Branch); tip != w.Start {
				t.Errorf("the branch is at %s", tip)
			}
		})
	}
}

// Old programs have made commits with harmless flaws, such as an author without an address. Coleo must fetch
// such commits.
func TestACommitWithoutAnAddressIsFetched(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix", clone)
	text := "tree " + s.Git(w.Path, "rev-parse", "HEAD^{tree}") + "\nauthor old 1 +0\ncommitter <> 1 +0000\n\nx\n"
	s.Write(w.Path+"/commit", text)
	id := s.Git(w.Path, "hash-object", "-t", "commit", "--literally", "-w", "commit")
	s.Git(w.Path, "update-ref", "HEAD", id)
	if got, err := s.trees.FetchWork(t.Context(), w); got != id || err != nil {
		t.Errorf("fetched %s, %v", got, err)
	}
}

func TestTheGitFolderOfACloneIsKnownByEachFolderInIt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix", clone)
	for folder, want := range map[string]string{w.Path: w.Git, w.Path + "/sub": w.Git, s.Repo: "", w.Path + "-other": ""} {
		if got, err := s.trees.CloneOf(t.Context(), folder); got.Git != want || err != nil {
			t.Errorf("%s: %+v, %v", folder, got, err)
		}
	}
	s.Check(os.RemoveAll(w.Git))
	s.Write(w.Git, "gitdir: "+s.Repo+"/.git\n")
	if _, err := s.trees.CloneOf(t.Context(), w.Path); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("with another .git: %v", err)
	}
}
