package pull_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace/pull"
	"coleo.dev/workspace/pull/fakegh"
)

func TestABranchIsPushedAndProposedOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, "gh")
	head := s.commit("more", "$(touch /tmp/x) `y` \"z\"")
	options := pull.OpenOptions{Title: "--web; $(id)", Body: "line\n'quote' $HOME\n", Draft: true}
	o, err := s.open(options)
	s.Check(err)
	if !o.Made || o.Number != 1 || o.URL != "https://github.com/pull/1" || o.Push != "new branch" || s.pushed() != head {
		t.Errorf("the result is %+v, pushed is %s", o, s.pushed())
	}
	want := s.gh.Pulls()[0]
	if want.Title != options.Title || want.Body != options.Body || !want.Draft || want.Branch != "coleo/fix" ||
		want.Base != "main" {
		t.Errorf("the pull request is %+v", want)
	}
	for _, c := range s.gh.Calls() {
		if text := strings.Join(c.Args, " "); strings.Contains(text, "id)") || strings.Contains(text, "HOME") {
			t.Errorf("a command line has the person's text: %q", text)
		}
	}
	head = s.commit("third", "third")
	if o, err = s.open(pull.OpenOptions{}); err != nil || o.Made || o.Number != 1 || s.pushed() != head ||
		len(s.gh.Pulls()) != 1 {
		t.Errorf("the second result is %+v, %v; pushed is %s", o, err, s.pushed())
	}
	r, ok, err := pull.Read(s.trees.Dir, s.arm.ID)
	if err != nil || !ok || r.Number != 1 || r.URL != o.URL || r.Pushed != head || r.Program != "gh" {
		t.Errorf("the record is %+v, %v", r, err)
	}
	if u, err := s.trees.Unsaved(t.Context(), s.arm); err != nil || len(u.Commits) > 0 {
		t.Errorf("the worktree still has %v, %v", u, err)
	}
	pulls := s.gh.Pulls()
	pulls[0].State = "closed"
	s.Check(s.gh.SetPulls(pulls))
	if o, err = s.open(pull.OpenOptions{}); err != nil || !o.Made || o.Number != 2 || o.Push != "up to date" {
		t.Errorf("after a close, the result is %+v, %v", o, err)
	}
	if p := s.gh.Pulls()[1]; p.Title != "fix" || p.Body != "- add new\n- $(touch /tmp/x) `y` \"z\"\n- third\n" {
		t.Errorf("the text of Coleo is %q, %q", p.Title, p.Body)
	}
}

func TestAMergeRequestIsMadeByGlab(t *testing.T) {
	t.Parallel()
	s := newStage(t, "glab", "gh")
	s.Git(s.Repo, "remote", "set-url", "origin", "https://gitlab.example.org/a/b/c.git")
	s.Git(s.Root, "config", "--global", "url."+s.upstream+".insteadOf", "https://gitlab.example.org/a/b/c.git")
	o, err := s.open(pull.OpenOptions{Draft: true})
	s.Check(err)
	calls := s.gh.Calls()
	if o.Program != "glab" || o.Number != 1 || s.pushed() == "" || s.gh.Pulls()[0].Title != "Draft: add new" ||
		!slices.Contains(calls[1].Args, "projects/a%2Fb%2Fc/merge_requests") || calls[1].Args[2] != "gitlab.example.org" {
		t.Errorf("the result is %+v, the calls are %v", o, calls)
	}
}

// TestTheBaseIsThatOfThePullRequest: the server refuses a base, and Coleo must then forget this base. If a pull
// request exists, a second call with another base must report the base of the pull request.
func TestTheBaseIsThatOfThePullRequest(t *testing.T) {
	t.Parallel()
	s := newStage(t, "gh")
	if _, err := s.open(pull.OpenOptions{Base: fakegh.UnknownBase}); err == nil || !strings.Contains(err.Error(),
		"Validation Failed") {
		t.Fatalf("the error is %v", err)
	}
	o, err := s.open(pull.OpenOptions{})
	if s.Check(err); !o.Made || o.Base != "main" || s.gh.Pulls()[0].Base != "main" {
		t.Errorf("the result is %+v, the pull request is %+v", o, s.gh.Pulls()[0])
	}
	if o, err = s.open(pull.OpenOptions{Base: "other"}); err != nil || o.Made || o.Base != "main" {
		t.Errorf("the result is %+v, %v", o, err)
	}
	if r, _, err := pull.Read(s.trees.Dir, s.arm.ID); err != nil || r.Base != "main" {
		t.Errorf("the record is %+v, %v", r, err)
	}
}

