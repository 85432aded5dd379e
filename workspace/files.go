package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"coleo.dev"
)

// mostPlaced is the largest number of files that are copied into a worktree. For larger folders, a
// user can make links instead.
const mostPlaced = 10_000

// putFiles copies files from the user's work folder into the new worktree, and makes links to others. It first stores
// the list of these files in the record. It skips files that the branch contains, and files that do not exist in the
// user's work folder.
func (s Workspaces) putFiles(w *Workspace) error {
	if len(s.Copy)+len(s.Link) == 0 {
		return nil
	}
	from, err := os.OpenRoot(w.From)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(w.Path)
	if err != nil {
		return err
	}
	defer to.Close()
	for _, name := range s.Link {
		if err := checkInside("link", name, from); err != nil {
			return err
		}
		if isMissing(from, name) || !isMissing(to, name) {
			continue
		}
		w.Placed = append(w.Placed, Placed{Path: filepath.Clean(name), Link: filepath.Join(w.From, name)})
	}
	for _, name := range s.Copy {
		if err := checkInside("copy", name, from); err != nil {
			return err
		}
		if err := planCopy(from, to, filepath.Clean(name), &w.Placed); err != nil {
			return err
		}
	}
	if err := s.write(*w); err != nil {
		return err
	}
	for _, p := range w.Placed {
		if err := put(from, to, p); err != nil {
			return fmt.Errorf("put %s into the worktree: %w", p.Path, err)
		}
	}
	return nil
}

// checkInside refuses a path that leaves the work folder, directly or through a symbolic link.
func checkInside(key, name string, from *os.Root) error {
	if !filepath.IsLocal(name) || filepath.Clean(name) == "." {
		return coleo.Errorf(coleo.EInvalid, "%s = %q of [workspace] in config.toml is not a path within the work folder",
			key, name)
	}
	if _, err := from.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return coleo.Errorf(coleo.EInvalid, "%s = %q of [workspace] in config.toml: %w: it was not taken into the worktree",
			key, name, err)
	}
	return nil
}

func isMissing(root *os.Root, name string) bool {
	_, err := root.Lstat(name)
	return err != nil
}

// planCopy adds a file, or the files of a folder, to `list`, the list of files to copy. It skips symbolic links, and
// files that the worktree already contains.
func planCopy(from, to *os.Root, name string, list *[]Placed) error {
	if isMissing(from, name) {
		return nil
	}
	return fs.WalkDir(from.FS(), filepath.ToSlash(name), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !isMissing(to, path) {
			return err
		}
		hash, err := hashFile(from, path)
		if err != nil {
			return err
		}
		if *list = append(*list, Placed{Path: path, Hash: hash}); len(*list) > mostPlaced {
			return coleo.Errorf(coleo.EInvalid,
				"copy = %q of [workspace] in config.toml has more than %d files: link it instead", name, mostPlaced)
		}
		return nil
	})
}

func hashFile(root *os.Root, path string) (string, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the file may have become a pipe
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func put(from, to *os.Root, p Placed) error {
	if err := to.MkdirAll(filepath.Dir(p.Path), 0o777); err != nil {
		return err
	}
	if p.Link != "" {
		return to.Symlink(p.Link, p.Path)
	}
	in, err := from.Open(p.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := to.OpenFile(p.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// isUnchanged reports whether a file is still the same as when Coleo put it into the worktree.
func isUnchanged(root *os.Root, p Placed) bool {
	if p.Link != "" {
		target, err := root.Readlink(p.Path)
		return err == nil && target == p.Link
	}
	info, err := root.Lstat(p.Path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	hash, err := hashFile(root, p.Path)
	return err == nil && hash == p.Hash
}

// deleteAll is like os.RemoveAll, but it also deletes folders in which their owner may not write.
// Tools make folders of this kind for their caches.
func deleteAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
