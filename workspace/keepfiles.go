package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// This file finds and reads the files of a worktree that is being kept. Meanwhile a program that an arm has
// left running may change them.

// file is a file that is kept.
type file struct {
	entry
	at   string   // its path on this machine
	root *os.Root // the folder of the file's area; opening the file through it follows no link out of the area
}

// open opens the file for reading. If an arm has replaced the file by a pipe, open does not wait for a writer.
func (f *file) open() (*os.File, error) {
	in, err := f.root.OpenFile(string(f.Path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		in.Close()
		return nil, errors.Join(err, coleo.Errorf(coleo.EBusy, "%s changes while it is kept", shownName(string(f.Path))))
	}
	return in, nil
}

// list adds the files below a folder, except those for which `skip` returns true.
func (k *keptContent) list(area, dir string, skip func(string) bool) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && area == areaWork {
		return nil // nothing to add: the work folder can be missing while its git folder exists
	}
	if err != nil {
		return err
	}
	k.roots = append(k.roots, root)
	var bytes int64
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, failed := filepath.Rel(dir, path)
		if err != nil {
			return unreadable(dir, rel, err)
		}
		if failed != nil || rel == "." {
			return failed
		}
		if skip(rel) {
			return skipError(d)
		}
		info, err := d.Info()
		if err != nil {
			return unreadable(dir, rel, err)
		}
		if kind := info.Mode().Type(); kind != 0 && kind != fs.ModeDir && kind != fs.ModeSymlink {
			return nil // a pipe, a socket or a device has no content
		}
		f := file{entry: entry{Area: area, Path: []byte(rel), Mode: uint32(info.Mode())}, at: path, root: root}
		if info.Mode().IsRegular() {
			f.Size = info.Size()
		}
		bytes += f.Size
		k.files = append(k.files, f)
		if len(k.files) > mostKeptFiles || bytes > mostKeptBytes {
			return coleo.Errorf(coleo.EConflict, "the worktree %s has more than %d files or %d MiB, which is too much to keep: "+
				"nothing was removed; delete files that a build can make again", dir, mostKeptFiles, mostKeptBytes>>20)
		}
		return nil
	})
}

func unreadable(dir, name string, err error) error {
	return coleo.Errorf(coleo.EConflict, "%s in %s cannot be read (%s), so it cannot be kept: nothing was removed; "+
		"make it readable, or move it elsewhere", shownName(name), dir, reason(err))
}

// stagedBlobs returns the blobs in the worktree's index. For a clone, it also returns the blobs in the
// indexes of the worktrees that the arm has made from the clone.
func stagedBlobs(ctx context.Context, tree *git.Repo, w Workspace) ([]string, error) {
	ids := stagedIn(ctx, tree, "")
	if !w.Clone {
		return ids, nil
	}
	inner, err := tree.Worktrees()
	for _, at := range inner {
		ids = append(ids, stagedIn(ctx, tree, filepath.Join(at.Git, "index"))...)
	}
	return ids, err
}

// stagedIn returns the blobs in an index. The path "" means the index of the worktree. If git cannot read the index,
// the result is empty, because nobody can use such an index.
func stagedIn(ctx context.Context, tree *git.Repo, index string) (ids []string) {
	call := git.Call{Args: []string{"ls-files", "--stage", "-z"}}
	if index != "" {
		call.Env = []string{"GIT_INDEX_FILE=" + index}
	}
	out, err := tree.Run(ctx, call)
	if err != nil {
		return nil
	}
	for _, line := range fields(out) {
		const submodule = "160000"
		if f := strings.Fields(line); len(f) > 1 && f[0] != submodule {
			ids = append(ids, f[1])
		}
	}
	return ids
}

// writeFile writes the bytes of a file, or the target of a symbolic link. It returns an error if the file
// changes in the meantime.
func writeFile(out *bufio.Writer, f *file) error {
	if fs.FileMode(f.Mode)&fs.ModeSymlink != 0 {
		target, err := f.root.Readlink(string(f.Path))
		if err != nil {
			return err
		}
		f.Size = int64(len(target))
		_, err = fmt.Fprintf(out, "data %d\n%s\n", len(target), target)
		return err
	}
	in, err := f.open()
	if err != nil {
		return err
	}
	defer in.Close()
	fmt.Fprintf(out, "data %d\n", f.Size)
	n, err := io.CopyN(out, in, f.Size)
	if err == nil {
		_, err = in.Read(make([]byte, 1))
	}
	if n != f.Size || !errors.Is(err, io.EOF) {
		return coleo.Errorf(coleo.EBusy, "%s changes while it is kept", shownName(string(f.Path)))
	}
	return out.WriteByte('\n')
}
