package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev/workspace/git"
)

// Submodule describes a submodule of a worktree that contains unsaved work.
type Submodule struct {
	// Path is the submodule's path below the worktree. For a submodule that is not checked out,
	// Path is the name of the submodule's repository.
	Path string `json:"path"`
	// Problem says why Coleo cannot determine what is unsaved. It is "" if Coleo can. With a Problem, everything in the
	// submodule counts as unsaved.
	Problem string  `json:"problem,omitempty"`
	Unsaved Unsaved `json:"unsaved"`
}

// String describes in one line what would be lost.
func (m Submodule) String() string {
	var parts []string
	if m.Problem != "" {
		parts = append(parts, m.Problem)
	}
	if !m.Unsaved.Empty() {
		parts = append(parts, m.Unsaved.String())
	}
	return "the submodule " + shownName(m.Path) + " with " + strings.Join(parts, "; ")
}

// repository is a submodule's repository below the worktree's git folder.
type repository struct {
	Submodule
	dir     string   // its git folder
	saved   string   // the git folder of the same submodule in the main repository
	base    []string // the commits that the submodule had when the worktree was made
	checked bool     // true if the files of the submodule's work folder were compared already

	found map[string]commitFound // what the commits of `base` contain
}

// submodules contains the submodules of one worktree.
type submodules struct {
	Workspaces
	tree Workspace
	real string // the worktree's folder, without symbolic links
	ours func(name string, ignored bool) bool
	all  []*repository
	odd  []Submodule // submodules whose git folders do not belong to the worktree
}

// unsavedSubmodules adds to u the submodules that contain unsaved work. It examines every repository in the worktree's
// git folder, because the removal deletes all of them. Some of these repositories belong to submodules whose folders no
// longer exist.
func (s Workspaces) unsavedSubmodules(ctx context.Context, r *git.Repo, head commitFound, w Workspace,
	u *Unsaved) error {
	m := &submodules{Workspaces: s, tree: w}
	if modules := filepath.Join(w.Git, "modules"); exists(modules) {
		base, err := head.links, error(nil)
		if w.Start != r.LooseTip() { // `head` can differ from w.Start, for example if the arm has committed
			if base, err = gitlinks(ctx, r, w.Start); err != nil {
				return err
			}
		}
		if err := m.examine(ctx, modules, filepath.Join(w.Common, "modules"), "", ids(base)); err != nil {
			return err
		}
	}
	if root, err := os.OpenRoot(w.Path); err == nil {
		defer root.Close()
		m.ours = s.ownFileTest(w, root)
		if m.real, err = filepath.EvalSymlinks(w.Path); err != nil {
			return err
		}
		if err := m.checkouts(ctx, head, root, ""); err != nil {
			return err
		}
	}
	for _, one := range m.all {
		if err := m.finish(ctx, one); err != nil {
			return err
		}
		u.replaced = append(u.replaced, one.Unsaved.replaced...)
		if one.Problem != "" || !one.Unsaved.Empty() {
			u.Submodules = append(u.Submodules, one.Submodule)
		}
	}
	u.Submodules = append(u.Submodules, m.odd...)
	return nil
}

func ids(links []git.Link) (out []string) {
	for _, l := range links {
		out = append(out, l.ID)
	}
	return out
}

// commitFound is what an examination knows about the checked-out commit. Coleo reads this commit only once, so that
// all parts of an examination see the same commit.
type commitFound struct {
	exists bool       // false if the checked-out branch has no commit yet
	links  []git.Link // its submodules
}

// gitlinks returns the submodules in a commit. The result is empty if the commit does not exist.
func gitlinks(ctx context.Context, r *git.Repo, commit string) ([]git.Link, error) {
	found, err := findCommit(ctx, r, commit)
	return found.links, err
}

