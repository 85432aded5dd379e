package git_test

import (
	"crypto/sha1"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// listed returns the entries of an index, as git reads them.
func (s *stage) listed(index string) string {
	s.Helper()
	s.Environ = append(s.Environ, "GIT_INDEX_FILE="+index)
	defer func() { s.Environ = s.Environ[:len(s.Environ)-1] }()
	return s.Git(s.Repo, "ls-files", "--stage", "--debug") + s.Git(s.Repo, "diff-index", "--cached", "HEAD")
}

func TestAFreshIndexIsThatOfGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Write("a/b/c", "x\n")
	s.Write("a.b", "x\n")
	s.Write("a b", "x\n")
	s.Write("a-b/c", "x\n")
	s.Write(".gitignore", "*.o\n")
	s.Write(strings.Repeat("long", 20)+"/"+strings.Repeat("name", 20), "x\n")
	s.Check(os.Symlink("a.b", filepath.Join(s.Repo, "link")))
	s.Check(os.Chmod(filepath.Join(s.Repo, "a.b"), 0o755))
	s.Git(s.Repo, "add", ".")
	deep := strings.Repeat(strings.Repeat("deep", 50)+"/", 21) + "file" // longer than the flags of an entry can say
	s.Git(s.Repo, "update-index", "--add", "--cacheinfo", "160000,"+s.Rev(s.Repo, "HEAD")+",z",
		"--cacheinfo", "100644,"+s.Git(s.Repo, "rev-parse", "HEAD:file")+","+deep)
	s.Git(s.Repo, "commit", "-qm", "files")
	s.Git(s.Repo, "reset", "-q") // removes what the index says about the long path
	ours, gits := filepath.Join(s.Root, "ours"), filepath.Join(s.Root, "gits")
	r := s.openLoose()
	if written, err := r.WriteFreshIndex(ours); !written || err != nil {
		t.Fatalf("written %v, %v", written, err)
	}
	s.Environ = append(s.Environ, "GIT_INDEX_FILE="+gits)
	s.Git(s.Repo, "read-tree", "HEAD")
	s.Environ = s.Environ[:len(s.Environ)-1]
	if got, want := s.listed(ours), s.listed(gits); got != want || !strings.Contains(got, deep) {
		t.Errorf("the index has\n%s\nwant\n%s", got, want)
	}
	if !r.IndexIsHead() {
		t.Error("the index of the work folder is not that of the commit")
	}
}

// An arm can write any tree. Git must look at each that is not ordinary.
func TestAFreshIndexOfAnOddCommitIsLeftToGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	raw, err := hex.DecodeString(s.Git(s.Repo, "rev-parse", "HEAD:file"))
	s.Check(err)
	blob := "\x00" + string(raw)
	below, err := hex.DecodeString(s.Git(s.Repo, "rev-parse", "HEAD^{tree}"))
	s.Check(err)
	empty, err := hex.DecodeString(s.Git(s.Repo, "hash-object", "-w", "-t", "tree", "/dev/null"))
	s.Check(err)
	for name, tree := range map[string]string{
		"ordinary":               "100644 a" + blob + "100644 b" + blob,
		"git folder":             "100644 .git" + blob,
		"git folder, in capital": "100644 .Git" + blob,
		"git folder of Windows":  "100644 git~1" + blob,
		"git folder with a dot":  "100644 .git." + blob,
		"git folder of macOS":    "100644 .g\u200cit" + blob,
		"above":                  "40000 ..\x00" + string(below),
		"itself":                 "40000 .\x00" + string(below),
		"a path":                 "100644 a/b" + blob,
		"a path of Windows":      "100644 a\\b" + blob,
		"no name":                "100644 " + blob,
		"twice":                  "100644 a" + blob + "100644 a" + blob,
		"in another order":       "100644 b" + blob + "100644 a" + blob,
		"a file and a folder":    "100644 a" + blob + "40000 a\x00" + string(below),
		"a link as rules":        "120000 .gitmodules" + blob,
		"an odd mode":            "100664 a" + blob,
		"an empty folder":        "40000 a\x00" + string(empty),
		"a file as a folder":     "40000 a" + blob,
		"cut off":                "100644 a" + blob[:10],
	} {
		s.Write(filepath.Join(s.Root, "tree"), tree)
		id := s.Git(s.Repo, "hash-object", "-w", "-t", "tree", "--literally", filepath.Join(s.Root, "tree"))
		commit := s.Git(s.Repo, "hash-object", "-w", "-t", "commit", "--literally",
			s.file("commit", "tree "+id+"\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nx\n"))
		s.Check(os.WriteFile(filepath.Join(s.Repo, ".git/HEAD"), []byte(commit+"\n"), 0o600))
		path := filepath.Join(s.Root, "index")
		written, err := s.openLoose().WriteFreshIndex(path)
		if written != (name == "ordinary") || err != nil {
			t.Errorf("%s: written %v, %v", name, written, err)
		}
		if _, err := os.Stat(path); written == os.IsNotExist(err) {
			t.Errorf("%s: written %v, and the file: %v", name, written, err)
		}
		_ = os.Remove(path)
	}
}

