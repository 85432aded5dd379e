package executable

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"coleo.dev/config"
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
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() != int64(len(program)) {
		err = writeProgram(dir, path, program)
	}
	if err == nil {
		err = syscall.Access(path, executeOK)
	}
	if err != nil {
		return "", fmt.Errorf("keep the holder's program at %s: %w", path, err)
	}
	return path, nil
}

// writeProgram writes a program to path, completely or not at all. Several processes can call
// writeProgram for the same path at the same time.
func writeProgram(dir, path string, program []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(program)
	if err = errors.Join(err, tmp.Chmod(0o700), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
