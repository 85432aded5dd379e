package main

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/conformance"
	"coleo.dev/conformance/modelserver"
)

// TestM28RealAgentCLIsChangeSeveralRepositories: the model makes the agent CLI commit in two repositories at
// once.
func TestM28RealAgentCLIsChangeSeveralRepositories(t *testing.T) {
	t.Parallel()
	for _, c := range toolCallers[:3] {
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			l := newLiveOf(t, c.harness)
			l.write("work-real/kept", "kept")
			library := l.library()
			l.commit(l.workdir, "base")
			l.must("arm", "kill", l.name)
			nonce := conformance.Nonce()
			commit := "echo " + nonce + " > made.txt && git add made.txt && " +
				"git -c user.name=arm -c user.email=arm@example.org commit -qm " + nonce
			l.check(l.model.SetScript(modelserver.Script{Rules: []modelserver.Rule{
				{Name: "commit", When: modelserver.When{Contains: nonce}, Times: 1, Reply: []modelserver.Step{
					{Tool: &modelserver.Call{Does: modelserver.Run, Args: map[string]any{"command": "for d in */; do (cd $d && " +
						commit + "); done"}}}}},
				{Name: "done", Reply: []modelserver.Step{{Text: "done"}}},
			}}))
			l.must("arm", "spawn", "-n", "both", "-w", l.workdir, "--harness", c.harness, "--profile", "hermetic", "--home",
				l.path("both-home"), "--endpoint", l.network.url(), "--model", "mock-1", "--trust-workdir", "--worktree",
				"--with", library)
			l.must("arm", "prompt", "both", "commit "+nonce)
			until(t, "the turn has ended", func() bool {
				if l.arm("both").State == coleo.WaitingApproval {
					l.run("arm", "approve", "both")
				}
				return len(l.events("both", coleo.EventRunEnd)) > 0
			})
			d := decode[changes.Diff](l.world, "arm", "diff", "both")
			if len(d.Files) != 2 || d.Files[0].Name() != filepath.Base(l.workdir)+"/made.txt" ||
				d.Files[1].Name() != "library/made.txt" {
				t.Errorf("the diff is %+v\nthe screen is\n%s", d, l.must("arm", "screen", "both"))
			}
			for _, repo := range []string{l.workdir, library} {
				l.git(repo, "checkout", "-q", "--detach")
				m := decode[changes.Merged](l.world, "arm", "merge", "both", "--repo", filepath.Base(repo))
				if len(m.Commits) != 1 || l.git(repo, "show", m.Into+":made.txt") != nonce {
					t.Errorf("the merge is %+v", m)
				}
			}
			l.must("arm", "kill", "both")
			l.must("arm", "remove", "both", "--force")
			if entries, err := os.ReadDir(filepath.Join(library, ".git/worktrees")); err == nil && len(entries) > 0 {
				t.Errorf("there is left %v", entries)
			}
		})
	}
}
