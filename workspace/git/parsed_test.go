package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/workspace/git"
)

// TestOpenAgainStartsNoGit: Coleo uses git to parse the configuration of a repository. It must do this only for
// the first Open, and again when the configuration has changed.
func TestOpenAgainStartsNoGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	real, err := exec.LookPath("git")
	s.Check(err)
	bin, starts := filepath.Join(s.Root, "counted"), filepath.Join(s.Root, "starts")
	s.Check(os.Mkdir(bin, 0o700))
	counted := "#!/bin/sh\necho start >> '" + starts + "'\nexec '" + real + "' \"$@\"\n"
	s.Check(os.WriteFile(filepath.Join(bin, "git"), []byte(counted), 0o700))
	program, err := git.Find([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + s.Root}, "")
	s.Check(err)
	before := 0
	open := func(what string, want int) *git.Repo {
		t.Helper()
		r, err := program.Open(t.Context(), s.Repo)
		s.Check(err)
		t.Cleanup(r.Close)
		data, err := os.ReadFile(starts)
		s.Check(err)
		now := strings.Count(string(data), "start")
		if got := now - before; got != want {
			t.Errorf("%s: %d git processes were started, want %d", what, got, want)
		}
		before = now
		return r
	}
	open("a new configuration", 1)
	open("the same configuration", 0)
	s.Append(filepath.Join(s.Repo, ".git/config"), "[user]\n\tname = Somebody Else\n")
	r := open("a changed configuration", 1)
	out, err := r.Run(t.Context(), git.Call{Args: []string{"commit-tree", "HEAD^{tree}", "-m", "x"},
		Env: []string{"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_EMAIL=a@b"}})
	s.Check(err)
	who, err := r.Output(t.Context(), "log", "-1", "--format=%an", strings.TrimSpace(string(out)))
	if err != nil || strings.TrimSpace(string(who)) != "Somebody Else" {
		t.Errorf("the changed setting does not hold: %q %v", who, err)
	}
}
