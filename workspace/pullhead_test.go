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

// contribute makes a bare copy of the repository, and a clone of the copy, which belongs to another
// contributor. The contributor's commit is in the bare copy, but no ref leads to it.
func contribute(s *gittest.Stage) {
	s.Helper()
	bare, contributor := filepath.Join(s.Root, "bare.git"), filepath.Join(s.Root, "contributor")
	s.Git(s.Root, "init", "-q", "--bare", bare)
	s.Git(s.Repo, "push", "-q", bare, "main")
	s.Git(s.Root, "clone", "-q", bare, contributor)
	s.Write(filepath.Join(contributor, "contributed"), "by somebody else\n")
	s.Git(contributor, "add", ".")
	s.Git(contributor, "commit", "-qm", "contributed")
	s.Git(contributor, "push", "-q", "origin", "HEAD:refs/heads/contributed")
	s.Check(os.Remove(filepath.Join(bare, "refs/heads/contributed")))
}

// withPull needs a stage on which `contribute` has run. It makes the bare copy the remote of the repository. Then it
// makes a ref in the bare copy that leads to the contributor's commit, as for a pull request. withPull returns this
// commit.
func (s *stage) withPull(url, ref string) (commit string) {
	s.Helper()
	bare := filepath.Join(s.Root, "bare.git")
	commit = s.Rev(filepath.Join(s.Root, "contributor"), "HEAD")
	s.Write(filepath.Join(bare, ref), commit+"\n")
	s.Git(s.Repo, "remote", "add", "origin", url)
	s.Append(s.Settings(), "[url \""+bare+"\"]\n\tinsteadOf = "+url+"\n")
	return commit
}

var withContribution = gittest.Template{Fill: func(s *gittest.Stage) {
	twoCommits.Fill(s)
	contribute(s)
}}

func newPullStage(t *testing.T, url, ref string) (s *stage, commit string) {
	t.Helper()
	s = &stage{Stage: withContribution.New(t)}
	s.trees = workspacesIn(s.Root)
	return s, s.withPull(url, ref)
}

func TestM28AWorktreeBeginsAtAPullRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, url, ref string }{
		{"GitHub", "git@github.com:owner/project.git", "refs/pull/12/head"},
		{"GitLab", "https://gitlab.com/group/sub/project.git", "refs/merge-requests/12/head"},
		{"another server with pull requests", "https://code.example.org/owner/project.git", "refs/pull/12/head"},
		{"another server with merge requests", "ssh://git@code.example.org/a/b.git", "refs/merge-requests/12/head"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, commit := newPullStage(t, c.url, c.ref)
			person := s.Person()
			w := s.made("fix", branch("pr/12"))
			if w.Branch != "pr/12" || w.Onto != "main" || w.Start != commit || w.Pull != 12 || !w.MadeBranch {
				t.Errorf("the worktree is %+v", w)
			}
			if len(w.Notes) != 1 || !strings.Contains(w.Notes[0], "begins at pull request 12 of origin (") {
				t.Errorf("the notes are %q", w.Notes)
			}
			if head := s.Rev(w.Path, "HEAD"); head != commit || s.Files(w.Path)["contributed"].Content == "" {
				t.Errorf("the worktree is at %s, want %s", head, commit)
			}
			if now := s.Git(s.Repo, "for-each-ref", "--format=%(refname)", "refs"); now != "refs/heads/main\nrefs/heads/pr/12" {
				t.Errorf("the refs are %q", now)
			}
			s.Same("the person's work folder", s.Person(), person)
			_, err := s.trees.Remove(t.Context(), w.ID, false)
			s.Check(err)
			s.nothingLeft()
			if out := s.Git(s.Repo, "branch", "--list", "pr/*"); out != "" {
				t.Errorf("the branch %s is left, and nothing was committed on it", out)
			}
		})
	}
}

func TestM28APullRequestThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	const url = "git@github.com:owner/project.git"
	for name, c := range map[string]struct {
		prepare func(*stage)
		order   workspace.Order
		code    coleo.Code
		text    string
	}{
		"no such pull request": {nil, workspace.Order{Branch: "pr/7"}, coleo.ENotFound,
			"origin (git@github.com:owner/project.git) has no pull request 7"},
		"no remote": {func(s *stage) { s.Git(s.Repo, "remote", "remove", "origin") }, workspace.Order{Branch: "pr/12"},
			coleo.EConflict, "the repository has no remote"},
		"a folder as the remote": {func(s *stage) { s.Git(s.Repo, "remote", "set-url", "origin", s.Root+"/bare.git") },
			workspace.Order{Branch: "pr/12"}, coleo.EInvalid, "needs an https or ssh URL"},
		"the remote is away": {func(s *stage) { s.Check(os.RemoveAll(s.Root + "/bare.git")) },
			workspace.Order{Branch: "pr/12"}, coleo.EInternal, "could not be fetched from origin"},
		"a base": {nil, workspace.Order{Branch: "pr/12", Base: "main"}, coleo.EInvalid, "leave it out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newPullStage(t, url, "refs/pull/12/head")
			if c.prepare != nil {
				c.prepare(s)
			}
			o := c.order
			o.ID, o.Name, o.Folder = s.ArmID("fix"), "fix", s.Repo
			_, err := s.trees.Make(t.Context(), o)
			if coleo.ErrorCode(err) != c.code || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v", err)
			}
			s.nothingLeft()
			if out := s.Git(s.Repo, "for-each-ref", "--format=%(refname)"); out != "refs/heads/main" {
				t.Errorf("the refs are %q", out)
			}
		})
	}
}

func TestABranchWithTheNameOfAPullRequestIsTaken(t *testing.T) {
	t.Parallel()
	s, _ := newPullStage(t, "git@github.com:owner/project.git", "refs/pull/12/head")
	s.Git(s.Repo, "branch", "pr/12", "HEAD^")
	w := s.made("fix", branch("pr/12"))
	if w.Start != s.Git(s.Repo, "rev-parse", "HEAD^") || w.MadeBranch || w.Pull != 0 || len(w.Notes) != 1 ||
		!strings.Contains(w.Notes[0], "the branch pr/12 exists already") {
		t.Errorf("the worktree is %+v", w)
	}
	if w := s.made("other", branch("pr/012")); w.Pull != 0 || !w.MadeBranch || w.Notes != nil {
		t.Errorf("pr/012 is no pull request: %+v", w)
	}
}
