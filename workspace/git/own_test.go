package git_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// An arm can write to the git folder in which it works, and could lead git to another place. Open must refuse
// such a git folder, even if Coleo knows only the work folder, as it does for a checkpoint.
func TestOpenRefusesAGitFolderThatLeadsElsewhere(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(s *stage, other string){
		"commondir": func(s *stage, other string) { s.Write(".git/commondir", other+"\n") },
		"a link in place of a reflog": func(s *stage, _ string) {
			s.Check(os.RemoveAll(filepath.Join(s.Repo, ".git/logs/refs/heads/main")))
			s.Check(os.Symlink(s.Settings(), filepath.Join(s.Repo, ".git/logs/refs/heads/main")))
		},
		"a link in place of all tags": func(s *stage, other string) {
			s.Check(os.RemoveAll(filepath.Join(s.Repo, ".git/refs/tags")))
			s.Check(os.Symlink(filepath.Join(other, "refs/heads"), filepath.Join(s.Repo, ".git/refs/tags")))
		},
		"a pipe in place of a ref": func(s *stage, _ string) {
			s.Check(syscall.Mkfifo(filepath.Join(s.Repo, ".git/refs/heads/pipe"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			other := filepath.Join(s.Root, "other")
			s.Git(s.Root, "init", "-q", other)
			plant(s, filepath.Join(other, ".git"))
			r, err := s.program.Open(t.Context(), s.Repo)
			if err == nil {
				r.Close()
			}
			if coleo.ErrorCode(err) != coleo.EInvalid {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// Coleo makes a checkpoint after each turn, and a program of the arm can replace a reflog by a link. So
// Coleo's refs must have no reflogs.
func TestARefOfColeoGetsNoReflog(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r, err := s.program.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	const ref = "refs/coleo/checkpoints/arm/1"
	outside := filepath.Join(s.Root, "outside")
	s.Write(outside, "mine")
	log := filepath.Join(s.Repo, ".git/logs", ref)
	s.Check(os.MkdirAll(filepath.Dir(log), 0o700))
	s.Check(os.Symlink(outside, log)) // after Open has looked for links
	head := s.Rev(s.Repo, "HEAD")
	_, err = r.Run(t.Context(), git.Call{Args: []string{"update-ref", ref, head}, NoReflog: true})
	s.Check(err)
	if got := s.Rev(s.Repo, ref); got != head {
		t.Errorf("the ref is %s, want %s", got, head)
	}
	_, err = r.Run(t.Context(), git.Call{Args: []string{"update-ref", "-d", ref, head}, NoReflog: true})
	s.Check(err)
	if out, err := s.Try(s.Repo, "rev-parse", "--verify", ref); err == nil {
		t.Errorf("the ref is still %s", out)
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "mine" {
		t.Errorf("the file outside is %q, %v", data, err)
	}
}
