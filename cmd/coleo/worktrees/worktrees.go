// Package worktrees finds the worktrees of arms on this machine, with the user's settings for them.
package worktrees

import (
	"os"
	"time"

	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/workspace"
	"coleo.dev/workspace/script"
)

// GuardVerb is the hidden verb of coleo workspace that guards a project's script while it runs.
const GuardVerb = "guard-script"

// Of returns the worktrees of arms on this machine.
func Of(s setup.Setup) workspace.Workspaces {
	scripts := script.Runner{Trusts: script.Trusts{File: s.ScriptTrust()}, Environ: os.Environ(),
		Timeout: time.Duration(s.Workspace.ScriptTimeout) * time.Second}
	if program, err := executable.Path(); err == nil { // without the path of this program, no script can run
		scripts.Guard = []string{program, "workspace", GuardVerb}
	}
	return workspace.Workspaces{Dir: s.Workspaces(), Environ: os.Environ(), Path: s.Workspace.Path,
		Copy: s.Workspace.Copy, Link: s.Workspace.Link, Now: time.Now, Scripts: scripts,
		EmptySubmodules: s.Workspace.Submodules != nil && !*s.Workspace.Submodules}
}
