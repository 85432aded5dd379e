package merge

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// This file reads the files of a clone without git. Git follows a symbolic link that replaces a file or a folder at
// that moment. A program of the arm could so let git put a file of the person into the clone, where the arm reads it.

// copied opens the clone with another work folder, which has copies of the named files. The copies stay within the
// clone, whatever its links say. A file that is gone has no copy. The folder also has the attributes of the files.
func (j *job) copied(ctx context.Context, files []changes.Entry) (*git.Repo, error) {
	dir := filepath.Join(j.own, "files")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	from, err := os.OpenRoot(j.arm.Path)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	known := map[string]bool{}
	for _, e := range files {
		for folder := path.Dir(e.Path); !known[folder]; folder = path.Dir(folder) {
			known[folder] = true
			if err := copyFile(ctx, from, to, path.Join(folder, ".gitattributes")); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range files {
		if err := copyFile(ctx, from, to, e.Path); err != nil {
			return nil, err
		}
	}
	return j.trees.OpenCloneWith(ctx, j.arm, dir)
}

// copyFile copies a regular file or a symbolic link. It copies nothing else, and no file twice.
func copyFile(ctx context.Context, from, to *os.Root, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := to.Lstat(name); err == nil {
		return nil
	}
	info, err := from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	if err := to.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return to.Symlink(target, name)
	}
	in, err := from.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err = in.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, coleo.Errorf(coleo.EConflict, "%s is no regular file: nothing was merged", changes.Show(name)))
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// filesAndSubmodules splits the paths of entries. Git reads only the HEAD of a submodule.
func filesAndSubmodules(all []changes.Entry) (files, submodules []changes.Entry) {
	for _, e := range all {
		if e.Submodule {
			submodules = append(submodules, e)
		} else {
			files = append(files, e)
		}
	}
	return files, submodules
}

// list returns the paths of entries as git reads them.
func list(entries []changes.Entry) string {
	var out strings.Builder
	for _, e := range entries {
		out.WriteString(e.Path + "\x00")
	}
	return out.String()
}
