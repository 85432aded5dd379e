package reading

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"coleo.dev/policy/commandline"
	"coleo.dev/workspace/gittest"
)

// elsewhere is this machine with a test's own HOME. It pretends that the programs of fakePrograms
// exist, which is enough because the judge runs no program.
type elsewhere struct {
	Here
	home string
}

// Text hides this machine's git settings for all users, because they can name programs, such as
// git-lfs.
func (e elsewhere) Text(path string) (string, error) {
	if path == "/etc/gitconfig" {
		return "", fs.ErrNotExist
	}
	return e.Here.Text(path)
}

var fakePrograms = []string{"rg", "jq", "tree", "xxd", "hexdump", "column"}

func (e elsewhere) Env(name string) string {
	if name == "HOME" {
		return e.home
	}
	return ""
}

func (e elsewhere) Program(name string) (string, error) {
	if slices.Contains(fakePrograms, name) {
		return "/usr/bin/" + name, nil
	}
	return e.Here.Program(name)
}

// newTree makes a workspace with files of all kinds and a git repository. It also makes a folder
// beside the workspace.
func newTree(t testing.TB) Workspace {
	t.Helper()
	top := diskFolder(t)
	root := filepath.Join(top, "work")
	for _, dir := range []string{"work/sub", "work/open", "outside", "home"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"work/a.go": "package a\n", "work/b.txt": "b\nc\n", "work/sub/c.go": "package c\n", "work/sub/server.key": "k",
		"work/open/d.txt": "d\n", "work/.env": "KEY=secret\n", "work/id_rsa": "k", "outside/other.md": "package o\n",
		"outside/secret.txt": "secret\n", "outside/plain.txt": "plain\n",
	} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link.txt": "../outside/plain.txt", "linkdir": "../outside",
		"inner.txt": "b.txt", "nowhere": "../outside/none", "named": ".env"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(top, "outside/other.md"), filepath.Join(root, "other.md")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	makeRepository(t, root)
	w, err := NewWorkspace(root, elsewhere{home: filepath.Join(top, "home")})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// diskFolder makes a folder whose path contains no symbolic link. A workspace must not be below /dev,
// so if the folder for temporary files is there, diskFolder uses /var/tmp.
func diskFolder(t testing.TB) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil && strings.HasPrefix(top, "/dev/") {
		if top, err = os.MkdirTemp("/var/tmp", "coleo-reading-"); err == nil {
			t.Cleanup(func() {
				if err := os.RemoveAll(top); err != nil {
					t.Error(err)
				}
			})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// made is the git folder of the repository of newTree. Making it takes five git commands, so it is made
// once and then copied.
var made struct {
	once sync.Once
	git  fstest.MapFS // nil if making it failed
}

// makeRepository makes a git repository with two commits.
func makeRepository(t testing.TB, root string) {
	t.Helper()
	made.once.Do(func() {
		commitTwice(t, root)
		made.git = gittest.Content(t, filepath.Join(root, ".git"))
	})
	if made.git == nil {
		t.Fatal("there is no repository to copy: the first test that needs it could not make it")
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
		return // this is the first test
	}
	if err := os.CopyFS(filepath.Join(root, ".git"), made.git); err != nil {
		t.Fatal(err)
	}
	Workspace{Root: root}.git(t, "update-index", "-q", "--refresh") // the index has the times of these files from now on
}

func commitTwice(t testing.TB, root string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "a.go", "b.txt"}, {"commit", "-qm", "one"},
		{"add", "sub/c.go"}, {"commit", "-qm", "two"}} {
		Workspace{Root: root}.git(t, args...)
	}
}

func (w Workspace) bash(line string) error {
	return w.Judge(Line{Text: line, Shell: commandline.Bash, Dir: w.Root})
}

func TestWhatOnlyReadsIsAllowed(t *testing.T) {
	t.Parallel()
	w := newTree(t).Remembering() // nothing changes its files
	for _, line := range append(allowed, "cd "+w.Root+"/sub && cat c.go", "cat "+w.Root+"/a.go") {
		if err := w.bash(line); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestWhatDoesMoreIsNotAllowed(t *testing.T) {
	t.Parallel()
	w := newTree(t).Remembering() // nothing changes its files
	for _, line := range asked {
		if err := w.bash(line); err == nil {
			t.Errorf("%q is allowed", line)
		}
	}
}

// TestAFileThatLooksLikeAnOptionIsNone: a pattern can match a file whose name begins with a dash. The
// judge must treat that name as the program does, as an option.
func TestAFileThatLooksLikeAnOptionIsNone(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	if err := os.WriteFile(filepath.Join(w.Root, "open", "-oout"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	line := Line{Text: "sort *", Shell: commandline.Bash, Dir: filepath.Join(w.Root, "open")}
	if err := w.Judge(line); err == nil {
		t.Error("sort * is allowed beside a file -oout")
	}
	line.Text = "sort ./*"
	if err := w.Judge(line); err != nil {
		t.Errorf("sort ./*: %v", err)
	}
}

func TestAProgramOfTheWorkspaceIsNotAllowed(t *testing.T) {
	w := newTree(t)
	fake := filepath.Join(w.Root, "cat")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", w.Root+":"+os.Getenv("PATH"))
	if err := w.bash("cat a.go"); err == nil {
		t.Error("a program of the workspace with the name cat is allowed")
	}
}

func TestAnAliasOfTheUserIsSeen(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, text := range map[string]string{
		".bashrc": "# alias tac=rm\nalias cat=bat\nalias ls='ls --color=auto' wc='wc -l | sh'\nsource ~/.more\n. " +
			"$HOME/.other\n",
		".more":    "head() { rm -rf /; }\n",
		".other":   "function tail { :; }\nsource ~/.bashrc\n",
		".profile": "alias grep=\"grep --color=auto\"\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := Shadowed(home)
	if want := []string{"cat", "head", "tail", "wc"}; !slices.Equal(got, want) {
		t.Errorf("shadowed are %v, want %v", got, want)
	}
	w := newTree(t)
	err := w.Judge(Line{Text: "cat a.go", Shell: commandline.Bash, Dir: w.Root, Shadowed: got})
	if err == nil || !strings.Contains(err.Error(), "alias") {
		t.Errorf("an alias is judged as %v", err)
	}
}