// findCommit looks for a commit and its submodules.
func findCommit(ctx context.Context, r *git.Repo, commit string) (commitFound, error) {
	if commit == "" {
		return commitFound{}, nil
	}
	if links, known := r.LooseLinks(r.LooseCommit(commit)); known {
		return commitFound{exists: true, links: links}, ctx.Err()
	}
	tree, err := r.Output(ctx, "ls-tree", "-r", "-z", "--end-of-options", commit+"^{commit}")
	if err != nil {
		if _, missing := commitOf(ctx, r, commit); missing != nil {
			return commitFound{}, ctx.Err()
		}
	}
	out := commitFound{exists: true}
	for _, entry := range fields(tree) {
		about, path, _ := strings.Cut(entry, "\t")
		const submodule = "160000 commit "
		if id, is := strings.CutPrefix(about, submodule); is {
			out.links = append(out.links, git.Link{Path: path, ID: id})
		}
	}
	return out, err
}

// examine examines the repositories in a folder "modules", and the repositories in them. `saved` is the
// corresponding folder of the main repository. `base` contains the commits at which the submodules began.
func (m *submodules) examine(ctx context.Context, modules, saved, prefix string, base []string) error {
	found, other, err := repositoriesBelow(modules)
	if err != nil {
		return err
	}
	for _, name := range other {
		m.odd = append(m.odd, Submodule{Path: prefix + name, Problem: "something that is no repository of a submodule"})
	}
	for _, name := range found {
		one := &repository{Submodule: Submodule{Path: prefix + name}, dir: filepath.Join(modules, name),
			saved: filepath.Join(saved, name), base: base}
		m.all = append(m.all, one)
		inner, err := m.commits(ctx, one)
		if err := one.storeProblem(ctx, err); err != nil {
			return err
		}
		err = m.examine(ctx, filepath.Join(one.dir, "modules"), filepath.Join(one.saved, "modules"), one.Path+"/", inner)
		if err != nil {
			return err
		}
	}
	return nil
}

// storeProblem stores an error as the problem of a submodule. It returns an error only if ctx has ended.
func (one *repository) storeProblem(ctx context.Context, err error) error {
	if ctx.Err() == nil && err != nil && one.Problem == "" {
		one.Problem = "a repository that Coleo cannot examine: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	return ctx.Err()
}

// repositoriesBelow returns the repositories in a folder "modules", as paths below this folder. They may be
// at any depth, because a submodule's name can contain slashes. `other` contains everything else that could
// contain work.
func repositoriesBelow(modules string) (found, other []string, err error) {
	err = filepath.WalkDir(modules, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == modules {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look for the repositories of submodules: %w", err)
		}
		name, err := filepath.Rel(modules, path)
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			other = append(other, name)
		case path != modules && isRepository(path):
			found = append(found, name)
			return fs.SkipDir
		}
		return nil
	})
	for _, name := range found {
		hidden, failed := hiddenIn(filepath.Join(modules, name))
		err = errors.Join(err, failed)
		for _, inner := range hidden {
			other = append(other, filepath.Join(name, inner))
		}
	}
	return found, other, err
}

// isRepository reports whether a folder is a repository, or the remains of one.
func isRepository(dir string) bool {
	return exists(filepath.Join(dir, "HEAD")) ||
		exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs"))
}

// ownFolders lists those folders of a repository that are examined separately, or that contain no
// repositories.
var ownFolders = []string{"objects", "refs", "logs", "hooks", "info", "lfs", "modules", "worktrees"}

// hiddenIn returns repositories at an unusual place within another repository. Old versions of git create them: they
// put the repository of a submodule `a/b` into the repository of a submodule `a`.
func hiddenIn(dir string) (hidden []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for the repositories of submodules: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || slices.Contains(ownFolders, e.Name()) {
			continue
		}
		err := filepath.WalkDir(filepath.Join(dir, e.Name()), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() || !isRepository(path) {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			hidden = append(hidden, name)
			return fs.SkipDir
		})
		if err != nil {
			return nil, fmt.Errorf("look for the repositories of submodules: %w", err)
		}
	}
	return hidden, nil
}

