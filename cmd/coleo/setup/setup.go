// Package setup contains the folders and settings of Coleo on this machine. It starts, finds and
// ends the background processes of this machine, and connects to them.
package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"coleo.dev/config"
	"coleo.dev/holder/process"
	"coleo.dev/paths"
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
//   - the folders in the settings
//   - the folders in COLEO_AGENTS
//   - the folders into which Coleo itself has installed agent CLIs
func (s Setup) AgentPath() []string {
	out := append([]string{}, s.Settings.Agents.Path...)
	for _, root := range []string{os.Getenv("COLEO_AGENTS"), s.Paths.Agents()} {
		if root == "" {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(paths.Quote(root), "*", "bin"))
		out = append(append(out, filepath.Join(root, "node_modules", ".bin")), found...)
	}
	return out
}

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
