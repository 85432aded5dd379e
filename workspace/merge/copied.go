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

// The code in this file reads the files of a clone without git. While git reads, a program of the arm could replace a
// file or a folder by a symbolic link, which git would follow. Git could then store a file of the user in the clone,
// where the arm can read it.

// cloneWithCopies opens the clone with another work folder, which contains copies of the named files. It copies only
// files that are within the clone, even if links lead out of it. It skips missing files. It also copies the
// .gitattributes files that apply to the named files.
func (j *job) cloneWithCopies(ctx context.Context, files []changes.Entry) (*git.Repo, error) {
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

// copyFile copies a regular file or a symbolic link. It ignores everything else, and copies no file twice.
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
		return errors.Join(err, coleo.Errorf(coleo.EConflict, "%s "+
			"is not a regular file: nothing was merged", changes.Show(name)))
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// filesAndSubmodules separates the entries of files from those of submodules. Only files need a copy, because git
// reads only HEAD in a submodule.
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

// list returns the paths of entries in the form that git reads.
func list(entries []changes.Entry) string {
	var out strings.Builder
	for _, e := range entries {
		out.WriteString(e.Path + "\x00")
	}
	return out.String()
}
