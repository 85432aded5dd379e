package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
	"coleo.dev/workspace"
)

// project makes a repository with a commit. Its folder sub contains a script for the fake agent
// CLI.
func (w *world) project() string {
	w.t.Helper()
	dir := w.path("project")
	w.check(os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
	for path, text := range map[string]string{"file": "one\n", "sub/" + fakeScript: "{}", ".gitignore": ".env\n",
		".env": "SECRET=1\n"} {
		w.check(os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600))
	}
	w.git(dir, "init", "-q", "-b", "main")
	w.git(dir, "add", "-f", "file", "sub", ".gitignore")
	w.git(dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
	return dir
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(w.env, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) spawnInWorktree(name string, more ...string) coleo.Arm {
	w.t.Helper()
	args := []string{"arm", "spawn", "-n", name, "--harness", "fake", "-w", w.path("project/sub"), "--worktree"}
	return decode[wire.SpawnReply](w, append(args, more...)...).Arm
}

// forgetFake deletes the files that the fake agent CLI has written into its work folder.
func (w *world) forgetFake(dir string) {
	w.t.Helper()
	for _, name := range []string{fakeRecord, fakeEnviron} {
		w.check(os.Remove(filepath.Join(dir, name)))
	}
}

func TestM28AnArmWorksInItsOwnWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[workspace]\npath = \"../{{repo}}-{{arm}}\"\ncopy = [\".env\"]\n")
	dir := w.project()
	arm := w.spawnInWorktree("one")
	tree, err := filepath.EvalSymlinks(w.path("project-one"))
	w.check(err)
	if arm.Workdir != filepath.Join(tree, "sub") {
		t.Errorf("the arm works in %s, want %s", arm.Workdir, filepath.Join(tree, "sub"))
	}
	if _, err := os.Stat(filepath.Join(tree, "sub", fakeRecord)); err != nil {
		t.Errorf("the agent CLI was not started there: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(tree, ".env")); string(data) != "SECRET=1\n" {
		t.Errorf(".env was not copied: %q, %v", data, err)
	}
	for _, c := range []struct{ args, want string }{
		{"arm status one", "branch coleo/one, made for " + dir + "/sub"},
		{"arm list", "coleo/one"},
		{"workspace list", "coleo/one"},
	} {
		if out := w.must(strings.Fields(c.args)...); !strings.Contains(out, c.want) {
			t.Errorf("coleo %s says nothing of %q:\n%s", c.args, c.want, out)
		}
	}
	if n := len(w.events("one", coleo.EventWorkspaceReady)); n != 1 {
		t.Errorf("the log has %d events that the worktree is ready", n)
	}
	two := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "two", "--harness", "fake", "-w", dir+"/sub", "--worktree",
		"topic")
	if two.Warning != "" || w.git(two.Arm.Workdir, "rev-parse", "--abbrev-ref", "HEAD") != "topic" {
		t.Errorf("the second arm: %q, in %s", two.Warning, two.Arm.Workdir)
	}

	w.must("arm", "kill", "one")
	again := decode[wire.SpawnReply](w, "arm", "spawn", "-n", "one").Arm
	if again.Workdir != arm.Workdir {
		t.Errorf("started again, the arm works in %s", again.Workdir)
	}
	w.must("arm", "rename", "one", "uno")
	w.must("arm", "kill", "uno")
	w.must("arm", "recover", "uno")
	if now := w.arm("uno"); now.Workdir != arm.Workdir {
		t.Errorf("recovered, the arm works in %s", now.Workdir)
	}
	w.must("arm", "kill", "uno")
	w.forgetFake(arm.Workdir)
	w.must("arm", "remove", "uno")
	if _, err := os.Stat(tree); err == nil {
		t.Errorf("%s is still there", tree)
	}
	if out := w.git(dir, "branch", "--list", "coleo/*"); out != "" {
		t.Errorf("the branch %s is left, and nothing was committed on it", out)
	}
	if out := w.git(dir, "status", "--porcelain"); out != "" {
		t.Errorf("the main work folder has %s", out)
	}
}

func TestM28RemovingAnArmLosesNoWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.project()
	arm := w.spawnInWorktree("one")
	tree := filepath.Dir(arm.Workdir)
	if e := w.fails(5, "workspace", "remove", "one"); !strings.Contains(e.Message, "coleo arm remove one") {
		t.Errorf("the worktree of an arm: %+v", e)
	}
	w.must("arm", "kill", "one")
	w.forgetFake(arm.Workdir)
	for path, text := range map[string]string{"file": "changed\n", "new": "untracked\n", ".env": "ignored\n"} {
		w.check(os.WriteFile(filepath.Join(tree, path), []byte(text), 0o600))
	}
	e := w.fails(5, "arm", "remove", "one")
	for _, want := range []string{"1 uncommitted file (file)", "1 untracked file (new)", ".env", "nothing was removed",
		"--force"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("the refusal says nothing of %q: %s", want, e.Message)
		}
	}
	if out := w.must("workspace", "prune"); !strings.Contains(out, "Nothing to prune") {
		t.Errorf("prune: %s", out)
	}
	if n := len(w.events("one", coleo.EventWorkspaceError)); n != 1 {
		t.Errorf("the log has %d events of the refusal", n)
	}
	w.arm("one") // the arm must still exist
	if out := w.must("arm", "remove", "one", "--force"); !strings.Contains(out, "coleo workspace restore one") {
		t.Errorf("remove --force: %s", out)
	}
	if _, err := os.Stat(tree); err == nil {
		t.Errorf("%s is still there", tree)
	}
	var kept struct{ Kept []workspace.Kept }
	w.check(json.Unmarshal([]byte(w.must("--json", "workspace", "kept")), &kept))
	if len(kept.Kept) != 1 || !strings.HasPrefix(kept.Kept[0].Ref, "refs/coleo/kept/one/") {
		t.Errorf("what is kept: %+v", kept)
	}
	w.must("workspace", "restore", "one")
	for path, text := range map[string]string{"file": "changed\n", "new": "untracked\n", ".env": "ignored\n"} {
		if data, err := os.ReadFile(filepath.Join(tree, path)); string(data) != text {
			t.Errorf("restored, %s has %q, %v", path, data, err)
		}
	}
	if out := w.must("workspace", "list"); !strings.Contains(out, "one (removed)") {
		t.Errorf("the restored worktree is not in the list:\n%s", out)
	}
	w.must("arm", "spawn", "-n", "guest", "--harness", "fake", "-w", tree+"/sub")
	w.must("arm", "kill", "guest")
	if e := w.fails(5, "workspace", "remove", "one", "--force"); !strings.Contains(e.Message, "the arm guest works in") {
		t.Errorf("the worktree of a guest: %+v", e)
	}
	w.must("arm", "remove", "guest")
	w.must("workspace", "remove", "one", "--force")
}

func TestM28AWorktreeThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.project()
	w.must("up")
	plain := w.path("plain")
	w.check(os.MkdirAll(plain, 0o700))
	if e := w.fails(2, "arm", "spawn", "-n", "a", "--harness", "fake", "-w", plain,
		"--worktree"); !strings.Contains(e.Message, "not in a git repository") {
		t.Errorf("a folder in no repository: %+v", e)
	}
	if e := w.fails(2, "arm", "spawn", "-n", "a", "--harness", "fake", "-w", plain, "--base",
		"x"); !strings.Contains(e.Message, "add --worktree") {
		t.Errorf("--base alone: %+v", e)
	}
	if e := w.fails(5, "arm", "spawn", "-n", "a", "--harness", "fake", "-w", w.path("project/sub"),
		"--worktree=main"); !strings.Contains(
		e.Message, "is checked out in") {
		t.Errorf("a branch that is checked out: %+v", e)
	}
	w.fails(4, "arm", "status", "a")
	if out := w.must("workspace", "list"); !strings.Contains(out, "No worktrees") {
		t.Errorf("there are worktrees:\n%s", out)
	}
}

// TestM28AnArmWorksOnAPullRequest fetches a pull request from a local bare repository.
func TestM28AnArmWorksOnAPullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, bare := w.project(), w.path("bare.git")
	w.git(dir, "init", "-q", "--bare", bare)
	w.git(dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "contributed")
	head := w.git(dir, "rev-parse", "HEAD")
	w.git(dir, "push", "-q", bare, "HEAD:refs/pull/12/head")
	w.git(dir, "reset", "-q", "--hard", "HEAD^")
	const url = "git@github.com:owner/project.git"
	w.git(dir, "remote", "add", "origin", url)
	w.git(dir, "config", "--global", "url."+bare+".insteadOf", url)
	spawn := []string{"arm", "spawn", "-n", "one", "--harness", "fake", "-w", dir + "/sub", "--worktree"}
	w.must("up")
	if e := w.fails(4, append(spawn, "pr/7")...); !strings.Contains(e.Message, "has no pull request 7") {
		t.Errorf("the error is %+v", e)
	}
	reply := decode[wire.SpawnReply](w, append(spawn, "pr/12")...)
	if got := w.git(reply.Arm.Workdir, "rev-parse", "HEAD", "pr/12"); got != head+"\n"+head {
		t.Errorf("the arm works on %q, want %s", got, head)
	}
	if !strings.Contains(reply.Warning, "begins at pull request 12 of origin") {
		t.Errorf("the warning is %q", reply.Warning)
	}
	w.must("arm", "kill", "one")
	if again := decode[wire.SpawnReply](w, spawn[:4]...); again.Warning != "" {
		t.Errorf("started again, the warning is %q", again.Warning)
	}
}
