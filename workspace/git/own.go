package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"coleo.dev"
)

// This file checks and disarms a git folder to which an arm in a sandbox can write.

const (
	// mostOwn is the largest number of files in a git folder that CheckOwn examines. A repository rarely has more
	// than 10,000, because git packs its objects.
	mostOwn = 1_000_000
	// ownAtOnce is how many names are read from a folder at once, to bound the memory.
	ownAtOnce = 1024
	// mostOwnFile is the largest allowed size in bytes of a file in the git folder of an arm's clone. It is bounded
	// because git may read the file into memory. A million packed refs have about 80 MB. The objects, the index, the
	// reflogs and the files of Git LFS may be larger.
	mostOwnFile = 256 << 20
)

// readInParts lists entries of a git folder to which mostOwnFile does not apply. Git reads them in
// parts, or Coleo bounds them elsewhere.
var readInParts = []string{"objects", "logs", "lfs", "index"}

// CheckOwn checks a git folder to which an arm in a sandbox can write. It returns EConflict if the folder
// contains a symbolic link, a pipe or a very large file. Git would follow the link, even to write a ref or a
// reflog. It would wait at the pipe, and read a file such as HEAD into memory. CheckOwn returns EUnsupported if git
// would read the objects of another repository. Hooks do not count, because Coleo never runs them.
func CheckOwn(ctx context.Context, gitDir string) error {
	if info, err := os.Lstat(gitDir); err != nil || !info.IsDir() {
		return errors.Join(err, coleo.Errorf(coleo.EConflict, "%s is not a folder: git is not run there", gitDir))
	}
	c := ownCheck{gitDir: gitDir, hooks: filepath.Join(gitDir, "hooks")}
	if err := c.folder(ctx, gitDir); err != nil {
		return err
	}
	alternates := filepath.Join(gitDir, "objects", "info", "alternates")
	if info, err := os.Lstat(alternates); err == nil && info.Size() > 0 {
		return coleo.Errorf(coleo.EUnsupported, "%s names the objects of another repository: git is not run there; "+
			"delete that file, and try again", alternates)
	}
	return nil
}

// ownCheck contains the data of one call of CheckOwn.
type ownCheck struct {
	gitDir, hooks string
	seen          int
}

func (c *ownCheck) folder(ctx context.Context, dir string) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the arm's git has deleted the folder in the meantime
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(ownAtOnce)
		for _, e := range entries {
			if err := c.entry(ctx, filepath.Join(dir, e.Name()), e); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *ownCheck) entry(ctx context.Context, path string, e fs.DirEntry) error {
	c.seen++
	kind := e.Type()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.seen > mostOwn:
		return coleo.Errorf(coleo.EConflict, "%s has more than %d files: git is not run there; run 'git gc' in a "+
			"sandbox, or save what you need and delete the clone", filepath.Dir(c.hooks), mostOwn)
	case path == c.hooks, kind&fs.ModeSocket != 0: // Coleo runs no hooks, and git never waits at a socket
		return nil
	case kind.IsRegular():
		return c.size(path, e)
	case kind.IsDir():
		return c.folder(ctx, path)
	}
	what := "not a regular file"
	if kind&fs.ModeSymlink != 0 {
		what = "a symbolic link"
	}
	return coleo.Errorf(coleo.EConflict, "%s is %s, through which git could leave the clone: git is not run there; "+
		"delete it, and try again", path, what)
}

// size returns an error for a file that is too large for git. The check is necessary because an arm can make
// a sparse file of a terabyte that takes no disk space.
func (c *ownCheck) size(path string, e fs.DirEntry) error {
	name, err := filepath.Rel(c.gitDir, path)
	if err != nil || slices.Contains(readInParts, strings.Split(name, string(filepath.Separator))[0]) ||
		strings.HasPrefix(name, "modules") {
		return err
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= mostOwnFile {
		return nil // the file is small enough, or a git of the arm has deleted it in the meantime
	}
	if err != nil {
		return err
	}
	return coleo.Errorf(coleo.EConflict, "%s has more than %d MB: git is not run there; examine it, and replace it",
		path, mostOwnFile>>20)
}

// checkRefs checks the refs and reflogs of a repository. It returns EInvalid for a pipe, at which git would wait.
// It also returns EInvalid for a link out of the git folder, because git would write through the link.
func (r *Repo) checkRefs() error {
	var dirs []string
	for _, name := range []string{"refs", "logs"} {
		dirs = append(dirs, filepath.Join(r.Common, name))
		if r.Git != r.Common {
			dirs = append(dirs, filepath.Join(r.Git, name))
		}
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist) || err == nil && (d.IsDir() || d.Type().IsRegular()):
				return nil
			case err != nil:
				return err
			case d.Type()&fs.ModeSymlink != 0:
				return r.stays(path)
			}
			return notRegular(path)
		})
		if err != nil {
			return err
		}
	}
	return r.checkPipes()
}

