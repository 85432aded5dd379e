package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/conformance"
	"coleo.dev/conformance/modelserver"
)

// inside runs a command in the sandbox of the fake agent CLI.
func (f *fake) inside(dir string, argv ...string) (string, error) {
	f.t.Helper()
	enter := []string{"-t", strconv.Itoa(f.agentPID()), "-U", "-m", "--preserve-credentials", "sh", "-c",
		`cd "$0" && exec "$@"`, dir}
	cmd := exec.Command("nsenter", append(enter, argv...)...)
	cmd.Env = append(f.env, "GIT_AUTHOR_NAME=Arm", "GIT_AUTHOR_EMAIL=arm@example.org", "GIT_COMMITTER_NAME=Arm",
		"GIT_COMMITTER_EMAIL=arm@example.org")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestM28AnArmInASandboxCommitsInItsOwnClone(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t, "")
	dir := w.project()
	w.git(dir, "config", "--global", "user.name", "Person")
	w.git(dir, "config", "--global", "user.email", "person@example.org")
	w.git(dir, "checkout", "-qb", "topic")
	arm := w.spawnInWorktree("one", "--sandbox", "bwrap")
	w.git(dir, "checkout", "-q", "main")
	f := &fake{world: w, name: "one", workdir: arm.Workdir}
	clone := filepath.Dir(arm.Workdir)
	for _, argv := range [][]string{
		{"rm", fakeRecord, fakeEnviron},
		{"sh", "-c", "echo mine > mine; git add mine; git commit -qm mine"},
		{"sh", "-c", "echo rest > ../rest"},
		{"sh", "-c", "echo 'touch " + w.path("planted") + "' > ../.git/hooks/post-checkout; " +
			"chmod +x ../.git/hooks/post-checkout"},
		{"git", "config", "core.fsmonitor", "touch " + w.path("planted") + " #"},
	} {
		if argv[0] == "sh" && strings.Contains(argv[2], "hooks/") {
			w.check(os.MkdirAll(filepath.Join(clone, ".git/hooks"), 0o700))
		}
		if out, err := f.inside(arm.Workdir, argv...); err != nil {
			t.Fatalf("%q inside: %v\n%s", argv, err, out)
		}
	}
	for _, path := range []string{filepath.Join(dir, ".git"), dir} {
		if out, err := f.inside("/", "ls", path); err == nil {
			t.Errorf("inside there is %s:\n%s", path, out)
		}
	}
	if out := w.must("arm", "status", "one"); !strings.Contains(out, "a clone, branch coleo/one") {
		t.Errorf("the status is\n%s", out)
	}
	if out := w.must("workspace", "list"); !strings.Contains(out, "coleo/one (clone)") ||
		!strings.Contains(out, "1 untracked file (rest)") || !strings.Contains(out, "1 commit that no other branch has") {
		t.Errorf("the worktrees are\n%s", out)
	}
	if out := w.must("arm", "diff", "one", "--stat"); !strings.Contains(out, "mine") || !strings.Contains(out, "rest") {
		t.Errorf("the diff is\n%s", out)
	}
	m := decode[changes.Merged](w, "arm", "merge", "one", "--commit", "the rest")
	if got := w.git(dir, "show", "topic:sub/mine", "topic:rest"); got != "mine\nrest" || m.Committed == "" {
		t.Errorf("the branch has %q; the merge is %+v", got, m)
	}
	if tip := w.git(dir, "rev-parse", "coleo/one"); tip != m.Committed {
		t.Errorf("the arm's branch is at %s, want %s", tip, m.Committed)
	}
	w.must("arm", "kill", "one")
	w.must("arm", "spawn", "-n", "one", "--harness", "fake")
	if now := f.arm("one"); now.Workdir != arm.Workdir {
		t.Errorf("after a restart, the arm works in %s", now.Workdir)
	}
	w.must("arm", "prompt", "one", "--wait", "hello")
	w.must("arm", "kill", "one")
	w.forgetFake(arm.Workdir)
	w.must("arm", "remove", "one")
	if _, err := os.Stat(clone); err == nil {
		t.Error("the clone is still there")
	}
	if _, err := os.Stat(w.path("planted")); err == nil {
		t.Error("a program of the arm ran")
	}
}

func TestAnArmWithAWorktreeGetsNoSandboxLater(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t, "")
	w.project()
	w.spawnInWorktree("one")
	w.must("arm", "kill", "one")
	e := w.fails(5, "arm", "spawn", "-n", "one", "--harness", "fake", "--sandbox", "bwrap")
	if e.Code != coleo.EConflict || !strings.Contains(e.Message, "without --sandbox") {
		t.Errorf("the error is %+v", e)
	}
	w.must("arm", "spawn", "-n", "one", "--harness", "fake")
}

// TestM28RealAgentCLIsCommitInTheirClones: the model makes the agent CLI run git in its sandbox.
// The commit must be in the arm's clone.
func TestM28RealAgentCLIsCommitInTheirClones(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	for _, c := range toolCallers[:3] { // these harnesses declare what their agent CLIs need in a sandbox
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			l := newLiveOf(t, c.harness)
			l.git(l.workdir, "config", "--global", "user.name", "Person")
			l.git(l.workdir, "config", "--global", "user.email", "person@example.org")
			l.write("work-real/kept", "kept")
			l.commit(l.workdir, "base")
			l.must("arm", "kill", l.name)
			nonce := conformance.Nonce()
			l.check(l.model.SetScript(modelserver.Script{Rules: []modelserver.Rule{
				{Name: "commit", When: modelserver.When{Contains: nonce}, Times: 1, Reply: []modelserver.Step{
					{Tool: &modelserver.Call{Does: modelserver.Run, Args: map[string]any{
						"command": "echo " + nonce + " > made.txt && git add made.txt && " +
							"git -c user.name=arm -c user.email=arm@example.org commit -qm " + nonce}}}}},
				{Name: "done", Reply: []modelserver.Step{{Text: "done"}}},
			}}))
			l.must("arm", "spawn", "-n", "boxed", "-w", l.workdir, "--harness", c.harness, "--profile", "hermetic", "--home",
				l.path("boxed-home"), "--endpoint", l.network.url(), "--model", "mock-1", "--trust-workdir", "--worktree",
				"--sandbox", "bwrap")
			l.must("arm", "prompt", "boxed", "commit "+nonce)
			until(t, "the turn has ended", func() bool {
				if l.arm("boxed").State == coleo.WaitingApproval {
					l.run("arm", "approve", "boxed")
				}
				return len(l.events("boxed", coleo.EventRunEnd)) > 0
			})
			if out := l.must("arm", "diff", "boxed"); !strings.Contains(out, "+"+nonce) {
				t.Errorf("the diff is\n%s\nthe screen is\n%s", out, l.must("arm", "screen", "boxed"))
			}
			l.git(l.workdir, "checkout", "-q", "--detach")
			m := decode[changes.Merged](l.world, "arm", "merge", "boxed")
			if len(m.Commits) != 1 || m.Commits[0].Subject != nonce || l.git(l.workdir, "show", m.Into+":made.txt") != nonce {
				t.Errorf("the merge is %+v", m)
			}
		})
	}
}
