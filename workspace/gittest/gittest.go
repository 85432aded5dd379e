// Package gittest gives tests real git repositories, and compares their contents. Only tests import
// it.
package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Stage is a folder with a git repository, and with the home folder of the person who owns the
// repository. The stage is deleted when the test ends.
type Stage struct {
	testing.TB
	Root    string   // the folder; its path is absolute and has no symbolic links
	Repo    string   // the main work folder of the repository, which is Root/project
	Environ []string // the environment of git
}

// New makes a stage with an empty repository, whose branch is main.
func New(t testing.TB) *Stage {
	t.Helper()
	return empty.New(t)
}

// settings is the person's own configuration of git. It turns off git's automatic maintenance,
// which would be another process after each commit.
const settings = `[user]
	name = Person
	email = person@example.org
[init]
	defaultBranch = main
	templateDir =
[gc]
	auto = 0
[maintenance]
	auto = false
`

// place makes a stage without any file.
func place(t testing.TB) *Stage {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	s := &Stage{TB: t, Root: root, Repo: filepath.Join(root, "project")}
	s.Check(err)
	s.Environ = Environ(root)
	return s
}

// Environ returns the environment of git for a stage. The parameter root is the folder of the
// stage.
func Environ(root string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home"), "GIT_CONFIG_NOSYSTEM=1"}
}

// Settings returns the path of the person's own configuration of git.
func (s *Stage) Settings() string { return filepath.Join(s.Root, "home", ".gitconfig") }

// Check ends the test if there is an error.
func (s *Stage) Check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Write writes a file of the repository, or a file with an absolute path. It makes the folders
// above the file.
func (s *Stage) Write(path, text string) {
	s.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Repo, path)
	}
	s.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	s.Check(os.WriteFile(path, []byte(text), 0o644))
}

// Append adds text to the end of a file. It makes the file and the folders above it if they do not
// exist.
func (s *Stage) Append(path, text string) {
	s.Helper()
	old, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		s.Check(err)
	}
	s.Write(path, string(old)+text)
}

// Command returns the command that runs git in a folder as the person would.
func (s *Stage) Command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, s.Environ
	return cmd
}

// Try runs git in a folder. It returns all output, without white space around it.
func (s *Stage) Try(dir string, args ...string) (string, error) {
	out, err := s.Command(dir, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Git runs git like Try. If git fails, Git ends the test.
func (s *Stage) Git(dir string, args ...string) string {
	s.Helper()
	out, err := s.Try(dir, args...)
	if err != nil {
		s.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}
