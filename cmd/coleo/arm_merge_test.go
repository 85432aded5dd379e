package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
)

// mergeable starts an arm in a worktree whose base is the branch "topic". No folder has this branch
// checked out.
func (w *world) mergeable() (dir string, arm coleo.Arm) {
	w.t.Helper()
	dir = w.project()
	w.git(dir, "config", "--global", "user.name", "Person")
	w.git(dir, "config", "--global", "user.email", "person@example.org")
	w.git(dir, "checkout", "-qb", "topic")
	arm = w.spawnInWorktree("one")
	w.git(dir, "checkout", "-q", "main")
	w.forgetFake(arm.Workdir)
	return dir, arm
}

// inTree commits a file in the arm's worktree.
func (w *world) inTree(dir, name, text string) {
	w.t.Helper()
	w.check(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	w.git(dir, "add", name)
	w.git(dir, "commit", "-qm", "change "+name)
}

func TestM28TheWorkOfAnArmIsMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, arm := w.mergeable()
	w.inTree(arm.Workdir, "new", "new\n")
	w.check(os.WriteFile(filepath.Join(arm.Workdir, "rest"), []byte("rest\n"), 0o600))
	before := w.git(dir, "rev-parse", "topic")

	w.check(os.Rename(filepath.Join(arm.Workdir, "rest"), w.path("rest")))
	w.git(dir, "update-ref", "refs/heads/topic", "coleo/one")
	if out := w.must("arm", "merge", "one", "--into", "absent"); !strings.Contains(out, "the branch absent was not made") {
		t.Errorf("a merge of nothing into a new branch says %s", out)
	}
	w.git(dir, "update-ref", "refs/heads/topic", before)
	w.check(os.Rename(w.path("rest"), filepath.Join(arm.Workdir, "rest")))
	if r := w.run("arm", "merge", "one"); r.code != 5 || !strings.Contains(r.err, "1 untracked file (sub/rest)") {
		t.Errorf("uncommitted work: exit code %d, %s", r.code, r.err)
	}
	out := w.must("arm", "merge", "one", "--commit", "the rest", "--dry-run")
	for _, want := range []string{"Nothing was changed", "the rest", "change new", "added     sub/new",
		"added     sub/rest"} {
		if !strings.Contains(out, want) {
			t.Errorf("the dry run says nothing of %q:\n%s", want, out)
		}
	}
	if now := w.git(dir, "rev-parse", "topic"); now != before {
		t.Errorf("the dry run has moved the branch to %s", now)
	}
	m := decode[changes.Merged](w, "arm", "merge", "one", "--commit", "the rest")
	if m.Before != before || m.After != w.git(dir, "rev-parse", "topic") || m.Into != "topic" || m.Branch != "coleo/one" ||
		m.Committed == "" || len(m.Commits) != 2 {
		t.Errorf("the merge is %+v", m)
	}
	if got := w.git(dir, "show", "topic:sub/new") + w.git(dir, "show", "topic:sub/rest"); got != "newrest" {
		t.Errorf("the branch has %q", got)
	}
	var steps []coleo.MergeStep
	for _, e := range w.events("one", coleo.EventMerge) {
		var c coleo.MergeChange
		w.check(json.Unmarshal(e.Payload, &c))
		steps = append(steps, c.Step)
		if c.Before != m.Before || c.After != m.After || c.Branch != m.Branch || c.Into != m.Into || c.By == "" ||
			c.Committed != m.Committed {
			t.Errorf("the event says %+v", c)
		}
	}
	if len(steps) != 2 || steps[0] != coleo.MergeBegan || steps[1] != coleo.MergeDone {
		t.Errorf("the events are %v", steps)
	}
	if out := w.must("arm", "merge", "one"); !strings.Contains(out, "Nothing was merged") {
		t.Errorf("the second merge says %s", out)
	}
	w.inTree(arm.Workdir, "more", "more\n")
	if r := w.run("arm", "merge", "one", "--into", "main"); r.code != 5 ||
		!strings.Contains(r.err, "is checked out in "+dir) {
		t.Errorf("into main: exit code %d, %s", r.code, r.err)
	}
	if out := w.must("arm", "merge", "one", "--into", "next", "--squash", "--message", "all"); !strings.Contains(out,
		"next: new branch -> ") {
		t.Errorf("the squash says %s", out)
	}
	if got := w.git(dir, "log", "-1", "--format=%an %s", "next"); got != "Person all" {
		t.Errorf("the squashed commit is %s", got)
	}
}

