package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
)

// fanAgents contains the agent CLIs of the live test of fan-out, with their programs.
var fanAgents = []struct{ harness, command string }{
	{"claude-code", "claude"}, {"codex", "codex"}, {"opencode", "opencode"}, {"gemini", "gemini"}, {"aider", "aider"},
}

// TestM28RealAgentCLIsDoOneTaskAtOnce: five agent CLIs do one task in five worktrees of one
// repository. Their diffs must be exact, and the main checkout must not change.
func TestM28RealAgentCLIsDoOneTaskAtOnce(t *testing.T) {
	t.Parallel()
	var harnesses []string
	for _, a := range fanAgents {
		needAgent(t, a.harness, a.command)
		harnesses = append(harnesses, a.harness)
	}
	w := newWorld(t, "")
	dir := w.workdirOf("main")
	for name, text := range map[string]string{"kept": "kept\n", "dirty": "clean\n", "stashed": "clean\n"} {
		w.write("work-main/"+name, text)
	}
	w.commit(dir, "base")
	w.write("work-main/stashed", "stashed\n")
	w.git(dir, "-c", "user.name=a", "-c", "user.email=a@b", "stash")
	w.write("work-main/dirty", "staged\n")
	w.git(dir, "add", "dirty")
	w.write("work-main/dirty", "dirty\n")
	before := w.checkout(dir)

	nonce := conformance.Nonce()
	out := w.fanned(0, "--harness", strings.Join(harnesses, ","), "-w", dir, "--model", "scripted",
		"write "+nonce+".txt with "+nonce+", then say done")
	table := w.approveAll(out.ID)
	if len(table) != len(fanAgents) {
		t.Fatalf("the table is %+v", table)
	}
	for _, a := range table {
		if a.Outcome != "finished" || a.Changes == nil || a.Changes.Files == 0 || a.Changes.LinesAdded == 0 {
			t.Errorf("%+v, %+v\n%s", a, a.Changes, w.must("arm", "screen", a.Arm))
		}
		if data, err := os.ReadFile(filepath.Join(a.Worktree, nonce+".txt")); strings.TrimSpace(string(data)) != nonce {
			t.Errorf("%s has written %q, %v", a.Arm, data, err)
		}
		w.checkPatch(dir, out.Base, a)
	}
	if now := w.checkout(dir); now != before {
		t.Errorf("the main checkout was\n%s\nand is\n%s", before, now)
	}
	w.must("fan-out", "keep", out.ID, "fan-"+out.ID+"-codex", "--force")
	if left := w.compared(out.ID); len(left) != 1 {
		t.Errorf("these are left: %+v", left)
	}
	if now := w.checkout(dir); now != before {
		t.Errorf("after fan-out keep, the main checkout was\n%s\nand is\n%s", before, now)
	}
}

// approveAll approves every question of a fan-out's arms until all have done their task.
func (w *world) approveAll(id string) map[string]fanArm {
	w.t.Helper()
	const mostDialogs = 20 // for all arms together
	for range mostDialogs {
		table, asks := w.compared(id, "--wait", "--timeout", patience.String()), false
		for _, a := range table {
			if a.Need == coleo.NeedsYou {
				asks = true
				w.must("arm", "approve", a.Arm)
			}
		}
		if !asks {
			return table
		}
	}
	w.t.Fatalf("after %d dialogs, arms of the fan-out still ask: %+v", mostDialogs, w.compared(id))
	return nil
}

// checkout returns what must not change in a checkout: HEAD, the bytes of the index, the stashes
// and the files. It runs no git command that could write the index.
func (w *world) checkout(dir string) string {
	w.t.Helper()
	var b strings.Builder
	for _, name := range []string{".git/index", ".git/HEAD", ".git/refs/stash", ".git/logs/refs/stash", "kept", "dirty",
		"stashed"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		w.check(err)
		fmt.Fprintf(&b, "%s %x\n", name, sha256.Sum256(data))
	}
	entries, err := os.ReadDir(dir)
	w.check(err)
	for _, entry := range entries {
		b.WriteString(entry.Name() + " ")
	}
	return b.String() + w.git(dir, "rev-parse", "HEAD")
}

// checkPatch applies an arm's diff to the base commit. The result must equal the files of the arm's
// worktree.
func (w *world) checkPatch(dir, base string, a fanArm) {
	w.t.Helper()
	clone := w.path("clone-" + a.Arm)
	w.git(dir, "clone", "-q", "--no-checkout", dir, clone)
	w.git(clone, "checkout", "-q", base)
	w.check(os.WriteFile(clone+".patch", []byte(w.must("arm", "diff", a.Arm, "--binary")), 0o600))
	w.git(clone, "apply", clone+".patch")
	if got, want := w.files(clone), w.files(a.Worktree); !slices.Equal(got, want) {
		w.t.Errorf("the diff of %s makes these files:\n%q\nand its worktree has\n%q", a.Arm, got, want)
	}
}

// files returns the files of a work folder that git does not ignore, each with its mode and
// bytes.
func (w *world) files(dir string) []string {
	w.t.Helper()
	var out []string
	for name := range strings.SplitSeq(w.git(dir, "ls-files", "-co", "--exclude-standard", "-z"), "\x00") {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if name == "" || os.IsNotExist(err) {
			continue
		}
		w.check(err)
		data, err := os.ReadFile(path)
		w.check(err)
		out = append(out, fmt.Sprintf("%s %v %q", name, info.Mode()&0o100, data))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
