package git_test

import (
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/gittest"
)

const forge = "https://forge.example/"

// bare makes a bare repository and returns a URL for it. The user's own configuration makes git use
// the repository's path for this URL.
func (s *stage) bare(name string) (url string) {
	s.Helper()
	dir := filepath.Join(s.Root, name+".git")
	s.Git(s.Root, "init", "-q", "--bare", dir)
	s.Git(s.Root, "config", "--global", "url."+s.Root+"/.insteadOf", forge)
	return forge + name + ".git"
}

func TestAPushRunsNoProgramOfAHostileRepository(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			url := s.bare("upstream")
			other := s.bare("other")
			s.plant(place)
			s.Append(filepath.Join(s.Repo, ".git/config"), "[url \""+strings.TrimSuffix(other, ".git")+"\"]\n"+
				"\tinsteadOf = "+strings.TrimSuffix(url, ".git")+"\n[remote \""+url+"\"]\n\turl = "+other+"\n\treceivepack = "+
				s.mark("receivepack")+"\n")
			r, err := s.program.Open(t.Context(), s.Repo)
			s.Check(err)
			defer r.Close()
			head := s.Git(s.Repo, "-c", "core.fsmonitor=", "rev-parse", "main")
			s.fired()
			word, err := r.Push(t.Context(), git.Push{URL: url, Commit: head, Branch: "fix"})
			if err != nil || word != "new branch" {
				t.Errorf("Push = %q, %v", word, err)
			}
			if names := s.fired(); len(names) > 0 {
				t.Errorf("a push ran %v", names)
			}
			if got, _ := s.Try(filepath.Join(s.Root, "upstream.git"), "rev-parse", "refs/heads/fix"); got != head {
				t.Errorf("the branch is at %s, want %s", got, head)
			}
			if got := s.Git(filepath.Join(s.Root, "other.git"), "for-each-ref"); got != "" {
				t.Errorf("the arm's configuration has led the push to another repository, with %s", got)
			}
		})
	}
}

// TestAPushNeverOverwrites: a push must not change a branch of the server that contains other commits.
func TestAPushNeverOverwrites(t *testing.T) {
	t.Parallel()
	s := &stage{Stage: gittest.New(t)}
	url := s.bare("upstream")
	commit := func(text string) string {
		s.Write("file", text)
		s.Git(s.Repo, "add", ".")
		s.Git(s.Repo, "commit", "-qm", text)
		return s.Rev(s.Repo, "HEAD")
	}
	first := commit("first")
	theirs := commit("theirs")
	s.Git(s.Repo, "reset", "-q", "--hard", first)
	ours := commit("ours")
	p, err := git.Find(s.Environ, "")
	s.Check(err)
	r, err := p.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	for _, c := range []struct {
		commit, word string
		code         coleo.Code
	}{{first, "new branch", ""}, {theirs, first[:7] + ".." + theirs[:7], ""}, {theirs, "up to date", ""},
		{ours, "", coleo.EConflict}} {
		word, err := r.Push(t.Context(), git.Push{URL: url, Commit: c.commit, Branch: "b"})
		if word != c.word || err != nil && coleo.ErrorCode(err) != c.code || (err == nil) != (c.code == "") {
			t.Errorf("Push = %q, %v; want %q, %q", word, err, c.word, c.code)
		}
	}
	if got := s.Rev(filepath.Join(s.Root, "upstream.git"), "b"); got != theirs {
		t.Errorf("the branch is at %s, want %s", got, theirs)
	}
}

func TestWhatIsNoURLIsNotPushedTo(t *testing.T) {
	t.Parallel()
	s := &stage{Stage: gittest.New(t)}
	p, err := git.Find(s.Environ, "")
	s.Check(err)
	r, err := p.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	for _, url := range []string{"", "/tmp/x", "../x", "file:///tmp/x", "ext::sh -c x", "http://h/x", "git://h/x",
		"-oProxyCommand=x:y", "ssh://-oProxyCommand=x/y", "https://h/x\ny", "./a:b", "https://ext::x", "ftp://h:1/x"} {
		if _, err := r.Push(t.Context(), git.Push{URL: url, Commit: "0",
			Branch: "b"}); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("%q: the error is %v, want %s", url, err, coleo.EInvalid)
		}
	}
}
