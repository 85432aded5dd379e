package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// An arm can put a pipe in place of a file that git opens. Git would wait for the order's whole time.
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
