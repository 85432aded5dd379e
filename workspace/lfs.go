package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"coleo.dev/workspace/git"
)

// This file copies the files of Git LFS between two git folders.

// lfsObjects is the folder below a git folder in which Git LFS stores files. The name of each stored file is
// the hash of its content. Commits contain only these names.
const lfsObjects = "lfs/objects"

// bringLFS copies files of Git LFS from the git folder `from` to the git folder `to`. It skips files that `to`
// already has. An arm may have written the files in `from`, so bringLFS also skips a file whose content does not
// match the hash in its name.
func bringLFS(ctx context.Context, from, to string) error {
	if !exists(filepath.Join(from, lfsObjects)) {
		return nil
	}
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer target.Close()
	err = fs.WalkDir(source.FS(), lfsObjects, func(name string, d fs.DirEntry, err error) error {
		switch id := path.Base(name); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case !d.Type().IsRegular() || !git.IsObjectID(id) || name != path.Join(lfsObjects, id[:2], id[2:4], id):
			return nil
		case !isMissing(target, name):
			return nil
		}
		return copyLFS(ctx, source, target, name)
	})
	if err != nil {
		return fmt.Errorf("copy the files of Git LFS from %s: %w", from, err)
	}
	return nil
}

// copyLFS copies one file if its content matches the hash in its name. It reads the file twice, and writes the copy
// only the second time, after it has checked the hash. Otherwise an arm's sparse file, which takes no disk space
// itself, could fill the disk with its copy. The copy receives its name only when it is complete.
func copyLFS(ctx context.Context, from, to *os.Root, name string) error {
	in, err := from.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	size, same, err := copyHashed(ctx, io.Discard, in, name)
	if err != nil || !same {
		return err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := errors.Join(to.MkdirAll(path.Dir(name), 0o777), to.MkdirAll("lfs/tmp", 0o777)); err != nil {
		return err
	}
	made := path.Join("lfs/tmp", "coleo-"+path.Base(name))
	if err := to.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) { // a killed copyLFS can have left this file
		return err
	}
	out, err := to.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { _ = to.Remove(made) }() // if the file was renamed, this does nothing
	_, same, err = copyHashed(ctx, &withHoles{file: out}, io.LimitReader(in, size), name)
	err = errors.Join(err, out.Truncate(size))
	// If `same` is false, the arm has changed the file in the meantime. The file is then left out.
	if err = errors.Join(err, out.Close()); err != nil || !same {
		return err
	}
	return to.Rename(made, name)
}

// copyHashed copies a file of Git LFS. It returns the file's size, and whether the content matches the hash in
// the name.
func copyHashed(ctx context.Context, to io.Writer, from io.Reader, name string) (size int64, same bool, err error) {
	sum := sha256.New()
	size, err = io.Copy(io.MultiWriter(to, sum), untilEnd{ctx, from})
	return size, hex.EncodeToString(sum.Sum(nil)) == path.Base(name), err
}

// withHoles writes a file, and leaves holes in place of zeros. An arm can make a file of a terabyte of zeros that takes
// no disk space. The copy of such a file must take no disk space either. The caller sets the size of the file at the
// end.
type withHoles struct {
	file *os.File
	at   int64
}

func (w *withHoles) Write(data []byte) (int, error) {
	if bytes.Trim(data, "\x00") != nil {
		if n, err := w.file.WriteAt(data, w.at); err != nil {
			return n, err
		}
	}
	w.at += int64(len(data))
	return len(data), nil
}

// untilEnd is a reader that returns an error after its context has ended.
type untilEnd struct {
	ctx context.Context
	io.Reader
}

func (u untilEnd) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}
