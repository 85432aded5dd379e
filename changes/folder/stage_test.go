package folder_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/changes/folder"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/gittest"
)

// now is the time of all checkpoints and diffs in these tests.
var now = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// stage is a test's git repository.
type stage struct {
	*gittest.Stage
	base string // the commit with which diffs compare
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{Stage: gittest.New(t)}
}

func (s *stage) remove(name string) {
	s.Helper()
	s.Check(os.RemoveAll(filepath.Join(s.Repo, name)))
}

func (s *stage) link(target, name string) {
	s.Helper()
	s.remove(name)
	s.Check(os.Symlink(target, filepath.Join(s.Repo, name)))
}

// git runs plain git in the repository.
func (s *stage) git(args ...string) string {
	s.Helper()
	return s.Git(s.Repo, args...)
}

// commit commits all changes and returns the commit.
func (s *stage) commit(text string) string {
	s.Helper()
	s.git("add", "-A")
	s.git("commit", "-q", "--allow-empty", "-m", text)
	return s.Rev(s.Repo, "HEAD")
}

func (s *stage) open() *folder.Folder {
	s.Helper()
	return s.openAt(s.Repo)
}

func (s *stage) openAt(dir string) *folder.Folder {
	s.Helper()
	program, err := git.Find(s.Environ, "")
	s.Check(err)
	f, err := folder.Open(s.Context(), program, dir, s.Root)
	s.Check(err)
	s.Cleanup(f.Close)
	return f
}

func (s *stage) diff(w changes.DiffRequest) changes.Diff {
	s.Helper()
	d, err := s.open().Diff(s.Context(), s.base, w, now)
	s.Check(err)
	return d
}

// oddNames contains names that a patch must quote, and names that look like options.
var oddNames = []string{"a b", "a\nb", "a\tb", `a"b`, `a\b`, "-n", "\xff\xfe", "ä", ":(top)x", "*", "\x1b[31m",
	"dir with/x\ny"}

// everything makes a repository with a base commit, and then makes changes of all kinds.
func (s *stage) everything() {
	s.Helper()
	long := strings.Repeat("some line\n", 50)
	for _, name := range []string{"kept", "committed", "staged", "unstaged", "deleted", "deleted-staged", "executable",
		"becomes-link", "becomes-dir", "renamed-staged", "folder/file", "twice"} {
		s.Write(name, name+"\n"+long)
	}
	s.Write("moved", strings.Repeat("another line\n", 50))
	s.Write("binary", "\x00\x01\x02"+long)
	s.Write("no-newline", "x")
	s.Write(".gitignore", "ignored\n")
	for i, name := range oddNames {
		if i%2 == 0 {
			s.Write(name, "old\n")
		}
	}
	s.link("kept", "link")
	s.base = s.commit("base")
	s.Write("committed", "new\n"+long)
	s.Write("new-committed", "new\n")
	s.commit("a commit of the arm")
	s.Write("staged", "new\n"+long)
	s.Write("new-staged", "new\n")
	s.Write("twice", "first\n"+long)
	s.git("mv", "renamed-staged", "now-staged")
	s.git("rm", "-q", "deleted-staged")
	s.git("add", "staged", "new-staged", "twice")
	s.Write("twice", "second\n"+long)
	s.Write("unstaged", long+"new\n")
	s.Write("untracked", "new\n")
	s.Write("folder/deep/untracked", "new\n")
	s.Write("ignored", "new\n")
	s.Write("binary", "\x00\x01\x03"+long)
	s.Write("new-binary", "\x00\xff")
	s.Write("empty", "")
	s.Write("no-newline", "y")
	s.Write("crlf", "a\r\nb\r\n")
	for _, name := range oddNames {
		s.Write(name, "new\n")
	}
	s.remove("deleted")
	s.Check(os.Chmod(filepath.Join(s.Repo, "executable"), 0o755))
	s.link("kept", "becomes-link")
	s.link("elsewhere", "link")
	s.remove("becomes-dir")
	s.Write("becomes-dir/file", "new\n")
	s.Check(os.Rename(filepath.Join(s.Repo, "moved"), filepath.Join(s.Repo, "moved-away")))
	s.Write("moved-away", "first\n"+strings.Repeat("another line\n", 50))
}

// tree returns every file below a folder, except the ignored file and the files in .git. It reduces each mode
// to what git stores: the type, and whether the file is executable. It omits folders, because git stores none.
func (s *stage) tree(dir string) map[string]gittest.File {
	s.Helper()
	files := map[string]gittest.File{}
	for name, f := range s.Files(dir) {
		if !f.Mode.IsDir() && name != "ignored" {
			files[name] = gittest.File{Mode: f.Mode.Type() | f.Mode&0o100, Content: f.Content}
		}
	}
	return files
}

// untouched returns what a checkpoint must not change: the index, the stash and all refs outside of
// refs/coleo.
func (s *stage) untouched() map[string]gittest.File {
	s.Helper()
	files, refs := s.Owned(), ""
	for line := range strings.Lines(s.git("for-each-ref")) {
		if !strings.Contains(line, "refs/coleo/") {
			refs += strings.TrimSpace(line) + "\n"
		}
	}
	files["refs"] = gittest.File{Content: refs}
	return files
}

// part returns the extension of an index that has the given name.
func part(index []byte, name string) []byte {
	const head = 8
	at := bytes.Index(index, []byte(name))
	return index[at : at+head+int(binary.BigEndian.Uint32(index[at+4:]))]
}

func (s *stage) read(path string) []byte {
	s.Helper()
	data, err := os.ReadFile(path)
	s.Check(err)
	return data
}
