package git_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// An arm can put a pipe in the place of a file that git opens. Git must not wait there until the order's time
// is over.
func TestGitDoesNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".gitattributes", ".gitignore", "sub2/.gitattributes", "sub2/.gitignore"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			pipe := filepath.Join(s.Repo, name)
			s.Write("sub2/file", "x\n")
			s.Git(s.Repo, "add", "sub2")
			s.Write("sub2/file", "y\n")
			_ = os.Remove(pipe)
			s.Check(syscall.Mkfifo(pipe, 0o600))
			r, err := s.program.LookingForPipesAfter(50*time.Millisecond).Open(t.Context(), s.Repo)
			s.Check(err)
			defer r.Close()
			_, err = r.Output(t.Context(), "status", "--porcelain", "-z", "--untracked-files=all")
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), pipe) {
				t.Errorf("the error is %v, want one that names %s", err, pipe)
			}
		})
	}
}

func TestOnlyPipesThatGitOpensAreFound(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, name := range []string{"pipe", ".git/.gitignore", "gitignore"} {
		s.Check(syscall.Mkfifo(filepath.Join(s.Repo, name), 0o600))
	}
	if got := git.PipeIn(t.Context(), s.Repo); got != "" {
		t.Errorf("git is said to wait for %s", got)
	}
}

// A pipe in the git folder must be found when the repository is opened, or while git waits at it.
func TestGitDoesNotWaitForAPipeInTheGitFolder(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"info/exclude": true, "index": true, "objects/info/commit-graph": true,
		"HEAD": true, "packed-refs": true, "an object": false, "index again": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			head := s.Rev(s.Repo, "HEAD")
			switch name {
			case "an object":
				name = filepath.Join("objects", head[:2], head[2:])
			case "index again":
				name = "index"
			}
			pipe := filepath.Join(s.Repo, ".git", name)
			plant := func() {
				s.Check(os.MkdirAll(filepath.Dir(pipe), 0o700))
				_ = os.Remove(pipe)
				s.Check(syscall.Mkfifo(pipe, 0o600))
			}
			if before {
				plant()
			}
			r, err := s.program.LookingForPipesAfter(50*time.Millisecond).Open(t.Context(), s.Repo)
			if before {
				if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), pipe) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			s.Check(err)
			defer r.Close()
			plant()
			_, err = r.Output(t.Context(), "status", "--porcelain", "-z", "--untracked-files=all")
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), pipe) {
				t.Errorf("the error is %v, want one that names %s", err, pipe)
			}
		})
	}
}

// By default, git log reads .mailmap, which can be a pipe. Coleo must show the names as they are in
// the commits instead.
func TestGitDoesNotReadAMailmap(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Check(syscall.Mkfifo(filepath.Join(s.Repo, ".mailmap"), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := s.program.Open(ctx, s.Repo)
	s.Check(err)
	defer r.Close()
	for _, args := range [][]string{{"log", "-1", "--format=%an"}, {"show", "-s", "--format=%an"}, {"stash", "list"}} {
		if _, err := r.Output(ctx, args...); err != nil {
			t.Errorf("git %v: %v", args, err)
		}
	}
}
