package config

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"coleo.dev"
)

// ReadOwn reads a file that can make Coleo run commands. It refuses a file that another
// user could have written. The file must be a regular file. The user or root must own
// the file and its folder. Group and others must not have write permission for the file
// or the folder. ReadOwn follows links.
//
// If ReadOwn refuses the file, it returns EForbidden with the command that repairs the
// file. If it cannot open the file, it returns the error of opening.
func ReadOwn(path string) ([]byte, error) { return ReadOwnAtMost(path, math.MaxInt64-1) }

// ReadOwnAtMost does the same as ReadOwn. If the file has more than most bytes, it returns
// EInvalid.
func ReadOwnAtMost(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block if the file is a pipe
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, coleo.Errorf(coleo.EForbidden,
			"%s is not a regular file, so it was not read: replace it with one", path)
	}
	if err := checkOwn(path, info); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(real)} {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, err
		}
		if err := checkOwn(dir, info); err != nil {
			return nil, fmt.Errorf("%s was not read: %w", path, err)
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, coleo.Errorf(coleo.EInvalid, "%s has more than %d bytes, so it was not read", path, most)
	}
	return data, err
}

// checkOwn returns EForbidden for a file or folder that another user could change.
func checkOwn(name string, info fs.FileInfo) error {
	const groupOrWorld, root = 0o022, 0
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() && s.Uid != root {
		return coleo.Errorf(coleo.EForbidden, "%s belongs to user %d, who could make Coleo run commands: 'chown %d %s'",
			name, s.Uid, os.Geteuid(), name)
	}
	if mode := info.Mode().Perm(); mode&groupOrWorld != 0 {
		return coleo.Errorf(coleo.EForbidden,
			"others can write to %s (mode %04o) and could make Coleo run commands: 'chmod go-w %s'", name, mode, name)
	}
	return nil
}
