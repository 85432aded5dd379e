// Package gittest provides tests with real git repositories, and compares their contents. Only tests
// import it.
package gittest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Stage is a folder with a git repository and a home folder for a person who owns the repository. It
// is deleted when the test ends.
type Stage struct {
	testing.TB
	Root    string   // the folder; its path is absolute and has no symbolic links
	Repo    string   // the main work folder of the repository, which is Root/project
	Environ []string // the environment for git
}

// New makes a stage with an empty repository, whose branch is main.
func New(t testing.TB) *Stage {
	t.Helper()
	return empty.New(t)
}

// settings is the person's own configuration of git. It switches off git's automatic maintenance,
// which would start another process after each commit. It also switches off waiting for the disk,
// because a test can kill a process but cannot cut the power.
const settings = `[core]
	fsync = none
[user]
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

// memory is a folder in memory, which only Linux has. Git makes many short files. On a disk, these
// files cost more than half of a stage's processor time.
const memory = "/dev/shm"

// needed is how much free memory the stages of all test programs need, in bytes. In a container,
// the folder in memory often has only 64 MB.
const needed = 1 << 30

// hasRoom reports whether a folder exists and has enough free space for stages.
func hasRoom(folder string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(folder, &s) == nil && float64(s.Bavail)*float64(s.Bsize) >= needed
}

// place makes a stage without files.
func place(t testing.TB) *Stage {
	t.Helper()
	dir, err := "", error(nil)
	if !hasRoom(memory) {
		dir = t.TempDir()
	} else if dir, err = os.MkdirTemp(memory, "coleo-gittest-"); err == nil {
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Errorf("delete the stage: %v", err)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(dir)
	s := &Stage{TB: t, Root: root, Repo: filepath.Join(root, "project")}
	s.Check(err)
	s.Environ = Environ(root)
	return s
}

// Environ returns the environment for git in the stage whose folder is `root`.
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

// Write writes a file. A relative path is relative to the repository. Write makes the folders above
// the file.
func (s *Stage) Write(path, text string) {
	s.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Repo, path)
	}
	s.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	s.Check(os.WriteFile(path, []byte(text), 0o644))
}

// Append appends text to a file. It makes the file and the folders above it if they do not exist.
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

// Try runs git in a folder. It returns git's whole output without white space around it.
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

// ArmID returns the id of an arm of the stage. It differs from the ids in all other stages, even in test programs
// that run at the same time. This is necessary because Coleo ends an arm's script by this id: it ends each process on
// the machine whose environment contains the id.
func (s *Stage) ArmID(name string) string { return ArmID(s.Root, name) }

// ArmID returns the same id as [Stage.ArmID] for the stage in the folder `root`.
func ArmID(root, name string) string { return "arm-" + name + mark(root) }

// mark returns the text with which the ids of all arms of a stage end.
func mark(root string) string {
	sum := sha256.Sum256([]byte(root))
	return "-" + hex.EncodeToString(sum[:4])
}
