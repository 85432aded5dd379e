package executable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"coleo.dev/config"
	"coleo.dev/wholefile"
)

// executeOK is the mode in which access(2) checks whether a file can be executed. This check also
// fails if the file system is mounted noexec, which the file's mode bits do not show.
const executeOK = 1

// holdProgramPath returns the path of the program that holders run. If this build contains the
// small holder program, holdProgramPath writes it below the state folder and returns the new path.
// Each version has its own path, so a running holder keeps its version.
//
// holdProgramPath returns the path of coleo if this build contains no small program, or if the
// small program cannot be written or executed.
func holdProgramPath() (string, error) {
	if len(leanHolder) > 0 {
		if path, err := writeLean(leanHolder); err == nil {
			return path, nil
		}
		// If the state folder is read-only or mounted noexec, holders run coleo itself.
	}
	return Path()
}

func writeLean(program []byte) (string, error) {
	paths, err := config.FindPaths(os.Getenv)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(program)
	dir := filepath.Join(paths.State, "bin", hex.EncodeToString(sum[:8]))
	path := filepath.Join(dir, "coleo")
	// Compare the whole content, because a loss of power can damage a file without changing its size.
	if kept, readErr := os.ReadFile(path); readErr != nil || !bytes.Equal(kept, program) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			err = wholefile.Replace(path, program, 0o700)
		}
	}
	if err == nil {
		err = syscall.Access(path, executeOK)
	}
	if err != nil {
		return "", fmt.Errorf("keep the holder's program at %s: %w", path, err)
	}
	return path, nil
}
