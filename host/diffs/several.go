package diffs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/changes/folder"
	"coleo.dev/paths"
)

// repository is an open repository of an arm.
type repository struct {
	Repo   // empty if the arm works in one repository
	folder *folder.Folder
}

// repositories are the open repositories of one arm.
type repositories []repository

// openAll opens all repositories of an arm. The caller must close them.
func (d *Diffs) openAll(ctx context.Context, a Arm) (repositories, error) {
	if len(a.Repos) == 0 {
		f, err := d.open(ctx, a.Folder)
		if err != nil {
			return nil, err
		}
		return repositories{{folder: f}}, nil
	}
	top, err := filepath.EvalSymlinks(a.Folder)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not a folder: %w", a.Folder, err)
	}
	var all repositories
	for _, repo := range a.Repos {
		f, err := d.open(ctx, repo.Folder)
		// Git has found another repository, because this folder has no .git or is a link.
		if err == nil && f.Root() != filepath.Join(top, repo.Name) {
			err = coleo.Errorf(coleo.EUnsupported, "%s points to the repository "+
				"in %s: nothing was read or changed there; check "+
				"how the arm has changed the folder", repo.Folder, f.Root())
			f.Close()
		}
		if err != nil {
			all.close()
			return nil, fmt.Errorf("%s: %w", repo.Name, err)
		}
		all = append(all, repository{repo, f.Below(repo.Name)})
	}
	return all, nil
}

// rememberBase stores the commit at which the arm's work begins in each repository.
func (all repositories) rememberBase(ctx context.Context, a Arm) error {
	for _, one := range all {
		if err := one.folder.RememberBase(ctx, a.ID); err != nil {
			return err
		}
	}
	return nil
}

func (all repositories) close() {
	for _, one := range all {
		one.folder.Close()
	}
}

// root returns the folder to which the paths in a diff are relative.
func (all repositories) root(a Arm) string {
	if len(a.Repos) > 0 {
		return a.Folder
	}
	return all[0].folder.Root()
}

// diff returns what the arm has changed in all repositories.
func (all repositories) diff(ctx context.Context, a Arm, w changes.DiffRequest, now time.Time) (changes.Diff, error) {
	if len(a.Repos) == 0 {
		return all[0].folder.DiffOf(ctx, a.ID, w, now)
	}
	wanted, err := a.pathsIn(w.Paths)
	if err != nil {
		return changes.Diff{}, err
	}
	var parts []changes.Part
	for _, one := range all {
		request := w
		if request.Paths = wanted[one.Name]; len(w.Paths) > 0 && len(request.Paths) == 0 {
			continue
		}
		part, err := one.folder.DiffOf(ctx, a.ID, request, now)
		if err != nil {
			return changes.Diff{}, fmt.Errorf("%s: %w", one.Name, err)
		}
		parts = append(parts, changes.Part{Name: one.Name, Diff: part})
	}
	out := changes.Join(a.Folder, parts)
	if len(w.Paths) == 0 {
		out.Left = append(out.Left, a.outside()...)
	}
	return out, nil
}

// A diff lists at most mostOutside files and folders that are in none of the arm's repositories. A
// person does not read more.
const mostOutside = 100

// outside returns the entries of the folder above the repositories, except the repositories
// themselves. No patch contains these entries.
func (a Arm) outside() (left []changes.Left) {
	entries, _ := os.ReadDir(a.Folder)
	for _, e := range entries {
		if slices.ContainsFunc(a.Repos, func(r Repo) bool { return r.Name == e.Name() }) {
			continue
		}
		if len(left) == mostOutside {
			return append(left, changes.LeaveOut("...", "more files and folders are in none of the repositories"))
		}
		left = append(left, changes.LeaveOut(e.Name(), "it is in none of the repositories"))
	}
	return left
}

// pathsIn returns the wanted paths of each repository. The key is the repository's name. A wanted
// path is absolute, or relative to the arm's folder. If a wanted path contains a whole repository,
// the result has the repository's folder instead. pathsIn returns EInvalid for a path that is in no
// repository.
func (a Arm) pathsIn(wanted []string) (map[string][]string, error) {
	in := map[string][]string{}
	for _, p := range wanted {
		full, found := p, false
		if !filepath.IsAbs(p) {
			full = filepath.Join(a.Folder, p)
		}
		for _, repo := range a.Repos {
			switch {
			case paths.Within(repo.Folder, full):
				in[repo.Name], found = append(in[repo.Name], full), true
			case paths.Within(full, repo.Folder):
				in[repo.Name], found = append(in[repo.Name], repo.Folder), true
			}
		}
		if !found {
			return nil, coleo.Errorf(coleo.EInvalid, "%s is in none of the arm's repositories, which are in %s", p, a.Folder)
		}
	}
	return in, nil
}

// checkOne returns EUnsupported if the caller needs checkpoints and the arm works in several
// repositories.
func (a Arm) checkOne(checkpoints bool) error {
	if !checkpoints || len(a.Repos) == 0 {
		return nil
	}
	return coleo.Errorf(coleo.EUnsupported, "the arm works in several repositories, and Coleo makes no checkpoints of "+
		"them, so nothing can be shown or restored; commits in each repository keep its files")
}
