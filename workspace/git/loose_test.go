package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev/workspace/git"
)

// openLoose opens the repository of the stage. The caller must have changed nothing that Open reads.
func (s *stage) openLoose() *git.Repo {
	s.Helper()
	r, err := s.program.Open(s.Context(), s.Repo)
	s.Check(err)
	s.Cleanup(r.Close)
	return r
}

// To save a start of git, Coleo reads loose objects itself. It must accept an object only if its content
// matches its id.
func TestALooseObjectIsFoundWithoutGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.openLoose()
	head := s.Rev(s.Repo, "HEAD")
	tree := s.Git(s.Repo, "rev-parse", "HEAD^{tree}")
	for _, name := range []string{"HEAD", r.Head(), head} {
		if got := r.LooseCommit(name); got != head {
			t.Errorf("%s is the commit %q, want %s", name, got, head)
		}
	}
	if got := r.LooseCommit(tree); got != "" {
		t.Errorf("the tree %s is the commit %q", tree, got)
	}
	if kinds := r.LooseKinds([]string{head, tree}); len(kinds) != 2 || kinds[head] != "commit" || kinds[tree] != "tree" {
		t.Errorf("the types are %v", kinds)
	}
	if got := r.LooseTree(head); got != tree || r.LooseTree(tree) != "" {
		t.Errorf("the tree is %q", got)
	}
	if r.MayContain(head, ".coleo") || !r.MayContain(head, "file") {
		t.Error("the top folder of the commit is not known")
	}
	path := filepath.Join(s.Repo, ".git/objects", head[:2], head[2:])
	other, err := os.ReadFile(filepath.Join(s.Repo, ".git/objects", tree[:2], tree[2:]))
	s.Check(err)
	for _, content := range []string{string(other), string(other[:len(other)/2]), ""} {
		s.Check(os.Remove(path))
		s.Write(path, content)
		if got := r.LooseCommit("HEAD"); got != "" || r.LooseKinds([]string{head}) != nil || !r.MayContain(head, ".coleo") {
			t.Errorf("an object with another content is the commit %q", got)
		}
	}
}

// LooseLinks lists the submodules of a commit without starting git. Its list must be the same as git's list.
func TestTheSubmodulesOfALooseCommitAreThoseOfGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.Rev(s.Repo, "HEAD")
	s.Git(s.Repo, "update-index", "--add", "--cacheinfo", "160000,"+id+",a/b/deep", "--cacheinfo", "160000,"+id+",z z")
	s.Git(s.Repo, "commit", "-qm", "submodules")
	links, known := s.openLoose().LooseLinks(s.Rev(s.Repo, "HEAD"))
	var want []string
	for line := range strings.Lines(s.Git(s.Repo, "ls-tree", "-r", "HEAD")) {
		if about, path, _ := strings.Cut(strings.TrimSpace(line), "\t"); strings.HasPrefix(about, "160000") {
			want = append(want, path+" "+strings.Fields(about)[2])
		}
	}
	var got []string
	for _, l := range links {
		got = append(got, l.Path+" "+l.ID)
	}
	if !known || len(want) != 3 || !slices.Equal(got, want) {
		t.Errorf("known %v: the submodules are %q, want %q", known, got, want)
	}
}

func TestTheSubmodulesOfOtherCommitsAreLeftToGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	blob := s.Git(s.Repo, "rev-parse", "HEAD:file")
	commit := func(tree string) string {
		return s.Git(s.Repo, "commit-tree", "-m", "x", "-p", "HEAD", tree)
	}
	s.Write(filepath.Join(s.Root, "tree"), "100664 odd\x00"+strings.Repeat("x", len(blob)/2))
	odd := commit(s.Git(s.Repo, "hash-object", "-w", "-t", "tree", "--literally", filepath.Join(s.Root, "tree")))
	for n := range 40 {
		s.Write(fmt.Sprintf("%d/file", n), "x\n")
	}
	s.Git(s.Repo, "add", ".")
	wide := commit(s.Git(s.Repo, "write-tree"))
	part := s.Git(s.Repo, "rev-parse", wide+":39")
	r := s.openLoose()
	for _, name := range []string{odd, wide, blob, part, "", "HEAD"} {
		if links, known := r.LooseLinks(name); known {
			t.Errorf("%q has the submodules %v", name, links)
		}
	}
}

// Git refuses a commit without a tree. Coleo must not accept it either when it reads the object without git.
func TestABrokenLooseCommitIsLeftToGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write(filepath.Join(s.Root, "commit"), "no tree\n\nx\n")
	id := s.Git(s.Repo, "hash-object", "-w", "-t", "commit", "--literally", filepath.Join(s.Root, "commit"))
	if got := s.openLoose().LooseCommit(id); got != "" {
		t.Errorf("it is the commit %q", got)
	}
	if out, err := s.Try(s.Repo, "rev-parse", "--verify", id+"^{commit}"); err == nil {
		t.Errorf("git takes it for a commit: %s", out)
	}
}

func TestAPackedObjectIsLeftToGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	head := s.Rev(s.Repo, "HEAD")
	s.Collect(s.Repo)
	r := s.openLoose()
	if got := r.LooseCommit("HEAD"); got != "" || r.LooseKinds([]string{head}) != nil || !r.MayContain(head, ".coleo") {
		t.Errorf("the packed commit is %q", got)
	}
}

// Coleo looks for a path in the bytes of the index. An index of version 4, or a split index, does not contain
// each path as a whole. So MayTrack must answer true for every path there.
func TestOnlyAPlainIndexShowsThatItLacksAFile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.openLoose()
	s.Git(s.Repo, "update-index", "--index-version", "2")
	if r.MayTrack("nowhere") || !r.MayTrack("file") {
		t.Error("a plain index shows nothing")
	}
	for _, args := range [][]string{{"--index-version", "4"}, {"--split-index"}} {
		s.Git(s.Repo, "update-index", "--index-version", "2")
		s.Git(s.Repo, append([]string{"update-index"}, args...)...)
		if !r.MayTrack("nowhere") {
			t.Errorf("the index after %q has no such file", args)
		}
	}
	s.Check(os.Remove(filepath.Join(s.Repo, ".git/index")))
	if !r.MayTrack("nowhere") {
		t.Error("a missing index has no such file")
	}
}