func TestWhatCannotBeProposedIsNotPushed(t *testing.T) {
	t.Parallel()
	set := func(key, value string) func(*stage) {
		return func(s *stage) { s.Git(s.Repo, "config", key, value) }
	}
	for name, c := range map[string]struct {
		prepare func(*stage)
		options pull.OpenOptions
		code    coleo.Code
		text    string
	}{
		"no remote": {func(s *stage) { s.Git(s.Repo, "remote", "remove", "origin") }, pull.OpenOptions{}, coleo.EConflict,
			"has no remote"},
		"a folder": {set("remote.origin.url", "/tmp/x.git"), pull.OpenOptions{}, coleo.EInvalid,
			"not a repository on a server"},
		"a program": {set("remote.origin.url", "ext::sh -c x"), pull.OpenOptions{}, coleo.EInvalid,
			"not a repository on a server"},
		"an option": {set("remote.origin.url", "-oProxyCommand=x:a/b"), pull.OpenOptions{}, coleo.EInvalid,
			"not a repository on a server"},
		"a query": {set("remote.origin.url", "https://github.com/a/b?x=y"), pull.OpenOptions{}, coleo.EInvalid,
			"not a repository on a server"},
		"dots": {set("remote.origin.url", "https://github.com/a/../../b"), pull.OpenOptions{}, coleo.EInvalid,
			"not a repository on a server"},
		"no program": {set("remote.origin.url", "https://gitlab.com/a/b"), pull.OpenOptions{}, coleo.ENotInstalled,
			"the host gitlab.com needs glab"},
		"uncommitted work": {func(s *stage) { s.Write(filepath.Join(s.arm.Path, "x"), "x") }, pull.OpenOptions{},
			coleo.EConflict,
			"--commit MESSAGE"},
		"nothing": {func(s *stage) { s.Git(s.arm.Path, "reset", "-q", "--hard", "main") }, pull.OpenOptions{},
			coleo.EConflict,
			"nothing to propose"},
		"no branch": {func(s *stage) { s.Git(s.arm.Path, "checkout", "-q", "--detach") }, pull.OpenOptions{}, coleo.EConflict,
			"no branch checked out"},
		"itself":     {nil, pull.OpenOptions{Base: "coleo/fix"}, coleo.EConflict, "works on the branch coleo/fix itself"},
		"a bad base": {nil, pull.OpenOptions{Base: "-x"}, coleo.EInvalid, "cannot name a branch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "gh")
			if c.prepare != nil {
				c.prepare(s)
			}
			_, err := s.open(c.options)
			if coleo.ErrorCode(err) != c.code || !strings.Contains(err.Error(), c.text) ||
				!strings.Contains(err.Error(), "nothing was pushed") {
				t.Errorf("the error is %v", err)
			}
			if s.pushed() != "" || len(s.gh.Calls()) > 0 {
				t.Errorf("something was done: %s %v", s.pushed(), s.gh.Calls())
			}
		})
	}
}

// TestTheRemoteOfThePullRequestStays: Open must refuse a remote that differs from the earlier one, because an arm
// can change the configuration of its repository.
func TestTheRemoteOfThePullRequestStays(t *testing.T) {
	t.Parallel()
	s := newStage(t, "gh")
	_, err := s.open(pull.OpenOptions{})
	s.Check(err)
	was := s.pushed()
	s.commit("more", "more")
	s.Git(s.Repo, "remote", "set-url", "origin", "git@github.com:owner/stolen.git")
	if _, err := s.open(pull.OpenOptions{}); coleo.ErrorCode(err) != coleo.EConflict ||
		!strings.Contains(err.Error(), "an arm can change the remote") || s.pushed() != was {
		t.Errorf("the error is %v", err)
	}
}

