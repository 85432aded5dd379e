// Package setup contains the folders and settings of Coleo on this machine. It starts, finds and
// ends the background processes of this machine, and connects to them.
package setup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/config"
	"coleo.dev/harnesses/terminal/launch"
	"coleo.dev/harnesses/terminal/pack"
	"coleo.dev/holder/process"
	"coleo.dev/registry"
	"coleo.dev/workspace"
	"coleo.dev/workspace/script"
)

// Setup contains the folders and the settings of Coleo. All verbs need them.
type Setup struct {
	config.Paths
	config.Settings
	// GivenNotify is the notification command that the user has given to this process by a flag. It
	// takes precedence over the setting Notify. It is "" if there is none.
	GivenNotify string
}

// New finds the folders and reads the settings.
func New() (Setup, error) {
	paths, err := config.FindPaths(os.Getenv)
	if err != nil {
		return Setup{}, err
	}
	settings, err := config.ReadSettings(paths.File())
	return Setup{Paths: paths, Settings: settings}, err
}

// Prepare prepares this process to start or to become one of Coleo's background processes. Inside
// an arm, it returns an error, because an arm must not control its own host agent.
func (s Setup) Prepare() error {
	if err := process.OutsideArms(os.Getpid()); err != nil {
		return err
	}
	process.HideMemory()
	return s.Ensure()
}

// AgentPath returns the folders in which Coleo looks for agent CLIs before it looks in PATH, in this order:
// the folders in the settings, the folders in COLEO_AGENTS, and the folders into which Coleo itself has
// installed agent CLIs.
func (s Setup) AgentPath() []string {
	out := append([]string{}, s.Settings.Agents.Path...)
	for _, root := range []string{os.Getenv("COLEO_AGENTS"), s.Paths.Agents()} {
		if root == "" {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(root, "*", "bin"))
		out = append(append(out, filepath.Join(root, "node_modules", ".bin")), found...)
	}
	return out
}

// Worktrees returns the worktrees of arms on this machine.
func (s Setup) Worktrees() workspace.Workspaces {
	scripts := script.Runner{Trusts: script.Trusts{File: s.ScriptTrust()}, Environ: os.Environ(),
		Timeout: time.Duration(s.Workspace.ScriptTimeout) * time.Second}
	if program, err := executable.Path(); err == nil { // without this path, no script can run
		scripts.Guard = []string{program, "workspace", GuardVerb}
	}
	return workspace.Workspaces{Dir: s.Workspaces(), Environ: os.Environ(), Path: s.Workspace.Path,
		Copy: s.Workspace.Copy, Link: s.Workspace.Link, Now: time.Now, Scripts: scripts,
		EmptySubmodules: s.Workspace.Submodules != nil && !*s.Workspace.Submodules}
}

// GuardVerb is the hidden verb of coleo workspace that guards a project's script while it runs.
const GuardVerb = "guard-script"

// FindProgram returns the path of the program with the given name. Like the host agent, it looks
// first in the folders of AgentPath, and then in PATH. It returns "" if there is no such program.
func (s Setup) FindProgram(command string) string {
	for _, dir := range s.AgentPath() {
		path := filepath.Join(dir, command)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	path, err := exec.LookPath(command)
	if err != nil {
		return ""
	}
	return path
}

// InstalledVersion returns the version of the agent CLI that a new arm would run. It returns "" if
// the agent CLI is not installed, or if its files do not contain the version.
func (s Setup) InstalledVersion(info coleo.Info) string {
	path := s.FindProgram(info.Command)
	if path == "" {
		return ""
	}
	return launch.InstalledVersion(path, info.Package)
}

// RemoteOnly reports whether an environment variable forbids arms without a host agent.
func RemoteOnly() bool { return isSet("COLEO_REMOTE_ARMS_ONLY") }

// AllowsLocal reports whether an environment variable allows arms without a host agent. A flag on
// the command line has priority over this variable.
func AllowsLocal() bool { return isSet("COLEO_ALLOW_LOCAL_HARNESS_FALLBACK") && !RemoteOnly() }

// isSet reports whether an environment variable is set to a true value.
func isSet(name string) bool {
	on, err := strconv.ParseBool(os.Getenv(name))
	return on && err == nil
}

// Registry returns the built-in harnesses and the user's own harnesses. It omits a bad file of the
// user, and prints the error to standard error.
func (s Setup) Registry() (*registry.Registry, error) {
	reg, err := s.ReadRegistry()
	if reg == nil {
		return nil, err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "coleo: left out:", strings.ReplaceAll(err.Error(), "\n", "\ncoleo: left out: "))
	}
	return reg, nil
}

// PackStore returns the store of the installed packs.
func (s Setup) PackStore() pack.Store { return pack.NewStore(s.Paths.Packs()) }

// ReadRegistry returns the built-in harnesses and the user's own harnesses. If some of the user's
// files are bad, it returns the other harnesses together with an error. If the registry is nil, no
// harness can be used.
func (s Setup) ReadRegistry() (*registry.Registry, error) {
	holderCommand, err := executable.HolderCommand()
	if err != nil {
		return nil, err
	}
	store := s.PackStore()
	return registry.NewWithPacks(s.Harnesses(), &store, holderCommand)
}
