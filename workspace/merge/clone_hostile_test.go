package merge_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace"
	"coleo.dev/workspace/gittest"
	"coleo.dev/workspace/merge"
)

// An arm can make links in the git folder of its clone. Coleo's git must not write through them.
func TestACommitInACloneWritesNothingOutside(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(s *stage, w workspace.Workspace){
		"the reflog of the branch": func(s *stage, w workspace.Workspace) {
			s.link(filepath.Join(s.Root, "home/.profile"), filepath.Join(w.Git, "logs/refs/heads/coleo/fix"))
		},
		"the reflog of HEAD": func(s *stage, w workspace.Workspace) {
			s.link(filepath.Join(s.Root, "home/.profile"), filepath.Join(w.Git, "logs/HEAD"))
		},
		"the branches": func(s *stage, w workspace.Workspace) {
			s.link(filepath.Join(s.Repo, ".git/refs/heads"), filepath.Join(w.Git, "refs/heads"))
			s.Write(filepath.Join(w.Git, "HEAD"), "ref: refs/heads/main\n")
		},
		"the objects": func(s *stage, w workspace.Workspace) {
			for _, name := range strings.Split("0123456789abcdef", "") {
				s.link(s.Root, filepath.Join(w.Git, "objects", name+name))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newArm(t, true)
			s.Write(filepath.Join(s.Root, "home/.profile"), "# mine\n")
			s.Git(w.Path, "config", "user.name", "x; touch "+s.Root+"/mark #")
			plant(s, w)
			s.Write(filepath.Join(w.Path, "new"), "x\n")
			refs, person := s.refs(), s.Person()
			for _, request := range []changes.MergeRequest{{Way: changes.WayCommit, Commit: "x"}, {Commit: "x"},
				{DryRun: true, Commit: "x"}} {
				_, err := s.merge(w, request)
				if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "is a symbolic link") {
					t.Errorf("%+v: the error is %v", request, err)
				}
			}
			if data, err := os.ReadFile(filepath.Join(s.Root, "home/.profile")); err != nil || string(data) != "# mine\n" {
				t.Errorf("the file of the person is %q, %v", data, err)
			}
			if now := s.refs(); now != refs {
				t.Errorf("the refs were\n%s\nand are\n%s", refs, now)
			}
			s.Same("what belongs to the person", s.Person(), person)
		})
	}
}

// A program of the arm can run while Coleo commits, and can make links after Coleo has checked for them. The
// commit must not follow these links.
func TestACommitInACloneFollowsNoLinkThatAppears(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, true)
	outside := filepath.Join(s.Root, "home/.profile")
	s.Write(outside, "# mine\n")
	log := filepath.Join(w.Git, "logs/refs/heads/coleo/fix")
	s.Check(os.MkdirAll(filepath.Dir(log), 0o755))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_ = os.Remove(log)
			_ = os.WriteFile(log, nil, 0o600)
			time.Sleep(time.Millisecond) // the arm's program pauses here, not the test
			_ = os.Remove(log)
			_ = os.Symlink(outside, log)
			time.Sleep(time.Millisecond)
		}
	}()
	const commits = 30
	for n := range commits {
		s.Write(filepath.Join(w.Path, "new"), strings.Repeat("x", n))
		_, _ = s.merge(w, changes.MergeRequest{Way: changes.WayCommit, Commit: "x"})
	}
	stop()
	<-ended
	if data, err := os.ReadFile(outside); err != nil || string(data) != "# mine\n" {
		t.Errorf("the file of the person is %q, %v", data, err)
	}
}

func (s *stage) link(to, at string) {
	s.Helper()
	s.Check(os.RemoveAll(at))
	s.Check(os.MkdirAll(filepath.Dir(at), 0o755))
	s.Check(os.Symlink(to, at))
}

// An arm can make pipes in the git folder of its clone. Git and Coleo must not wait there forever.
func TestAPipeInACloneIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index", "HEAD", "packed-refs", "shallow", "refs/heads/x", "refs/stash", "logs/HEAD",
		"info/exclude", "info/attributes", "objects/info/alternates", "objects/info/commit-graph",
		"rebase-merge/head-name"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newArm(t, true)
			pipe := filepath.Join(w.Git, name)
			s.Check(os.MkdirAll(filepath.Dir(pipe), 0o755))
			s.Check(os.RemoveAll(pipe))
			s.Check(syscall.Mkfifo(pipe, 0o600))
			const patience = 20 * time.Second
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := merge.Do(ctx, s.trees, w, changes.MergeRequest{Commit: "x"}, merge.Options{})
				ended <- err
			}()
			select {
			case err := <-ended:
				if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), "is not a regular file") {
					t.Errorf("the merge: %v", err)
				}
			case <-time.After(2 * patience):
				t.Error("the merge waits for ever")
			}
		})
	}
}

// A sparse file takes no disk space at any size, so an arm can easily make a huge index. Coleo must not read it
// into memory.
func TestAHugeIndexOfACloneIsNotReadIntoMemory(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, true)
	s.Check(os.Truncate(filepath.Join(w.Git, "index"), 1<<40))
	if _, err := s.merge(w, changes.MergeRequest{Commit: "x"}); err == nil {
		t.Error("there is no error")
	}
}

// The arm can read every object of its clone, so no file outside of the clone may become an object. While Coleo
// commits, the arm's program replaces files of the clone by links to a file outside. With -short, there are fewer
// commits.
func TestNoFileOfThePersonGetsIntoAClone(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, true)
	const names = 20
	commits := gittest.Repeats(30)
	public, secret := strings.Repeat("p", 1<<16), strings.Repeat("s", 1<<16)
	outside := filepath.Join(s.Root, "secret")
	s.Write(outside, secret)
	s.Write(filepath.Join(s.Root, "public"), public)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	replace := func(n int, link bool) {
		name := filepath.Join(w.Path, "work", strconv.Itoa(n))
		if draft := filepath.Join(w.Git, "draft"); link {
			_ = os.Symlink(outside, draft)
			_ = os.Rename(draft, name)
		} else {
			_ = os.Link(filepath.Join(s.Root, "public"), draft)
			_ = os.Rename(draft, name)
			_ = os.Remove(draft) // both names may be the same file already, and a rename then leaves the draft
		}
	}
	s.Write(filepath.Join(w.Path, "work/0"), public)
	go func() {
		defer close(ended)
		for n := 0; ctx.Err() == nil; n++ {
			replace(n%names, n/names%2 == 0)
		}
	}()
	id := s.Git(s.Root, "hash-object", outside)
	leaked := false
	for n := 0; n < commits && !leaked; n++ {
		s.Write(filepath.Join(w.Path, "new"), strconv.Itoa(n))
		_, _ = s.merge(w, changes.MergeRequest{Way: changes.WayCommit, Commit: "x"})
		_, err := s.Try(w.Path, "cat-file", "-e", id)
		leaked = err == nil
	}
	stop()
	<-ended
	if leaked {
		t.Error("the clone has the file of the person")
	}
}