// TestM28AKillOfAPullRequestMakesNoSecondOne kills Open at each of its calls of gh and git, and then calls it
// again. With -short, it skips some calls of git that only read. The fake gh and git record their calls, which
// shows what happened.
func TestM28AKillOfAPullRequestMakesNoSecondOne(t *testing.T) {
	t.Parallel()
	s := newStage(t, "gh")
	g := s.NewFatalGit()
	kill := func() (killed bool) {
		s.Helper()
		text, err := json.Marshal(task{s.trees.Dir, g.Environ(s.trees.Environ), s.arm})
		s.Check(err)
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stderr = []string{helperFor + "=" + string(text)}, os.Stderr
		err = cmd.Run()
		return err != nil
	}
	s.Plan(g, 0, "", false)
	s.Check(s.gh.KillAt(0, false))
	if kill() {
		t.Fatal("the first round failed")
	}
	gits, chosen, calls := g.Calls(), g.Chosen(), len(s.gh.Calls())
	check := func(at string) {
		s.Helper()
		head := s.Rev(s.arm.Path, "HEAD")
		s.Plan(g, 0, "", false)
		s.Check(s.gh.KillAt(0, false))
		o, err := s.open(pull.OpenOptions{})
		s.Check(err)
		pulls := s.gh.Pulls()
		r, _, err := pull.Read(s.trees.Dir, s.arm.ID)
		s.Check(err)
		if len(pulls) != 1 || s.pushed() != head || r.Number != 1 || r.Pushed != head || o.URL != pulls[0].URL {
			t.Errorf("%s: %d pull requests, the record is %+v", at, len(pulls), r)
		}
	}
	reset := func() {
		s.Helper()
		s.Check(s.gh.SetPulls(nil))
		s.Check(os.RemoveAll(filepath.Join(s.trees.Dir, s.arm.ID+".pull.json")))
		_, _ = s.Try(s.upstream, "update-ref", "-d", "refs/heads/coleo/fix")
		s.commit("next", s.TempDir())
	}
	for n := 1; n <= calls; n++ {
		for _, after := range []bool{false, true} {
			reset()
			s.Check(s.gh.KillAt(n, after))
			if !kill() {
				t.Errorf("call %d of gh killed nothing", n)
			}
			check("killed at a call of gh")
		}
	}
	for _, n := range chosen {
		reset()
		s.Plan(g, n, "after", false)
		if !kill() {
			t.Errorf("call %d of git killed nothing", n)
		}
		check("killed after " + g.Killed())
	}
	t.Logf("killed at each of %d calls of gh, twice, and at %d of %d calls of git", calls, len(chosen), gits)
}

// TestNoBranchOfOthersIsPushed: an arm can check out any branch. A push may change only the arm's own branch.
func TestNoBranchOfOthersIsPushed(t *testing.T) {
	t.Parallel()
	s := newStage(t, "gh")
	s.Git(s.Repo, "branch", "release")
	s.Git(s.Repo, "push", "-q", s.upstream, "release:release")
	s.Git(s.Repo, "update-ref", "refs/remotes/origin/release", "release")
	at := s.Rev(s.upstream, "release")
	s.Git(s.arm.Path, "checkout", "-q", "release")
	s.commit("evil", "not reviewed")
	if o, err := s.open(pull.OpenOptions{}); coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(),
		"nothing was pushed") {
		t.Errorf("the result is %+v, %v", o, err)
	}
	if now := s.Rev(s.upstream, "release"); now != at {
		t.Errorf("the remote's branch is at %s", now)
	}
	s.Git(s.arm.Path, "checkout", "-q", "-b", "own")
	_, err := s.open(pull.OpenOptions{})
	s.Check(err)
	s.Git(s.Repo, "update-ref", "refs/remotes/origin/own", "own") // imitates a fetch
	s.commit("more", "more")
	if o, err := s.open(pull.OpenOptions{}); err != nil || o.Branch != "own" {
		t.Errorf("the second result is %+v, %v", o, err)
	}
}

// TestAStaleRemoteBranchDoesNotHideThePullRequest: the repository still has a remote branch whose name is a folder of
// the pushed branch, so git cannot store the pushed branch. The error must say that the pull request was made.
func TestAStaleRemoteBranchDoesNotHideThePullRequest(t *testing.T) {
	t.Parallel()
	s := newStage(t, "gh")
	s.Git(s.Repo, "update-ref", "refs/remotes/origin/coleo", "main")
	_, err := s.open(pull.OpenOptions{})
	if len(s.gh.Pulls()) != 1 || s.pushed() == "" {
		t.Fatalf("there are the pull requests %+v, and the error is %v", s.gh.Pulls(), err)
	}
	if err == nil || !strings.Contains(err.Error(), "has the pull request https://github.com/pull/1") {
		t.Errorf("the error is %v", err)
	}
}
