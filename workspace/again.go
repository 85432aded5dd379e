package workspace

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// planAgain is like plan, but for a worktree whose folder somebody has deleted. If the worktree's branch still exists,
// planAgain ignores the order's base, because the work on that branch already has a base.
func (s Workspaces) planAgain(ctx context.Context, r *git.Repo, o Order, old Workspace,
	place func(Workspace) (string, error)) (Workspace, error) {
	if _, err := commitOf(ctx, r, heads+o.Branch); err == nil {
		o.Base = ""
	}
	w, err := s.plan(ctx, r, o, place)
	if w.Again = true; !w.MadeBranch && w.Branch == old.Branch {
		w.Onto = old.Onto
		if _, err := commitOf(ctx, r, old.begin()); err == nil {
			w.FirstStart = old.begin()
		}
	}
	return w, err
}

// placeAgain sets the folder of a worktree that is being restored. The folder is `path`, or the worktree's old folder
// if `path` is "".
func (s Workspaces) placeAgain(w *Workspace, path string) (err error) {
	if path != "" {
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
	}
	if w.Top == "" {
		w.Path = cmp.Or(path, w.Path)
		return nil
	}
	if w.Path != filepath.Join(w.Top, w.Repo) || w.Repo != filepath.Base(w.Path) || w.Repo == ".." {
		return coleo.Errorf(coleo.EInternal, "%q is not the folder "+
			"of a repository in %q: nothing was restored", w.Path, w.Top)
	}
	top := w.Top
	if path != "" {
		top = realPath(path)
	}
	all, err := s.Group(w.ArmID())
	if err != nil {
		return err
	}
	beside := false
	for _, other := range all {
		if other.ID == w.ID || other.Status != Ready || other.isGone() {
			continue
		}
		if beside = other.Top == top; !beside {
			return coleo.Errorf(coleo.EConflict, "the worktree of %s, another repository of arm %s, is at %s, and all must be "+
				"in one folder: nothing was restored; name the folder %s with --path", other.Repo, w.Name, other.Path,
				filepath.Dir(other.Path))
		}
	}
	if entries, err := os.ReadDir(top); err == nil && len(entries) > 0 && top != w.Top && !beside {
		return coleo.Errorf(coleo.EConflict, "%s has other files, and would contain one folder for each repository of arm "+
			"%s: nothing was restored; name a new folder with --path", top, w.Name)
	}
	w.Top, w.Path = top, filepath.Join(top, w.Repo)
	return nil
}

// realPath resolves the symbolic links in an absolute path. The last parts of the path need not exist.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	switch above := filepath.Dir(path); {
	case err == nil:
		return real
	case above == path:
		return path
	default:
		return filepath.Join(realPath(above), filepath.Base(path))
	}
}