func TestConflictsOfAMergeAreHandedToTheArmOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, arm := w.mergeable()
	w.inTree(arm.Workdir, "same", "the arm's\n")
	w.git(dir, "checkout", "-q", "topic")
	w.inTree(filepath.Join(dir, "sub"), "same", "the person's\n")
	w.git(dir, "checkout", "-q", "main")
	refs := w.git(dir, "for-each-ref", "refs/heads")

	r := w.run("arm", "merge", "one")
	if r.code != 5 || !strings.Contains(r.out, "sub/same: add/add") ||
		!strings.Contains(r.out, "coleo arm merge one --ask-arm") {
		t.Errorf("exit code %d: %s", r.code, r.out)
	}
	again := "coleo arm merge one --squash --into next --commit 'the rest' --ask-arm\n"
	if r := w.run("arm", "merge", "one", "--into", "next", "--squash", "--commit", "the rest"); r.code != 5 ||
		!strings.Contains(r.out, again) {
		t.Errorf("exit code %d: %s, want %s", r.code, r.out, again)
	}
	w.git(dir, "checkout", "-q", "topic")
	if r := w.run("arm", "merge", "one", "--dry-run"); !strings.Contains(r.out, "--update-checkout --ask-arm\n") {
		t.Errorf("the branch is checked out, and the dry run says %s", r.out)
	}
	w.git(dir, "checkout", "-q", "main")
	r = w.run("arm", "merge", "one", "--ask-arm")
	if r.code != 5 || !strings.Contains(r.out, "The arm is asked to resolve them") {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
	prompts := w.events("one", coleo.EventRunStart)
	if len(prompts) != 1 {
		t.Fatalf("the arm got %d prompts, want 1", len(prompts))
	}
	var prompt coleo.Receipt
	w.check(json.Unmarshal(prompts[0].Payload, &prompt))
	if text := prompt.Text; !strings.Contains(text, "- sub/same (add/add)") ||
		!strings.Contains(text, "merge the branch topic") {
		t.Errorf("the prompt is %q", text)
	}
	if now := w.git(dir, "for-each-ref", "refs/heads"); now != refs {
		t.Errorf("the branches are\n%s\nwant\n%s", now, refs)
	}
	if n := len(w.events("one", coleo.EventMerge)); n != 0 {
		t.Errorf("%d events tell of a merge", n)
	}
}

// TestUncommittedWorkIsCommittedOnlyWhileTheArmRests: a merge must not commit the uncommitted work
// of an arm that is working. The arm's own commits must be merged in any case.
func TestUncommittedWorkIsCommittedOnlyWhileTheArmRests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, arm := w.mergeable()
	w.inTree(arm.Workdir, "new", "new\n")
	w.must("arm", "prompt", "one", "hold 60s")
	w.wait("one", coleo.Processing, coleo.Executing)
	if _, err := os.Stat(filepath.Join(arm.Workdir, fakeRecord)); err == nil {
		w.check(os.Remove(filepath.Join(arm.Workdir, fakeRecord)))
	}
	before := w.git(dir, "rev-parse", "topic")
	e := w.fails(11, "arm", "merge", "one", "--commit", "x")
	if e.Code != coleo.EBusy || !strings.Contains(e.Message, "nothing was merged, because arm one") {
		t.Errorf("a commit while the arm works: %+v", e)
	}
	if now := w.git(dir, "rev-parse", "topic"); now != before {
		t.Errorf("the branch has moved to %s", now)
	}
	if m := decode[changes.Merged](w, "arm", "merge", "one"); m.After == "" {
		t.Errorf("the merge of commits is %+v", m)
	}
}

func TestAnArmWithoutAWorktreeHasNothingToMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.project()
	w.must("arm", "spawn", "-n", "one", "--harness", "fake", "-w", w.path("project/sub"))
	if r := w.run("arm", "merge", "one"); r.code != 2 || !strings.Contains(r.err, "no worktree of its own") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

// TestM28OneOfFiveArmsIsMergedAndTheOthersAreRemoved: one of five arms in worktrees is merged, and
// the other four are removed. The files, the index and the stash of the main work folder must stay
// unchanged.
func TestM28OneOfFiveArmsIsMergedAndTheOthersAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir, one := w.mergeable()
	w.git(dir, "checkout", "-q", "topic")
	arms := []coleo.Arm{one}
	for _, name := range []string{"two", "three", "four", "five"} {
		arm := w.spawnInWorktree(name)
		w.forgetFake(arm.Workdir)
		arms = append(arms, arm)
	}
	w.git(dir, "checkout", "-q", "main")
	w.check(os.WriteFile(filepath.Join(dir, "file"), []byte("stashed\n"), 0o600))
	w.git(dir, "stash", "-q")
	w.check(os.WriteFile(filepath.Join(dir, "staged"), []byte("staged\n"), 0o600))
	w.git(dir, "add", "staged")
	w.check(os.WriteFile(filepath.Join(dir, "file"), []byte("changed\n"), 0o600))
	main := func() string {
		var all strings.Builder
		for _, name := range []string{".git/index", ".git/refs/stash", ".git/logs/refs/stash", ".git/HEAD", "file",
			"staged"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			w.check(err)
			all.Write(data)
		}
		return all.String()
	}
	before := main()
	for _, arm := range arms {
		w.inTree(arm.Workdir, "answer", arm.Name+"\n")
	}
	w.must("arm", "merge", "three")
	for _, arm := range arms {
		w.must("arm", "kill", arm.Name)
		w.must("arm", "remove", arm.Name, "--force")
	}
	if got := w.git(dir, "show", "topic:sub/answer"); got != "three" {
		t.Errorf("the answer is %q", got)
	}
	if main() != before {
		t.Error("the main work folder was changed")
	}
	if out := w.must("workspace", "list"); !strings.Contains(out, "No worktrees") {
		t.Errorf("worktrees are left:\n%s", out)
	}
	if kept := w.must("workspace", "kept"); strings.Contains(kept, "three") ||
		strings.Count(kept, "refs/coleo/kept/") != 4 {
		t.Errorf("what is kept:\n%s", kept)
	}
}
