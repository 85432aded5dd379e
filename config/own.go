package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"coleo.dev"
	"coleo.dev/printable"
)

// ReadOwn reads a file that can make Coleo run commands. It refuses a file that another user could
// have written. It requires that:
//
//   - The file is a regular file, or a link to a regular file.
//   - The user or root owns the file, its folder, and the folder of the link.
//   - The group and others have no permission to write to any of them.
//
// Otherwise it returns EForbidden, and the message describes how to repair the problem. If ReadOwn
// cannot open the file, it returns the error from opening the file.
func ReadOwn(path string) ([]byte, error) { return ReadOwnAtMost(path, math.MaxInt64-1) }

// ReadOwnAtMost is like ReadOwn, but returns EInvalid if the file has more than maxBytes bytes.
func ReadOwnAtMost(path string, maxBytes int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // with O_NONBLOCK, even opening a FIFO does not block
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
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && int64(len(data)) > maxBytes {
		return nil, coleo.Errorf(coleo.EInvalid, "%s has more than %d bytes, so it was not read", path, maxBytes)
	}
	return data, err
}

// CheckMissing returns EInvalid if a file or a folder is missing only because a symbolic link leads nowhere. The
// user then has the file in another place, for example on a disk that is not mounted.
func CheckMissing(path string) error {
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return coleo.Errorf(coleo.EInvalid, "%s is a symbolic link that leads to nothing, so nothing was read: repair it, "+
				"or remove it", path)
		}
		return nil
	}
	return nil
}

// checkOwn returns EForbidden if another user could change the file or folder. `name` is only for the
// message.
func checkOwn(name string, info fs.FileInfo) error {
	const groupOrWorld, root = 0o022, 0
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() && s.Uid != root {
		return coleo.Errorf(coleo.EForbidden, "%s belongs to user %d, who could make Coleo run commands: 'chown %d %s'",
			name, s.Uid, os.Geteuid(), printable.ShellWord(name))
	}
	if mode := info.Mode().Perm(); mode&groupOrWorld != 0 {
		return coleo.Errorf(coleo.EForbidden,
			"others can write to %s (mode %04o) and could make Coleo run commands: 'chmod go-w %s'", name, mode,
			printable.ShellWord(name))
	}
	return nil
}
