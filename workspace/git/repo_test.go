package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

func TestTheFilterOfTheUserRuns(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Append(s.Settings(),
		"[filter \"evil\"]\n\tclean = \"tr a-z A-Z\"\n\trequired = true\n")
	s.Write("file", "words\n")
	r, err := s.program.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	out, err := r.Output(t.Context(), "diff", "HEAD", "--", "file")
	if err != nil || !strings.Contains(string(out), "+WORDS") {
		t.Errorf("the diff is not of the filtered file: %v\n%s", err, out)
	}
}

// TestGitGivesNoAdvice: git must write nothing to its error output if all is well.
func TestGitGivesNoAdvice(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r, err := s.program.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	_, err = r.Run(t.Context(), git.Call{Args: []string{"status"},
		Warn: func(text string) { t.Errorf("git says %q", text) }})
	s.Check(err)
}

func TestOpenFindsTheRepositoryAndNoOther(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	root := s.Root
	s.Git(s.Repo, "worktree", "add", "-q", filepath.Join(root, "tree"), "other")
	s.Git(s.Repo, "init", "-q", "--bare", "bare")
	s.Git(root, "init", "-q", "victim")
	s.Git(filepath.Join(root, "victim"), "commit", "-q", "--allow-empty", "-m", "1")
	s.Git(filepath.Join(root, "victim"), "worktree", "add", "-q", "-b", "x", filepath.Join(root, "victims"))
	s.Write(filepath.Join(root, "moved/.git"), "gitdir: "+filepath.Join(root, "victim/.git/worktrees/victims")+"\n")
	s.Write(filepath.Join(root, "lost/.git"), "gitdir: /nowhere\n")
	s.Write(filepath.Join(root, "linked/x"), "x")
	s.Check(os.Symlink(filepath.Join(root, "victim/.git"), filepath.Join(root, "linked/.git")))
	for _, c := range []struct{ name, dir, work, common string }{
		{"the main work folder", "project", "project", "project/.git"},
		{"a worktree", "tree", "tree", "project/.git"},
		{"a submodule", "project/sub", "project/sub", "project/.git/modules/sub"},
		{"a folder below", "project/.git/..", "project", "project/.git"},
		{"a bare repository in a work folder is not used", "project/bare", "project", "project/.git"},
		{"a .git that is a symbolic link", "linked", "linked", "victim/.git"},
		{"a worktree's .git that was changed to that of another one", "moved", "", ""},
		{"a .git that leads nowhere", "lost", "", ""},
		{"no repository", ".", "", ""},
	} {
		r, err := s.program.Open(t.Context(), filepath.Join(root, c.dir))
		if c.work == "" {
			if code := coleo.ErrorCode(err); code != coleo.EInvalid && code != coleo.ENotFound {
				t.Errorf("%s: the error is %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.Work != filepath.Join(root, c.work) || r.Common != filepath.Join(root, c.common) {
			t.Errorf("%s: the work folder is %s of %s", c.name, r.Work, r.Common)
		}
		r.Close()
	}
}

func TestGitIsNotRunWhereItWouldWriteElsewhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index", "objects", "refs", "packed-refs", "worktrees"} {
		s := newStage(t)
		path, outside := filepath.Join(s.Repo, ".git", name), filepath.Join(s.Root, "outside")
		s.Check(os.RemoveAll(outside))
		if _, err := os.Stat(path); err == nil {
			s.Check(os.Rename(path, outside))
		}
		s.Check(os.Symlink(outside, path))
		if _, err := s.program.Open(t.Context(), s.Repo); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("%s is a link to somewhere else: the error is %v", name, err)
		}
	}
}

func TestAStrangeConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(*stage, string){
		"a pipe": func(s *stage, path string) {
			s.Check(os.Remove(path))
			s.Check(syscall.Mkfifo(path, 0o600))
		},
		"no configuration":     func(s *stage, path string) { s.Write(path, "[core\n\tnonsense") },
		"too large":            func(s *stage, path string) { s.Write(path, strings.Repeat("# comment\n", 500_000)) },
		"an unknown extension": func(s *stage, path string) { s.Append(path, "[extensions]\n\tfuture = true\n") },
	} {
		s := newStage(t)
		plant(s, filepath.Join(s.Repo, ".git/config"))
		_, err := s.program.Open(t.Context(), s.Repo)
		if code := coleo.ErrorCode(err); code != coleo.EInvalid && code != coleo.EUnsupported {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestHarmlessSettingsHold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	strange := "a\\b\"c d\te#f;g"
	s.Git(s.Repo, "config", "user.name", strange)
	s.Git(s.Repo, "config", "remote.a.b\"c\\d.url", strange)
	s.Git(s.Repo, "config", "core.fileMode", "false")
	r, err := s.program.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	out, err := r.Run(t.Context(), git.Call{Args: []string{"commit-tree", "-m", "x", "HEAD^{tree}"}})
	s.Check(err)
	if got := s.Git(s.Repo, "log", "-1", "--format=%an", strings.TrimSpace(string(out))); got != strange {
		t.Errorf("the author is %q, want %q", got, strange)
	}
	s.Check(os.Chmod(filepath.Join(s.Repo, "file"), 0o755))
	if out, err := r.Output(t.Context(), "diff", "--raw"); err != nil || len(out) > 0 {
		t.Errorf("core.fileMode does not hold: %v %s", err, out)
	}
}

func TestOutputIsBoundedAndErrorsAreShort(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("big", strings.Repeat("0123456789\n", 100_000))
	s.Git(s.Repo, "add", "big")
	r, err := s.program.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	out, err := r.Run(t.Context(), git.Call{Args: []string{"cat-file", "blob", ":big"}, Most: 1000})
	if !errors.Is(err, git.ErrTooLarge) || len(out) != 1000 {
		t.Errorf("%d bytes were returned, with %v", len(out), err)
	}
	_, err = r.Output(t.Context(), "cat-file", "blob", "nothing")
	if git.ExitCode(err) != 128 || err.Error() != "git cat-file: fatal: Not a valid object name nothing" {
		t.Errorf("the error is %v", err)
	}
	for _, args := range [][]string{nil, {"add", "-A"}, {"worktree", "add", "x"}, {"-c", "a.b=c", "status"}, {"fetch"},
		{"diff", "--ext-diff"}, {"log", "--output=x"}, {"merge", "other"}, {"rebase", "other"}, {"cherry-pick",
			"other"}, {"stash"}, {"config", "-l"}} {
		if _, err := r.Output(t.Context(), args...); coleo.ErrorCode(err) != coleo.EInternal || git.ExitCode(err) > 0 {
			t.Errorf("git %v: the error is %v", args, err)
		}
	}
	_, err = r.Run(t.Context(), git.Call{Args: []string{"status"}, Env: []string{"GIT_DIR=/"}})
	if coleo.ErrorCode(err) != coleo.EInternal {
		t.Errorf("the folder of the repository can be changed: %v", err)
	}
}

// TestACanceledGitEndsWithItsChildren cancels a git that runs a filter of the user. The filter
// never ends by itself, but must end with git.
func TestACanceledGitEndsWithItsChildren(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Append(s.Settings(),
		"[filter \"evil\"]\n\tclean = touch "+s.marks+"/started; sleep 1000\n")
	s.Write("file", "words\n")
	r, err := s.program.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(s.marks + "/started"); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var warnings string
	_, err = r.Run(ctx, git.Call{Args: []string{"diff"}, Warn: func(text string) { warnings = text }})
	if !errors.Is(err, context.Canceled) {
		_, notStarted := os.Stat(s.marks + "/started")
		t.Errorf("the error is %v; git said %q; whether the filter ran: %v", err, warnings, notStarted)
	}
}
