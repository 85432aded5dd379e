// Package executable contains the paths and the version of this build's programs: coleo itself, and
// the program that holders run.
package executable

import (
	"fmt"
	"os"
)

// Path returns the path of this program.
func Path() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return path, nil
}

// HolderCommand returns the command line that starts a holder.
func HolderCommand() ([]string, error) {
	path, err := holdProgramPath()
	return []string{path, "hold", "--stdin"}, err
}

// Version is the version of Coleo. The build sets it (see the Makefile).
var Version = "dev"