// open opens a submodule's repository with the work folder `work`. If there is no work folder, the caller passes the
// repository's own folder. open returns an error if the repository stores its commits elsewhere, or has further work
// folders.
func (one *repository) open(ctx context.Context, s Workspaces, work string) (*git.Repo, error) {
	r, err := s.openAt(ctx, work, one.dir)
	if err != nil {
		return nil, err
	}
	trees, err := r.Worktrees()
	switch {
	case err != nil:
	case r.Common != one.dir:
		err = fmt.Errorf("it belongs to %s", shownName(r.Common))
	case len(trees) > 0:
		err = fmt.Errorf("it has worktrees of its own, such as %s", shownName(trees[0].Path))
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// checkouts looks for changed files in the submodules that the checked-out commit of a work folder contains.
// `prefix` is the path of the work folder below the worktree, with a slash at its end, or "" for the worktree
// itself.
func (m *submodules) checkouts(ctx context.Context, head commitFound, root *os.Root, prefix string) error {
	for _, l := range head.links {
		path := prefix + l.Path
		one, err := m.submoduleIn(ctx, root, path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			m.odd = append(m.odd, Submodule{Path: path, Problem: strings.ReplaceAll(err.Error(), "\n", " ")})
		}
		if one == nil {
			continue
		}
		if !one.checked {
			one.Path, one.checked = path, true
		}
		sub, err := one.open(ctx, m.Workspaces, filepath.Join(m.real, path))
		if err == nil {
			err = m.checkout(ctx, sub, one, root, path)
			sub.Close()
		}
		if err := one.storeProblem(ctx, err); err != nil {
			return err
		}
	}
	return nil
}

// head returns the facts about the checked-out commit. For a commit in one.base, it has them already, and starts no
// git. Most submodules still have the commit with which they began.
func (one *repository) head(ctx context.Context, r *git.Repo) (commitFound, error) {
	if found, ok := one.found[r.Head()]; ok {
		return found, nil
	}
	return findCommit(ctx, r, "HEAD")
}

// checkout looks for changed files in the submodule at a path, and in the submodules inside of it.
func (m *submodules) checkout(ctx context.Context, sub *git.Repo, one *repository, root *os.Root, path string) error {
	head, err := one.head(ctx, sub)
	if err != nil {
		return err
	}
	err = m.compareFiles(ctx, sub, head, &one.Unsaved, func(name string, ignored bool) bool {
		return m.ours(path+"/"+name, ignored)
	})
	return errors.Join(err, m.checkouts(ctx, head, root, path+"/"))
}

// submoduleIn returns the repository of the submodule that is checked out in a folder, or nil if the
// folder is missing or empty.
func (m *submodules) submoduleIn(ctx context.Context, root *os.Root, path string) (*repository, error) {
	dir, err := root.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("a folder that Coleo cannot read: %w", err)
	}
	defer dir.Close()
	if info, err := dir.Stat(); err != nil || !info.IsDir() {
		// If err is nil, there is a file in place of the folder. It is reported as a change of the
		// worktree.
		return nil, err
	}
	if _, err := dir.ReadDir(1); errors.Is(err, io.EOF) {
		return nil, nil
	}
	folder := filepath.Join(m.real, path)
	if real, err := filepath.EvalSymlinks(folder); err != nil || real != folder {
		return nil, errors.New("a symbolic link in its path")
	}
	p, err := m.git()
	if err != nil {
		return nil, err
	}
	r, err := p.Open(ctx, folder)
	if err != nil {
		return nil, fmt.Errorf("a repository that Coleo cannot examine: %w", err)
	}
	defer r.Close()
	if r.Work != folder {
		return nil, errors.New("files, but without a repository")
	}
	for _, one := range m.all {
		if one.dir == r.Git {
			return one, nil
		}
	}
	return nil, errors.New("a repository in an unusual place, " + shownName(r.Git))
}

// finish looks for changes in the index of a submodule whose work folder is missing.
func (m *submodules) finish(ctx context.Context, one *repository) error {
	if one.checked || one.Problem != "" {
		return nil
	}
	r, err := one.open(ctx, m.Workspaces, one.dir)
	if err == nil {
		var head commitFound
		if head, err = one.head(ctx, r); err == nil {
			err = one.Unsaved.takeIndex(ctx, r, head)
		}
		r.Close()
	}
	return one.storeProblem(ctx, err)
}
