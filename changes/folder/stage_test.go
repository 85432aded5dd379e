package folder_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/changes/folder"
	"coleo.dev/workspace/git"
)

// now is the time of everything in these tests.
var now = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// stage is a repository with what is in most of them.
type stage struct {
	*testing.T
	root, dir string
	environ   []string
	base      string // its first commit
}

func newStage(t *testing.T) *stage {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	s := &stage{T: t, root: root, dir: filepath.Join(root, "repo")}
	s.check(err)
	home := filepath.Join(root, "home")
	s.check(os.MkdirAll(home, 0o700))
	s.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
	s.check(os.WriteFile(filepath.Join(home, ".gitconfig"),
		[]byte("[user]\n\tname = a\n\temail = a@b\n[init]\n\tdefaultBranch = main\n"), 0o600))
	s.gitIn(root, "init", "-q", "repo")
	return s
}

func (s *stage) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) write(name, text string) {
	s.Helper()
	path := filepath.Join(s.dir, name)
	s.check(os.MkdirAll(filepath.Dir(path), 0o755))
	s.check(os.WriteFile(path, []byte(text), 0o644))
}

func (s *stage) remove(name string) {
	s.Helper()
	s.check(os.RemoveAll(filepath.Join(s.dir, name)))
}

func (s *stage) link(target, name string) {
	s.Helper()
	s.remove(name)
	s.check(os.Symlink(target, filepath.Join(s.dir, name)))
}

// git runs git as anybody would, in the repository.
func (s *stage) git(args ...string) string {
	s.Helper()
	return s.gitIn(s.dir, args...)
}

func (s *stage) gitIn(dir string, args ...string) string {
	s.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, s.environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits everything and returns the commit.
func (s *stage) commit(text string) string {
	s.Helper()
	s.git("add", "-A")
	s.git("commit", "-q", "--allow-empty", "-m", text)
	return s.git("rev-parse", "HEAD")
}

func (s *stage) open() *folder.Folder {
	s.Helper()
	return s.openAt(s.dir)
}

func (s *stage) openAt(dir string) *folder.Folder {
	s.Helper()
	program, err := git.Find(s.environ, "")
	s.check(err)
	f, err := folder.Open(s.Context(), program, dir, s.root)
	s.check(err)
	s.Cleanup(f.Close)
	return f
}

func (s *stage) diff(w changes.Wish) changes.Diff {
	s.Helper()
	d, err := s.open().Diff(s.Context(), s.base, w, now)
	s.check(err)
	return d
}

// oddNames are names that a patch must quote, and names that look like options.
var oddNames = []string{"a b", "a\nb", "a\tb", `a"b`, `a\b`, "-n", "\xff\xfe", "ä", ":(top)x", "*", "\x1b[31m",
	"dir with/x\ny"}

// everything makes a repository, and then changes of all kinds.
func (s *stage) everything() {
	s.Helper()
	long := strings.Repeat("some line\n", 50)
	for _, name := range []string{"kept", "committed", "staged", "unstaged", "deleted", "deleted-staged", "executable",
		"becomes-link", "becomes-dir", "renamed-staged", "folder/file", "twice"} {
		s.write(name, name+"\n"+long)
	}
	s.write("moved", strings.Repeat("another line\n", 50))
	s.write("binary", "\x00\x01\x02"+long)
	s.write("no-newline", "x")
	s.write(".gitignore", "ignored\n")
	for i, name := range oddNames {
		if i%2 == 0 {
			s.write(name, "old\n")
		}
	}
	s.link("kept", "link")
	s.base = s.commit("base")
	s.write("committed", "new\n"+long)
	s.write("new-committed", "new\n")
	s.commit("a commit of the arm")
	s.write("staged", "new\n"+long)
	s.write("new-staged", "new\n")
	s.write("twice", "first\n"+long)
	s.git("mv", "renamed-staged", "now-staged")
	s.git("rm", "-q", "deleted-staged")
	s.git("add", "staged", "new-staged", "twice")
	s.write("twice", "second\n"+long)
	s.write("unstaged", long+"new\n")
	s.write("untracked", "new\n")
	s.write("folder/deep/untracked", "new\n")
	s.write("ignored", "new\n")
	s.write("binary", "\x00\x01\x03"+long)
	s.write("new-binary", "\x00\xff")
	s.write("empty", "")
	s.write("no-newline", "y")
	s.write("crlf", "a\r\nb\r\n")
	for _, name := range oddNames {
		s.write(name, "new\n")
	}
	s.remove("deleted")
	s.check(os.Chmod(filepath.Join(s.dir, "executable"), 0o755))
	s.link("kept", "becomes-link")
	s.link("elsewhere", "link")
	s.remove("becomes-dir")
	s.write("becomes-dir/file", "new\n")
	s.check(os.Rename(filepath.Join(s.dir, "moved"), filepath.Join(s.dir, "moved-away")))
	s.write("moved-away", "first\n"+strings.Repeat("another line\n", 50))
}

// tree returns every file below a folder, besides .git and what git ignores, with its mode
// and its content.
func (s *stage) tree(dir string) map[string]string {
	s.Helper()
	out := map[string]string{}
	s.check(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" && d.IsDir() {
			return filepath.SkipDir
		}
		rel, _ := filepath.Rel(dir, path)
		if d.IsDir() || rel == "ignored" || rel == ".git" {
			return nil
		}
		info, err := d.Info()
		s.check(err)
		text, kind := "", info.Mode()&0o100|info.Mode().Type()
		if kind&os.ModeSymlink != 0 {
			text, err = os.Readlink(path)
			kind = os.ModeSymlink
		} else {
			var raw []byte
			raw, err = os.ReadFile(path)
			text = string(raw)
		}
		s.check(err)
		out[rel] = kind.String() + " " + text
		return nil
	}))
	return out
}

func (s *stage) sameTree(got, want map[string]string) {
	s.Helper()
	for name, text := range want {
		if other, ok := got[name]; !ok {
			s.Errorf("%q is missing", name)
		} else if other != text {
			s.Errorf("%q is %.60q, want %.60q", name, other, text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			s.Errorf("%q is there, and should not be", name)
		}
	}
}

// untouched returns a hash of the index, of the stash and of all refs outside of refs/coleo.
func (s *stage) untouched() string {
	s.Helper()
	index, err := os.ReadFile(filepath.Join(s.dir, ".git/index"))
	s.check(err)
	h := sha256.New()
	h.Write(index)
	h.Write([]byte(s.git("stash", "list") + s.git("symbolic-ref", "HEAD") + s.git("rev-parse", "HEAD")))
	for line := range strings.Lines(s.git("for-each-ref")) {
		if !strings.Contains(line, "refs/coleo/") {
			h.Write([]byte(line))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