// file writes a file outside the repository, and returns its path.
func (s *stage) file(name, text string) string {
	s.Helper()
	path := filepath.Join(s.Root, name)
	s.Write(path, text)
	return path
}

func TestOnlyAnOrdinaryIndexOfTheCommitCountsWithoutGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	index := filepath.Join(s.Repo, ".git/index")
	r := s.openLoose()
	clean, err := os.ReadFile(index)
	s.Check(err)
	blob := s.Git(s.Repo, "rev-parse", "HEAD:file")
	with := func(part string) { // writes the index with another part
		body := string(clean[:len(clean)-sha1.Size]) + part
		sum := sha1.Sum([]byte(body))
		s.Write(index, body+string(sum[:]))
	}
	for name, change := range map[string]func(){
		"clean":                      func() {},
		"with a cached tree":         func() { s.Git(s.Repo, "write-tree") },
		"with a changed file":        func() { s.Write("file", "changed\n"); s.Git(s.Repo, "add", "file") },
		"with another mode":          func() { s.Git(s.Repo, "update-index", "--chmod=+x", "file") },
		"with a new file":            func() { s.Git(s.Repo, "update-index", "--add", "--cacheinfo", "100644,"+blob+",zz") },
		"without a file":             func() { s.Git(s.Repo, "update-index", "--force-remove", "file") },
		"with an assumed file":       func() { s.Git(s.Repo, "update-index", "--assume-unchanged", "file") },
		"with a skipped file":        func() { s.Git(s.Repo, "update-index", "--skip-worktree", "file") },
		"with an intended file":      func() { s.Write("new", "x\n"); s.Git(s.Repo, "add", "-N", "new") },
		"of version 4":               func() { s.Git(s.Repo, "update-index", "--index-version", "4") },
		"split":                      func() { s.Git(s.Repo, "update-index", "--split-index") },
		"with a wrong checksum":      func() { s.Write(index, string(clean[:len(clean)-1])+"x") },
		"with an entry of the arm's": func() { s.Write(index, strings.Replace(string(clean), "file", "fil\x00", 1)) },
		"with a link to another":     func() { with("link\x00\x00\x00\x00") },
		"with a part too large":      func() { with("REUC\x00\x00\x00\x09") },
		"with some more bytes":       func() { with("REUC\x00") },
		"with the rest cut off":      func() { s.Write(index, string(clean[:len(clean)/2])) },
		"without content":            func() { s.Write(index, "") },
		"without a file for it":      func() { s.Check(os.Remove(index)) },
	} {
		s.Write(index, string(clean))
		s.Git(s.Repo, "reset", "--hard", "-q")
		change()
		if got, want := r.IndexIsHead(), name == "clean" || name == "with a cached tree"; got != want {
			t.Errorf("the index %s is that of the commit: %v, want %v", name, got, want)
		}
	}
}

func TestTheIndexOfAPackedCommitIsLeftToGit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Collect(s.Repo)
	r := s.openLoose()
	if written, err := r.WriteFreshIndex(filepath.Join(s.Root, "index")); written || err != nil || r.IndexIsHead() {
		t.Errorf("written %v, %v; the index is known: %v", written, err, r.IndexIsHead())
	}
}
