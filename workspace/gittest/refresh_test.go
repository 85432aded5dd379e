package gittest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The index of a copy must be what git makes of it, and git must look at each index that is not ordinary.
func TestACopiedIndexKnowsItsFiles(t *testing.T) {
	t.Parallel()
	s := New(t)
	s.Write("file", "x\n")
	s.Write("folder/program", "x\n")
	s.Check(os.Chmod(filepath.Join(s.Repo, "folder/program"), 0o755))
	s.Check(os.Symlink("file", filepath.Join(s.Repo, "link")))
	s.Git(s.Repo, "add", ".")
	s.Git(s.Repo, "commit", "-qm", "files")
	index := filepath.Join(s.Repo, ".git/index")
	clean, err := os.ReadFile(index)
	s.Check(err)
	s.Check(os.Rename(filepath.Join(s.Repo, "file"), filepath.Join(s.Root, "old")))
	s.Write("file", "x\n") // another file with the same content
	if out := s.Git(s.Repo, "diff-files"); out == "" {
		t.Fatal("git takes the other file for the old one")
	}
	if !refresh(s.Repo) {
		t.Fatal("the ordinary index is left to git")
	}
	if out := s.Git(s.Repo, "diff-files"); out != "" {
		t.Errorf("for git, the files differ from the index: %s", out)
	}
	old := time.Unix(1e9, 0) // git compares the content of a file that is as new as the index
	for name, change := range map[string]func(){
		"nothing":          func() {},
		"another content":  func() { s.Write("file", "y\n"); s.Check(os.Chtimes(filepath.Join(s.Repo, "file"), old, old)) },
		"another mode":     func() { s.Check(os.Chmod(filepath.Join(s.Repo, "file"), 0o755)) },
		"a missing file":   func() { s.Check(os.Remove(filepath.Join(s.Repo, "file"))) },
		"a missing link":   func() { s.Check(os.Remove(filepath.Join(s.Repo, "link"))) },
		"a file as a link": func() { s.Check(os.Remove(filepath.Join(s.Repo, "link"))); s.Write("link", "file") },
	} {
		s.Write(index, string(clean))
		s.Git(s.Repo, "reset", "--hard", "-q")
		change()
		before, err := os.ReadFile(index)
		s.Check(err)
		if !refresh(s.Repo) {
			t.Errorf("with %s, the index is left to git", name)
		}
		state := func() string {
			about := s.Git(s.Repo, "diff-files") + "\n" + s.Git(s.Repo, "ls-files", "--stage")
			if name == "nothing" {
				about += s.Git(s.Repo, "ls-files", "--debug")
			}
			return about + s.Git(s.Repo, "status", "--porcelain")
		}
		ours := state()
		s.Write(index, string(before))
		_, _ = s.Try(s.Repo, "update-index", "-q", "--really-refresh") // the exit code says whether files differ
		if gits := state(); ours != gits {
			t.Errorf("with %s, the index has\n%s\nand git makes of it\n%s", name, ours, gits)
		}
	}
	for name, change := range map[string]func(){
		"attributes":           func() { s.Write("a/.gitattributes", ""); s.Git(s.Repo, "add", ".") },
		"an assumed file":      func() { s.Git(s.Repo, "update-index", "--assume-unchanged", "file") },
		"another version":      func() { s.Git(s.Repo, "update-index", "--index-version", "4") },
		"an index cut off":     func() { s.Write(index, string(clean[:len(clean)/2])) },
		"nothing in its place": func() { s.Check(os.Remove(index)) },
	} {
		s.Write(index, string(clean))
		s.Git(s.Repo, "reset", "--hard", "-q")
		change()
		if refresh(s.Repo) {
			t.Errorf("with %s, the index is not left to git", name)
		}
	}
}
