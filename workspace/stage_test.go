package workspace_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"coleo.dev/workspace"
	"coleo.dev/workspace/script"
)

// stage is a repository with two commits, and Coleo's folder.
type stage struct {
	*testing.T
	repo    string
	trees   workspace.Workspaces
	environ []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, repo: filepath.Join(root, "project")}
	s.environ = environ(root)
	s.trees = workspacesIn(root)
	s.write(filepath.Join(root, "home/.gitconfig"),
		"[user]\n\tname = a\n\temail = a@b\n[protocol \"file\"]\n\tallow = always\n")
	s.must(root, "init", "-q", "-b", "main", s.repo)
	s.write("file", "one\n")
	s.write("sub/deep/file", "two\n")
	s.write("run.sh", "#!/bin/sh\n")
	s.check(os.Chmod(filepath.Join(s.repo, "run.sh"), 0o755))
	s.write(".gitignore", ".env\nbuild/\nnode_modules\n")
	s.must(s.repo, "add", ".")
	s.must(s.repo, "commit", "-qm", "first")
	s.write("file", "one\nand more\n")
	s.must(s.repo, "commit", "-qam", "second")
	return s
}

func environ(root string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home"), "GIT_CONFIG_NOSYSTEM=1"}
}

func workspacesIn(root string) workspace.Workspaces {
	return workspace.Workspaces{Dir: filepath.Join(root, "state"), Environ: environ(root), Now: time.Now,
		Scripts: script.Runner{Trusts: script.Trusts{File: filepath.Join(root, "trust.json")},
			Guard: []string{os.Args[0], guardWord}, Environ: append(environ(root), "API_KEY=secret")}}
}

// guardWord makes this test program the guard of a script.
const guardWord = "guard-script"

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

func (s *stage) must(dir string, args ...string) string {
	s.Helper()
	out, err := s.command(dir, args...).CombinedOutput()
	if err != nil {
		s.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *stage) command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, s.environ
	return cmd
}

// made makes the worktree of an arm.
func (s *stage) made(name string, change ...func(*workspace.Order)) workspace.Workspace {
	s.Helper()
	o := workspace.Order{ID: "arm-" + name, Name: name, Folder: s.repo}
	for _, fn := range change {
		fn(&o)
	}
	w, err := s.trees.Make(s.Context(), o)
	s.check(err)
	return w
}

func branch(name string) func(*workspace.Order) {
	return func(o *workspace.Order) { o.Branch = name }
}

// The function picture returns one line for each file below a folder, with its mode, and its
// content or target. It leaves out the .git of a worktree.
func picture(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if rel == "." || rel == ".git" && !d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = fmt.Sprintf("%x", sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		lines = append(lines, fmt.Sprintf("%q %v %s", rel, info.Mode(), content))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// mainPicture describes the parts of the main work folder that must not change. They are its files,
// its index, its stash and its branch.
func (s *stage) mainPicture() string {
	s.Helper()
	index, err := os.ReadFile(filepath.Join(s.repo, ".git/index"))
	s.check(err)
	stash, _ := os.ReadFile(filepath.Join(s.repo, ".git/refs/stash"))
	head, err := os.ReadFile(filepath.Join(s.repo, ".git/HEAD"))
	s.check(err)
	config, err := os.ReadFile(filepath.Join(s.repo, ".git/config"))
	s.check(err)
	all := s.picture(s.repo)
	kept := all[:0:0]
	for _, line := range all {
		if !strings.HasPrefix(line, `".git`) || strings.HasPrefix(line, `".gitignore`) {
			kept = append(kept, line)
		}
	}
	return fmt.Sprintf("%x %s %s %s\n%s", sha256.Sum256(index), stash, head, config, strings.Join(kept, "\n"))
}

func (s *stage) picture(dir string) []string { return strings.Split(picture(s.T, dir), "\n") }

// nothingLeft checks that no worktree, record or folder is left of an arm.
func (s *stage) nothingLeft() {
	s.Helper()
	if all, err := s.trees.List(); err != nil || len(all) > 0 {
		s.Errorf("there are records: %v %v", all, err)
	}
	for _, dir := range []string{filepath.Join(s.trees.Dir, "trees"), filepath.Join(s.repo, ".git/worktrees")} {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			s.Errorf("%s has %v", dir, entries)
		}
	}
}
