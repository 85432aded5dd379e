package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/gittest"
)

// pullOf makes a commit that is only in a pull request of the bare repository, and returns the
// commit.
func (s *stage) pullOf(bare string) string {
	s.Helper()
	clone := filepath.Join(s.Root, "contributor")
	s.Git(s.Root, "init", "-q", clone)
	s.Git(clone, "commit", "-q", "--allow-empty", "-m", "contributed")
	s.Git(clone, "push", "-q", bare, "HEAD:refs/pull/12/head")
	return s.Rev(clone, "HEAD")
}

func TestAFetchRunsNoProgramOfAHostileRepository(t *testing.T) {
	t.Parallel()
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			url := s.bare("upstream")
			head := s.pullOf(filepath.Join(s.Root, "upstream.git"))
			s.plant(place)
			s.Append(filepath.Join(s.Repo, ".git/config"), "[remote \""+url+"\"]\n\turl = "+s.Root+"/nowhere\n\tuploadpack = "+
				s.mark("uploadpack")+"\n[fetch]\n\trecurseSubmodules = yes\n")
			r, err := s.program.Open(t.Context(), s.Repo)
			s.Check(err)
			defer r.Close()
			refs := s.Git(s.Repo, "-c", "core.fsmonitor=", "for-each-ref")
			s.fired()
			id, err := r.Fetch(t.Context(), git.Fetch{URL: url, Ref: "refs/pull/12/head"})
			if err != nil || id != head {
				t.Errorf("Fetch = %q, %v; want %s", id, err, head)
			}
			if names := s.fired(); len(names) > 0 {
				t.Errorf("a fetch ran %v", names)
			}
			if now := s.Git(s.Repo, "-c", "core.fsmonitor=", "for-each-ref"); now != refs {
				t.Errorf("the refs were\n%s\nand are\n%s", refs, now)
			}
			if _, err := os.Lstat(filepath.Join(s.Repo, ".git/FETCH_HEAD")); err == nil {
				t.Error("the repository has a FETCH_HEAD")
			}
			if kind, err := r.Output(t.Context(), "cat-file", "-t", id); err != nil ||
				strings.TrimSpace(string(kind)) != "commit" {
				t.Errorf("the fetched object is %q, %v", kind, err)
			}
		})
	}
}

func TestWhatCannotBeFetched(t *testing.T) {
	t.Parallel()
	s := &stage{Stage: gittest.New(t)}
	p, err := git.Find(s.Environ, "")
	s.Check(err)
	r, err := p.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	url := s.bare("upstream")
	for _, c := range []struct {
		url, ref string
		code     coleo.Code
	}{
		{url, "refs/pull/7/head", coleo.ENotFound},
		{url, "refs/pull/7/head:refs/heads/main", coleo.EInternal},
		{url, "+main", coleo.EInternal},
		{"/tmp/x", "refs/pull/7/head", coleo.EInvalid},
		{"ext::sh -c x", "refs/pull/7/head", coleo.EInvalid},
		{"--upload-pack=x:y", "refs/pull/7/head", coleo.EInvalid},
	} {
		_, err := r.Fetch(t.Context(), git.Fetch{URL: c.url, Ref: c.ref})
		if coleo.ErrorCode(err) != c.code || strings.Contains(err.Error(), "pushed") {
			t.Errorf("%s of %q: the error is %v", c.ref, c.url, err)
		}
	}
}
