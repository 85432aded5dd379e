package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

// library makes a second repository beside the project.
func (w *world) library() string {
	w.t.Helper()
	dir := w.path("library")
	w.check(os.MkdirAll(dir, 0o700))
	w.check(os.WriteFile(filepath.Join(dir, "code"), []byte("library\n"), 0o600))
	w.git(dir, "config", "--global", "user.name", "Person")
	w.git(dir, "config", "--global", "user.email", "person@example.org")
	w.git(dir, "init", "-q", "-b", "trunk")
	w.git(dir, "add", ".")
	w.git(dir, "commit", "-qm", "library")
	return dir
}

// withLibrary starts an arm that works in project and library. The branches on which its work begins are not
// checked out anywhere.
func (w *world) withLibrary(more ...string) (dir, library string, arm coleo.Arm) {
	w.t.Helper()
	dir, library = w.project(), w.library()
	for _, repo := range []string{dir, library} {
		w.git(repo, "checkout", "-qb", "topic")
	}
	arm = w.spawnInWorktree("one", append([]string{"--with", library}, more...)...)
	for _, repo := range []string{dir, library} {
		w.git(repo, "checkout", "-q", "-b", "away")
	}
	return dir, library, arm
}

func TestM28AnArmWorksInSeveralRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, library, arm := w.withLibrary()
	for _, name := range []string{"project/file", "library/code", fakeRecord} {
		if _, err := os.Stat(filepath.Join(arm.Workdir, name)); err != nil {
			t.Errorf("the arm's folder lacks %s: %v", name, err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"arm status one", "branch coleo/one, made for " + dir + "/sub and " + library},
		{"workspace list", arm.Workdir + "/library"},
	} {
		if out := w.must(strings.Fields(c.args)...); !strings.Contains(out, c.want) {
			t.Errorf("coleo %s says nothing of %q:\n%s", c.args, c.want, out)
		}
	}
	if out := w.must("workspace", "list"); strings.Contains(out, "removed") {
		t.Errorf("a worktree has no arm:\n%s", out)
	}
	if n := len(w.events("one", coleo.EventWorkspaceReady)); n != 2 {
		t.Errorf("the log has %d events that a worktree is ready", n)
	}
	w.must("arm", "kill", "one")
	if again := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "one").Arm; again.Workdir != arm.Workdir {
		t.Errorf("started again, the arm works in %s", again.Workdir)
	}
	w.must("arm", "kill", "one")
	if e := w.fails(5, "arm", "spawn", "-n", "one", "--worktree", "--with", dir); !strings.Contains(e.Message,
		"has its repositories already") {
		t.Errorf("other repositories for the arm: %+v", e)
	}
	w.must("arm", "recover", "one")
	if now := w.arm("one"); now.Workdir != arm.Workdir {
		t.Errorf("recovered, the arm works in %s", now.Workdir)
	}
	w.must("arm", "rename", "one", "uno")
	w.must("arm", "kill", "uno")
	if out := w.must("workspace", "prune"); !strings.Contains(out, "Nothing to prune") {
		t.Errorf("prune: %s", out)
	}
	if e := w.fails(5, "arm", "remove", "uno"); !strings.Contains(e.Message, "outside of the repositories") ||
		!strings.Contains(e.Message, fakeRecord) {
		t.Errorf("a file of the agent CLI beside the repositories: %+v", e)
	}
	w.forgetFake(arm.Workdir)
	w.must("arm", "remove", "uno")
	if _, err := os.Stat(arm.Workdir); err == nil {
		t.Errorf("%s is still there", arm.Workdir)
	}
	for _, repo := range []string{dir, library} {
		if out := w.git(repo, "branch", "--list", "coleo/*"); out != "" {
			t.Errorf("%s has the branch %s, and nothing was committed on it", repo, out)
		}
	}
}

func TestM28TheDiffOfAnArmHasAllItsRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, _, arm := w.withLibrary()
	w.inTree(filepath.Join(arm.Workdir, "library"), "code", "changed\n")
	w.check(os.WriteFile(filepath.Join(arm.Workdir, "project", "new"), []byte("new\n"), 0o600))
	out := w.must("arm", "diff", "one", "--stat")
	for _, want := range []string{"library/code  +1 -1  (committed)", "project/new  +1 -0  (untracked)", "2 files"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table says nothing of %q:\n%s", want, out)
		}
	}
	if out := w.must("arm", "diff", "one", "library"); strings.Contains(out, "project/") ||
		!strings.Contains(out, "--- a/library/code\n+++ b/library/code\n") {
		t.Errorf("the diff of one repository is\n%s", out)
	}
	if e := w.fails(2, "arm", "checkpoint", "list", "one"); !strings.Contains(e.Message, "several repositories") {
		t.Errorf("the checkpoints: %+v", e)
	}
	if out := w.git(dir, "for-each-ref", "refs/coleo/base"); !strings.Contains(out, arm.ID) {
		t.Errorf("the refs are %q", out)
	}
}

