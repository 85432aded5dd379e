// Package setup has the folders and settings of Coleo on this machine. It starts, finds
// and ends the background processes of this machine, and connects to them.
package setup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/config"
	"coleo.dev/harnesses/terminal/launch"
	"coleo.dev/harnesses/terminal/pack"
	"coleo.dev/holder/process"
	"coleo.dev/registry"
)

// Setup has the folders and the settings, which every verb needs.
type Setup struct {
	config.Paths
	config.Settings
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

// Prepare prepares this process to start one of Coleo's background processes, or to
// become one. It returns an error if this process is inside an arm, because an arm must
// not control its own host agent.
func (s Setup) Prepare() error {
	if err := process.OutsideArms(os.Getpid()); err != nil {
		return err
	}
	process.HideMemory()
	return s.Ensure()
}

// AgentPath returns the folders that are searched for agent CLIs before PATH. These are
// the folders from the settings, the folders in COLEO_AGENTS, and the folders of agent
// CLIs that Coleo has installed.
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

// FindProgram returns the path of a program in the folders in which arms look for programs.
// It returns "" if the program is in none of them.
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

// InstalledVersion returns the version of the agent CLI that a new arm of a harness would
// run. It returns "" if the agent CLI is not installed, or its files do not tell.
func (s Setup) InstalledVersion(info coleo.Info) string {
	path := s.FindProgram(info.Command)
	if path == "" {
		return ""
	}
	return launch.InstalledVersion(path, info.Package)
}

// RemoteOnly reports whether the environment forbids arms without a host agent.
func RemoteOnly() bool { return isSet("COLEO_REMOTE_ARMS_ONLY") }

// AllowsLocal reports whether the environment allows arms without a host agent where a
// command line does not say.
func AllowsLocal() bool { return isSet("COLEO_ALLOW_LOCAL_HARNESS_FALLBACK") && !RemoteOnly() }

// isSet reports whether a variable of the environment switches something on.
func isSet(name string) bool {
	on, err := strconv.ParseBool(os.Getenv(name))
	return on && err == nil
}

// Registry returns the built-in harnesses and the user's own harnesses. If a file of
// the user is bad, Registry leaves it out and reports the error on standard error.
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

// PackStore returns the installed packs.
func (s Setup) PackStore() pack.Store { return pack.NewStore(s.Paths.Packs()) }

// ReadRegistry returns the harnesses and the errors of the user's files.
func (s Setup) ReadRegistry() (*registry.Registry, error) {
	holderCommand, err := executable.HolderCommand()
	if err != nil {
		return nil, err
	}
	store := s.PackStore()
	return registry.NewWithPacks(s.Harnesses(), &store, holderCommand)
}
