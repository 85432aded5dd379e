package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"coleo.dev/workspace/git"
)

// takeUnseen adds to u what git does not report in a work folder although a removal would delete it. Git says
// nothing about git folders among the files, and only prints a warning about folders that it cannot read.
// Submodules and the repositories that git reports are examined elsewhere.
func (u *Unsaved) takeUnseen(ctx context.Context, r *git.Repo, head commitFound) error {
	for _, l := range head.links {
		u.addNested(l.Path + "/")
	}
	return filepath.WalkDir(r.Work, func(path string, d fs.DirEntry, err error) error {
		name, failed := filepath.Rel(r.Work, path)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case failed != nil:
			return failed
		case errors.Is(err, fs.ErrNotExist), name == ".git", u.nested[name+"/"]:
			return skipError(d)
		case err != nil: // the folder cannot be read, for example without permission or because its path is too long
			u.Unseen = append(u.Unseen, "unreadable: "+reason(err)+": "+name+"/")
			return skipError(d)
		case d.Name() == ".git":
			u.Unseen = append(u.Unseen, name)
			return skipError(d)
		}
		return nil
	})
}

// skipError returns what makes filepath.WalkDir skip a file, or a folder with everything in it.
func skipError(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// reason returns the cause of an error without the path of the file, because the path can be very long.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return err.Error()
}