func TestM28RemovingAnArmKeepsTheWorkInEachOfItsRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	_, library, arm := w.withLibrary()
	w.must("arm", "kill", "one")
	w.forgetFake(arm.Workdir)
	code := filepath.Join(arm.Workdir, "library", "code")
	w.check(os.WriteFile(code, []byte("changed\n"), 0o600))
	e := w.fails(5, "arm", "remove", "one")
	if !strings.Contains(e.Message, "library has 1 uncommitted file (code): nothing was removed") {
		t.Errorf("the refusal says %s", e.Message)
	}
	file := filepath.Join(arm.Workdir, "project", "file")
	w.check(os.WriteFile(file, []byte("mine\n"), 0o600))
	gone := decode[wire.Removed](w, "arm", "remove", "one", "--force")
	if gone.Kept == "" || len(gone.KeptToo) != 1 {
		t.Fatalf("the removal says %+v", gone)
	}
	out := w.must("workspace", "restore", "one")
	ref := gone.KeptToo[0]
	if !strings.Contains(out, "Restored "+arm.Workdir+"/project") ||
		!strings.Contains(out, "from "+library+"/.git: coleo workspace restore "+ref) {
		t.Errorf("the restoring says %s", out)
	}
	w.must("workspace", "restore", ref)
	for path, want := range map[string]string{file: "mine\n", code: "changed\n"} {
		if data, err := os.ReadFile(path); string(data) != want {
			t.Errorf("%s has %q, %v", path, data, err)
		}
	}
	if e := w.fails(5, "workspace", "remove", "one"); !strings.Contains(e.Message, "library has") {
		t.Errorf("both are removed together: %+v", e)
	}
	w.must("workspace", "remove", "one", "--force")
	place := w.path("another place")
	out = w.must("workspace", "restore", "one", "--path", place)
	_, command, _ := strings.Cut(out, "coleo ")
	if !strings.Contains(out, "Restored "+place+"/project") ||
		!strings.HasPrefix(command, "workspace restore --path '"+place+"' refs/coleo/kept/one/") {
		t.Errorf("the restoring to another place says %s", out)
	}
	_, ref, _ = strings.Cut(strings.TrimSpace(command), "' ")
	w.must("workspace", "restore", "--path", place, ref)
	if data, err := os.ReadFile(filepath.Join(place, "library", "code")); string(data) != "changed\n" {
		t.Errorf("in another place, the file in library has %q, %v", data, err)
	}
	w.must("workspace", "remove", "one", "--force")
	if out := w.must("workspace", "list"); !strings.Contains(out, "No worktrees") {
		t.Errorf("there is left\n%s", out)
	}
}

func TestM28WrongFurtherRepositoriesStartNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.project()
	w.check(os.Mkdir(w.path("plain"), 0o700))
	w.must("arm", "spawn", "-n", "other", "--harness", "fake", "-w", dir+"/sub") // starts serve
	for _, c := range []struct {
		code int
		want string
		more []string
	}{
		{2, "add --worktree", []string{"--with", w.path("plain")}},
		{2, "leave out --with", []string{"--worktree", "--with", w.path("plain")}},
		{2, "absent does not exist", []string{"--worktree", "--with", w.path("absent")}},
		{2, "the same repository", []string{"--worktree", "--with", dir + "/sub"}},
	} {
		args := append([]string{"arm", "spawn", "-n", "one", "--harness", "fake", "-w", dir}, c.more...)
		if e := w.fails(c.code, args...); !strings.Contains(e.Message, c.want) || strings.Contains(e.Message, "\n") {
			t.Errorf("%q: %+v, want one line with %q", c.more, e, c.want)
		}
		if entries, err := os.ReadDir(filepath.Join(dir, ".git/worktrees")); err == nil && len(entries) > 0 {
			t.Errorf("%q has left %v", c.more, entries)
		}
		if out := w.git(dir, "branch", "--list", "coleo/*"); out != "" {
			t.Errorf("%q has left the branch %s", c.more, out)
		}
	}
}
