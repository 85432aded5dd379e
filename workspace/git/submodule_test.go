package git_test

import (
	"maps"
	"strings"
	"testing"

	"coleo.dev"
)

// TestTheNameOfASubmoduleStaysInItsFolder: a submodule's name becomes a path, which must not leave
// its folder.
func TestTheNameOfASubmoduleStaysInItsFolder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r, err := s.program.Open(t.Context(), s.Repo)
	s.Check(err)
	defer r.Close()
	var text strings.Builder
	for path, name := range map[string]string{"a": "plain", "b": "with/slash", "c": "with blank", "d": "../x", "e": "/x",
		"f": "x/../../y", "g": "x/.git", "h": ".GIT/x", "i": "x//y", "j": ".", "k": "x\\\\y", "l": "c:x", "m": "-x",
		"n": "x/.git .", "o": "git~1", "p": "x\ty", "q": ""} {
		text.WriteString("[submodule \"" + name + "\"]\n\tpath = " + path + "\n\turl = https://example.org/x\n")
	}
	s.Write(".gitmodules", text.String()+"[include]\n\tpath = "+s.Settings()+"\n[submodule]\n\tpath = r\n")
	s.Git(s.Repo, "commit", "-q", "-m", "names", ".gitmodules")
	names, err := r.SubmoduleNames(t.Context())
	want := map[string]string{"a": "plain", "b": "with/slash", "c": "with blank"}
	if err != nil || !maps.Equal(names, want) {
		t.Errorf("the names are %q, %v; want %q", names, err, want)
	}
	s.Write(".gitmodules", "[submodule \"x\n")
	s.Git(s.Repo, "update-index", ".gitmodules")
	s.Git(s.Repo, "update-ref", "HEAD", s.Git(s.Repo, "commit-tree", "-p", "HEAD", "-m", "x", s.Git(s.Repo, "write-tree")))
	if names, err := r.SubmoduleNames(t.Context()); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("the names are %q, %v", names, err)
	}
}
