package reading

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// git runs git in the workspace and returns what git prints.
func (w Workspace) git(t testing.TB, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	var said bytes.Buffer
	c.Dir, c.Stderr = w.Root, &said
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args, err, said.String())
	}
	return strings.TrimSpace(string(out))
}

// newSecretTree makes a workspace with a git history that contains a folder with a private name.
func newSecretTree(t *testing.T) Workspace {
	t.Helper()
	w := newTree(t)
	w.place(t, filepath.Join(w.Root, "secrets/a.go"), "secret\n")
	w.git(t, "add", "-f", "secrets/a.go", ".env")
	w.git(t, "commit", "-qm", "three")
	for name, of := range map[string]string{"tree": "HEAD:secrets", "blob": "HEAD:.env"} {
		hash := w.git(t, "rev-parse", of)
		w.git(t, "update-ref", "refs/tags/of-"+name, hash)
		w.place(t, filepath.Join(w.Root, ".git/refs/heads/"+name), hash+"\n")
		w.git(t, "tag", "-a", "-m", "x", "tag-"+name, hash)
	}
	w.git(t, "tag", "-a", "-m", "x", "v1", "HEAD~1")
	w.git(t, "tag", "-a", "-m", "x", "v1-again", "v1")
	return w
}

// kinds runs a test twice: with loose objects and refs, and with packed ones.
func kinds(t *testing.T, test func(*testing.T, Workspace)) {
	t.Helper()
	for _, packed := range []bool{false, true} {
		name := "loose"
		if packed {
			name = "packed"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSecretTree(t)
			if packed {
				w.git(t, "repack", "-adfq")
				w.git(t, "pack-refs", "--all")
			}
			test(t, w)
		})
	}
}

func TestWhatIsNoCommitIsNotShown(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, w Workspace) {
		tree, blob := w.git(t, "rev-parse", "HEAD:secrets"), w.git(t, "rev-parse", "HEAD:.env")
		root := w.git(t, "rev-parse", "HEAD~1^{tree}")
		unchanged := w.Remembering() // until main is changed
		for _, name := range []string{tree, tree[:8], "x-g" + tree[:8], "of-tree", "tree", "refs/heads/tree", "heads/tree",
			"tags/of-tree", "tag-tree", "tag-tree^{}", "of-tree^{tree}", tree + "^{}", "tree@{0}", "nothing", "beef0123"} {
			for _, command := range []string{"git show ", "git cat-file -p ", "git log -p "} {
				if line := command + "'" + name + ":a.go'"; unchanged.bash(line) == nil {
					t.Errorf("%q is allowed", line)
				}
			}
			for _, command := range []string{"git diff " + root + " '" + name + "' -- a.go", "git diff 'HEAD.." + name +
				"' -- a.go", "git diff --cached '" + name + "' -- a.go", "git diff '" + name + "...HEAD' -- a.go"} {
				if unchanged.bash(command) == nil {
					t.Errorf("%q is allowed", command)
				}
			}
		}
		for _, name := range []string{blob, blob[:8], "of-blob", "blob", "tag-blob", "tag-blob^{}", "of-blob^{}", "blob@{0}",
			"stash@{0}"} {
			for _, command := range []string{"git show -s ", "git show ", "git cat-file -p ", "git show --stat "} {
				if unchanged.bash(command+"'"+name+"'") == nil {
					t.Errorf("%q is allowed", command+name)
				}
			}
		}
		w.place(t, filepath.Join(w.Root, ".git/refs/heads/main"), blob+"\n")
		for _, line := range []string{"git show -s", "git show -s HEAD", "git show -s @", "git cat-file -p HEAD",
			"git show HEAD:a.go"} {
			if w.bash(line) == nil {
				t.Errorf("%q is allowed although main is no commit", line)
			}
		}
	})
}

func TestACommitIsShown(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, w Workspace) {
		commit := w.git(t, "rev-parse", "HEAD~1")
		w = w.Remembering() // nothing changes its files
		for _, name := range []string{commit, commit[:7], strings.ToUpper(commit), "x-g" + commit[:9], "main", "heads/main",
			"refs/heads/main", "v1", "v1^{}", "v1-again", "HEAD", "@", "HEAD~1", "main^", "v1^{commit}", "tree^{commit}",
			"blob~0", "HEAD^{/two}", "HEAD@{0}~0", commit + "^{tree}"} {
			for _, command := range []string{"git show '" + name + ":a.go'", "git cat-file -p '" + name + "'",
				"git show -s '" + name + "'", "git show --stat '" + name + "'", "git diff 'HEAD.." + name + "' -- a.go",
				"git diff '" + name + "' HEAD -- a.go"} {
				if err := w.bash(command); err != nil {
					t.Errorf("%q: %v", command, err)
				}
			}
		}
	})
}

// TestALogNeedsAFileOfTheIndex: `git log -p -- NAME` also shows the files of an earlier folder NAME. An agent CLI
// could put a file NAME into the work tree to make the path look harmless. So the judge must allow NAME only if
// the index contains it.
func TestALogNeedsAFileOfTheIndex(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.place(t, filepath.Join(w.Root, "deploy/prod.key"), "k\n")
	w.git(t, "add", "-f", "deploy/prod.key")
	w.git(t, "commit", "-qm", "key")
	w.git(t, "rm", "-rq", "deploy")
	w.git(t, "commit", "-qm", "no key")
	w.place(t, filepath.Join(w.Root, "deploy"), "harmless\n")
	if err := os.Symlink("sub", filepath.Join(w.Root, "way")); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"git log -p -- deploy", "git show HEAD -- deploy", "git diff HEAD~1 HEAD -- deploy",
		"git log -p -- way/c.go", "git log -p -- gone.go", "git log -p -- a.go deploy"} {
		if w.bash(line) == nil {
			t.Errorf("%q is allowed", line)
		}
	}
	for _, line := range []string{"git log -p -- a.go sub/c.go", "cd sub && git log -p -- c.go ../a.go",
		"git log --stat -- deploy"} {
		if err := w.bash(line); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	w.place(t, filepath.Join(w.Root, "Makefile"), "all:\n")
	w.git(t, "add", "deploy", "Makefile") // the index has the file, and the earlier folder is still in the history
	for _, line := range []string{"git log -p -- deploy", "git log -p -- a.go ./deploy", "git show HEAD -- deploy",
		"git diff HEAD~1 HEAD -- deploy"} {
		if w.bash(line) == nil {
			t.Errorf("%q is allowed beside a file of the index", line)
		}
	}
	if err := w.bash("git log -p -- Makefile"); err != nil {
		t.Errorf("a usual name of a file: %v", err)
	}
}

// TestAPipeOfAttributesIsSeen makes .gitattributes a named pipe. The judge must refuse, because git would wait
// for the pipe forever.
func TestAPipeOfAttributesIsSeen(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"git show HEAD:sub/c.go", "git log --stat", "git show --stat", "git log --numstat -3",
		"git log -Sx --oneline", "git diff --shortstat HEAD~1 HEAD", "cd sub && git show HEAD:./c.go",
		"git cat-file -p HEAD:sub/c.go", "git log --stat -- sub", "git log -G x -- sub/c.go"} {
		w := newTree(t)
		if err := w.bash(line); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if err := syscall.Mkfifo(filepath.Join(w.Root, "sub/.gitattributes"), 0o644); err != nil {
			t.Fatal(err)
		}
		if w.bash(line) == nil {
			t.Errorf("%q is allowed beside a pipe", line)
		}
	}
}
