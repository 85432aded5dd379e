package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
)

// commitScript commits a script in the project.
func (w *world) commitScript(path, text string) {
	w.t.Helper()
	dir := w.path("project")
	w.check(os.MkdirAll(filepath.Join(dir, ".coleo"), 0o700))
	w.check(os.WriteFile(filepath.Join(dir, path), []byte(text), 0o700))
	w.git(dir, "add", "-f", path)
	w.git(dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "script")
}

// trustArgs returns the arguments of `workspace trust` that trust the present text of the project's
// set-up script. With arguments such as --check in `which`, they trust another script.
func (w *world) trustArgs(which ...string) []string {
	w.t.Helper()
	var shown struct{ Hash string }
	w.check(json.Unmarshal([]byte(w.must(append([]string{"--json", "workspace", "trust", w.path("project")},
		which...)...)), &shown))
	return []string{"workspace", "trust", w.path("project"), "--yes", shown.Hash}
}

func TestM28AProjectsSetUpRunsOnceItIsTrusted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.project()
	tries := w.path("bin/coleo") + " workspace trust --revoke >> .env 2>&1 || true"
	w.commitScript(".coleo/setup", "#!/bin/sh\necho made > .env\n"+tries+"\n")
	w.must("up")
	spawn := func(name string, more ...string) []string {
		return append([]string{"arm", "spawn", "-n", name, "--harness", "fake", "-w", dir + "/sub", "--worktree"}, more...)
	}
	refused := func(want string) {
		t.Helper()
		if e := w.fails(15, spawn("one")...); !strings.Contains(e.Message, want) ||
			!strings.Contains(e.Message, "coleo workspace trust") ||
			!strings.Contains(e.Message, "--no-setup") {
			t.Errorf("the refusal: %+v", e)
		}
		if out := w.must("workspace", "list"); !strings.Contains(out, "No worktrees") {
			t.Errorf("there are worktrees:\n%s", out)
		}
		w.fails(4, "arm", "status", "one")
	}
	refused("is not trusted")
	if out := w.must("workspace", "trust", dir); !strings.Contains(out, "echo made > .env") ||
		!strings.Contains(out, "--yes ") {
		t.Errorf("the script is not shown:\n%s", out)
	}
	w.must(w.trustArgs()...)
	arm := w.spawnInWorktree("one")
	tree := filepath.Dir(arm.Workdir)
	data, err := os.ReadFile(filepath.Join(tree, ".env"))
	if err != nil || !strings.HasPrefix(string(data), "made\n") {
		t.Errorf("the set-up has written %q, %v", data, err)
	}
	if !strings.Contains(string(data), "arms do not command Coleo") {
		t.Errorf("the set-up could end the trust: %s", data)
	}
	told := false
	for _, e := range w.events("one", coleo.EventWorkspaceChanged) {
		told = told || strings.Contains(string(e.Payload), "setting_up")
	}
	if !told {
		t.Error("no event tells that the set-up runs")
	}
	w.must("arm", "kill", "one")
	w.forgetFake(arm.Workdir)
	w.must("arm", "remove", "one")

	w.commitScript(".coleo/setup", "#!/bin/sh\nfor i in 1 2 3; do echo line $i; done\nexit 9\n")
	refused("has changed since it was trusted")
	if out := w.must("workspace", "trust", dir); !strings.Contains(out, "+exit 9") {
		t.Errorf("the difference is not shown:\n%s", out)
	}
	w.must(w.trustArgs()...)
	e := w.fails(1, spawn("one")...)
	for _, want := range []string{"exit status 9", "line 3", ".setup.txt", "the worktree was removed again"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("the error says nothing of %q: %s", want, e.Message)
		}
	}
	w.must(spawn("one", "--no-setup")...)
	w.must("workspace", "trust", dir, "--revoke")
	refused2 := w.fails(15, spawn("two")...)
	if !strings.Contains(refused2.Message, "is not trusted") {
		t.Errorf("after --revoke: %+v", refused2)
	}
}

// A merge must run the check script of the target branch, on the merged files.
func TestM28AMergeNeedsTheProjectsCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, arm := w.mergeable()
	w.git(dir, "checkout", "-q", "topic")
	w.commitScript(".coleo/check", "#!/bin/sh\ncat file && grep good sub/answer\n")
	w.git(dir, "checkout", "-q", "main")
	before := w.git(dir, "rev-parse", "topic")
	refused := func(want string) {
		t.Helper()
		if r := w.run("arm", "merge", "one"); r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("exit code %d, %s, want an error about %q", r.code, r.err, want)
		}
		if now := w.git(dir, "rev-parse", "topic"); now != before {
			t.Errorf("the branch was moved to %s", now)
		}
	}
	w.inTree(arm.Workdir, "answer", "bad\n")
	refused("coleo workspace trust")
	w.must(append(w.trustArgs("--check", "--base", "topic"), "--check", "--base", "topic")...)
	refused("nothing was merged into topic: .coleo/check failed: exit status 1")
	w.inTree(arm.Workdir, "answer", "good\n")
	w.must("arm", "merge", "one")
	if got := w.git(dir, "show", "topic:sub/answer"); got != "good" {
		t.Errorf("the branch has %q", got)
	}
}
