// Package installed says what is installed on this machine: the harnesses, the packs and the versions of the
// agent CLIs.
//
// A verb that only talks to serve should not use this package, because it links every harness and, with them,
// SQLite.
package installed

import (
	"fmt"
	"os"
	"strings"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/harnesses/terminal/launch"
	"coleo.dev/harnesses/terminal/pack"
	"coleo.dev/registry"
)

// Registry returns the built-in harnesses and the user's own harnesses. It omits a bad file of the
// user, and prints the error to standard error.
func Registry(s setup.Setup) (*registry.Registry, error) {
	reg, err := ReadRegistry(s)
	if reg == nil {
		return nil, err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "coleo: left out:", strings.ReplaceAll(err.Error(), "\n", "\ncoleo: left out: "))
	}
	return reg, nil
}

// ReadRegistry returns the built-in harnesses and the user's own harnesses. If some of the user's
// files are bad, it returns the other harnesses together with an error. If the registry is nil, no
// harness can be used.
func ReadRegistry(s setup.Setup) (*registry.Registry, error) {
	holderCommand, err := executable.HolderCommand()
	if err != nil {
		return nil, err
	}
	packs := Packs(s)
	return registry.NewWithPacks(s.Harnesses(), &packs, holderCommand)
}

// Packs returns the store of the installed packs.
func Packs(s setup.Setup) pack.Store { return pack.NewStore(s.Paths.Packs()) }

// Version returns the version of the agent CLI that a new arm would run. It returns "" if the agent
// CLI is not installed, or if its files do not contain the version.
func Version(s setup.Setup, info coleo.Info) string {
	path := s.FindProgram(info.Command)
	if path == "" {
		return ""
	}
	return launch.InstalledVersion(path, info.Package)
}
