package merge_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev/changes"
	"coleo.dev/workspace"
	"coleo.dev/workspace/merge"
)

// stage is a repository with the branches main and base. The arms' worktrees are made from
// base. The person has main checked out, with a stash, a staged file and a changed file.
type stage struct {
	*testing.T
	root, repo string
	trees      workspace.Workspaces
	environ    []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, root: root, repo: filepath.Join(root, "project")}
	s.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home"), "GIT_CONFIG_NOSYSTEM=1"}
	s.trees = workspace.Workspaces{Dir: filepath.Join(root, "state"), Environ: s.environ, Now: time.Now}
	s.write(filepath.Join(root, "home/.gitconfig"), "[user]\n\tname = Person\n\temail = person@example.org\n")
	s.must(root, "init", "-q", "-b", "main", s.repo)
	s.write("file", "one\ntwo\nthree\nfour\nfive\n")
	s.write(".gitignore", "*.ignored\n")
	s.must(s.repo, "add", ".")
	s.must(s.repo, "commit", "-qm", "first")
	s.must(s.repo, "branch", "base")
	s.write("file", "stashed\n")
	s.must(s.repo, "stash", "-q")
	s.write("staged", "staged\n")
	s.must(s.repo, "add", "staged")
	s.write("file", "changed by the person\n")
	return s
}

func (s *stage) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// write writes a file of the repository, or of an absolute path.
func (s *stage) write(path, text string) {
	s.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.repo, path)
	}
	s.check(os.MkdirAll(filepath.Dir(path), 0o755))
	s.check(os.WriteFile(path, []byte(text), 0o644))
}

func (s *stage) git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, s.environ
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (s *stage) must(dir string, args ...string) string {
	s.Helper()
	out, err := s.git(dir, args...)
	if err != nil {
		s.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

// arm makes the worktree of an arm on the branch base.
func (s *stage) arm(name string) workspace.Workspace {
	s.Helper()
	w, err := s.trees.Make(s.Context(), workspace.Order{ID: "arm-" + name, Name: name, Folder: s.repo, Base: "base"})
	s.check(err)
	return w
}

// commit lets an arm write a file and commit it.
func (s *stage) commit(w workspace.Workspace, path, text, message string) string {
	s.Helper()
	s.write(filepath.Join(w.Path, path), text)
	s.must(w.Path, "add", "--", path)
	s.must(w.Path, "-c", "user.name=Arm", "-c", "user.email=arm@example.org", "commit", "-qm", message)
	return s.must(w.Path, "rev-parse", "HEAD")
}

// onBase commits a file on the branch base, in a work folder of its own.
func (s *stage) onBase(path, text, message string) string {
	s.Helper()
	dir := filepath.Join(s.root, "person")
	s.must(s.repo, "worktree", "add", "-q", dir, "base")
	s.write(filepath.Join(dir, path), text)
	s.must(dir, "add", "--", path)
	s.must(dir, "commit", "-qm", message)
	id := s.must(dir, "rev-parse", "HEAD")
	s.must(s.repo, "worktree", "remove", dir)
	return id
}

func (s *stage) merge(w workspace.Workspace, wish changes.MergeWish) (changes.Merged, error) {
	return merge.Do(s.Context(), s.trees, w, wish, merge.Hooks{})
}

func (s *stage) merged(w workspace.Workspace, wish changes.MergeWish) changes.Merged {
	s.Helper()
	m, err := s.merge(w, wish)
	s.check(err)
	if len(m.Conflicts) > 0 {
		s.Fatalf("there are conflicts: %v", m.Conflicts)
	}
	return m
}

// show returns the content of a file of a commit.
func (s *stage) show(commit, path string) string {
	s.Helper()
	return s.must(s.repo, "show", commit+":"+path)
}

// The function person describes everything that a merge must not change. This is the files, the
// index, the stash and the branches of the person's work folder.
func (s *stage) person() string {
	s.Helper()
	var out strings.Builder
	for _, name := range []string{"index", "HEAD", "config", "refs/stash", "logs/refs/stash", "refs/heads/main"} {
		data, err := os.ReadFile(filepath.Join(s.repo, ".git", name))
		s.check(err)
		fmt.Fprintf(&out, "%s %x\n", name, sha256.Sum256(data))
	}
	out.WriteString(s.files(s.repo))
	return out.String()
}

// files returns a line for each file of a work folder.
func (s *stage) files(dir string) string {
	s.Helper()
	var out strings.Builder
	s.check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == ".git" {
			return errSkip(err)
		}
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			fmt.Fprintf(&out, "%q %x\n", path, sha256.Sum256(data))
			return err
		}
		return nil
	}))
	return out.String()
}

func errSkip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// refs are all refs of the repository.
func (s *stage) refs() string {
	s.Helper()
	return s.must(s.repo, "for-each-ref")
}

// objects counts the objects of the repository, also those that nothing has.
func (s *stage) objects() string {
	s.Helper()
	return s.must(s.repo, "cat-file", "--batch-all-objects", "--batch-check")
}