func notRegular(path string) error {
	return coleo.Errorf(coleo.EInvalid, "%s is not a regular file: git is not run in this repository", path)
}

// checkPipes looks for pipes in those places of the git folders that git reads first. It does not search among the
// objects. If a pipe is there, or if an arm makes a pipe later, awaitTrap finds the pipe while git waits at it.
func (r *Repo) checkPipes() error {
	for _, name := range []string{"", "info", "objects/info", "objects/pack"} {
		for _, gitDir := range slices.Compact(r.gitDirs()) {
			entries, err := os.ReadDir(filepath.Join(gitDir, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			for _, e := range entries {
				if e.Type()&(fs.ModeNamedPipe|fs.ModeDevice) != 0 {
					return notRegular(filepath.Join(gitDir, name, e.Name()))
				}
			}
		}
	}
	return nil
}

// ReadRegular returns at most the first `most` bytes of a regular file. An arm may be able to write to the
// file, so ReadRegular never waits at a pipe and follows no symbolic link.
func ReadRegular(path string, most int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// HashRegular returns the SHA-256 of the bytes that ReadRegular would return. It does not read them into memory.
func HashRegular(path string, most int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, io.LimitReader(f, most))
	return sum.Sum(nil), err
}

func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	return f, nil
}

// Disarm removes everything in a repository that could make the user's own git start a program. It removes:
//   - the hooks,
//   - all settings except the harmless ones,
//   - the file commondir, which names another repository with hooks and settings. If the objects are in that
//     repository, git no longer runs afterwards.
//
// The caller itself must have written the files of the repository, because Disarm does not look for symbolic links.
func (p Program) Disarm(ctx context.Context, gitDir string) error {
	config := filepath.Join(gitDir, "config")
	settings, err := p.readHarmless(ctx, config)
	if err != nil { // ignore the error, because the repository can be used without settings
		settings = nil
	}
	for _, name := range []string{"hooks", "config.worktree", "config", "commondir"} {
		if err := os.RemoveAll(filepath.Join(gitDir, name)); err != nil {
			return err
		}
	}
	return os.WriteFile(config, writeSettings(append([]setting{{"core.bare", "false"}}, settings...)), 0o666)
}

// ReplaceOwn replaces the named file below a clone's git folder. As git does, it first makes a lock file,
// whose name ends in .lock. It never follows a symbolic link out of the clone, even if the arm makes one
// during the call. While it has the lock, ReplaceOwn calls `check`, and replaces nothing if `check` returns
// an error. ReplaceOwn returns EBusy if the lock file already exists.
func (r *Repo) ReplaceOwn(name string, data []byte, check func() error) error {
	work, err := os.OpenRoot(r.Work)
	if err != nil {
		return err
	}
	defer work.Close()
	root, err := work.OpenRoot(".git")
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	lock := name + ".lock"
	f, err := root.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return coleo.Errorf(coleo.EBusy, "%s exists: another git is working in the repository, or was killed; if no git "+
			"runs there, delete that file and try again", filepath.Join(r.Git, lock))
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = check()
	}
	if info, failed := root.Lstat(name); err == nil && failed == nil && info.IsDir() {
		err = root.Remove(name) // when git packs the refs of a folder, it leaves the empty folder behind
	}
	if err == nil {
		err = root.Rename(lock, name)
	}
	if err != nil {
		_ = root.Remove(lock)
	}
	return err
}

// withoutReflogs makes a second folder that git can use in place of the git folder. The second folder has no reflogs.
// Git follows symbolic links when it writes a reflog, and an arm can make such a link at any moment. Coleo's own refs
// need no reflogs.
func (r *Repo) withoutReflogs() (string, error) {
	own, err := os.MkdirTemp(r.standIn, "refs-")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"config", "objects", "refs", "packed-refs", "reftable", "shallow"} {
		if err := os.Symlink(filepath.Join(r.standIn, name), filepath.Join(own, name)); err != nil {
			return "", err
		}
	}
	return own, os.WriteFile(filepath.Join(own, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600)
}
