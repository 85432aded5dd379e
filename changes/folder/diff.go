package folder

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// path is a file that may have changed. The fields `mode` and `id` describe the file in the base. If the base does
// not contain the file, both are "".
type path struct {
	name     string
	mode, id string
	entry    changes.Entry
}

// Diff returns what changed in the folder since the commit `baseCommit`. If `baseCommit` is "", Diff compares the
// folder with a tree without files. Diff returns EInvalid if a path is outside of the repository.
func (f *Folder) Diff(ctx context.Context, baseCommit string, w changes.DiffRequest,
	now time.Time) (changes.Diff, error) {
	return f.diff(ctx, "", func(context.Context) (string, error) { return baseCommit, nil }, w, now)
}

// DiffOf is like Diff, but compares with the base of an arm: see Base. It determines the base while
// git searches for changed files.
func (f *Folder) DiffOf(ctx context.Context, arm string, w changes.DiffRequest, now time.Time) (changes.Diff, error) {
	return f.diff(ctx, f.baseAtHead(arm), func(ctx context.Context) (string, error) { return f.Base(ctx, arm) }, w, now)
}

// diff first asks git which files may have changed, and then lets git compare only these files. `headBase` is the
// base that the caller has found without git, or "". If git says that HEAD is this commit, it is the base. Otherwise
// diff calls `baseOf`.
func (f *Folder) diff(ctx context.Context, headBase string, baseOf func(context.Context) (string, error),
	w changes.DiffRequest, now time.Time) (changes.Diff, error) {
	d := changes.Diff{Root: f.Root(), Alias: f.alias(), Time: now, Files: []changes.File{}}
	only, err := f.relativePaths(w.Paths)
	if err != nil {
		return d, err
	}
	var baseErr, hiddenErr error
	var hidden []changes.Left
	var asking sync.WaitGroup
	findBase := func() { d.Base, baseErr = baseOf(ctx) }
	if headBase == "" {
		asking.Go(findBase)
	}
	asking.Go(func() { hidden, hiddenErr = f.hiddenLists(ctx) })
	last, _ := pathsWithin(f.indexes.lastOf(f.repo.Git), only)
	early := f.compareAhead(ctx, last, w)
	defer early.stop()
	status, listed, err := f.indexes.status(ctx, f)
	asking.Wait()
	switch headBase {
	case "": // findBase has been called
	case status.Head:
		d.Base = headBase
	default:
		findBase()
	}
	if err = cmp.Or(err, baseErr, hiddenErr); err != nil {
		return d, err
	}
	d.Head = status.Head
	paths, committed, err := f.sinceBase(ctx, d.Base, status, listed)
	if err != nil {
		return d, err
	}
	f.indexes.remember(f.repo.Git, paths)
	paths, more := pathsWithin(paths, only)
	c := comparison{request: w, committed: committed, more: more, head: headOf(paths),
		where: map[string]changes.Entry{}, early: early}
	for _, p := range paths {
		c.where[p.name] = p.entry
	}
	d.Left = leftOut(status, hidden, only)
	return d, f.comparePaths(ctx, &d, paths, c)
}

// leftOut returns what a diff must list as not compared: what git status could not read, the repositories inside of
// the folder, and the hidden files with ignore rules.
func leftOut(status changes.Status, hidden []changes.Left, only []string) (left []changes.Left) {
	for _, l := range slices.Concat(status.Unread, hidden) {
		if covers(only, strings.TrimSuffix(l.Name(), "/")) {
			left = append(left, l)
		}
	}
	for _, n := range status.Nested {
		if covers(only, strings.TrimSuffix(n, "/")) {
			left = append(left, changes.LeaveOut(n, "it is a separate repository"))
		}
	}
	return left
}

// pathsWithin returns the paths that a diff contains if it is limited to the files and folders in `only`.
// `more` is true if there are too many paths, so that some are left out.
func pathsWithin(paths []path, only []string) (kept []path, more bool) {
	for _, p := range paths {
		if covers(only, p.name) {
			kept = append(kept, p)
		}
	}
	return kept[:min(len(kept), changes.MaxFiles)], len(kept) > changes.MaxFiles
}

// comparePaths compares the base's version of each path with the file in the folder.
//
// Usually git reads the files directly. In two cases, comparePaths makes git store the files first:
//   - A path contains something that git cannot show directly, such as a pipe in place of a file.
//   - Git has failed, or has shown wrong changes, because a file vanished in the meantime.
func (f *Folder) comparePaths(ctx context.Context, d *changes.Diff, paths []path, c comparison) error {
	entries, left, direct := f.lookAll(paths)
	d.Left = append(d.Left, left...)
	if direct && len(entries) == 0 {
		return nil // no path is left to compare
	}
	if direct && !f.snapshots {
		err := f.compareDirectly(ctx, d, entries, c)
		if err == nil && !hasVanished(d.Files, entries) || ctx.Err() != nil {
			return err
		}
	}
	before, err := f.smallTrees(ctx, entries)
	if err != nil {
		return err
	}
	c.args, c.trees, c.env = []string{"diff-index", "--cached"}, []string{before}, f.private()
	return f.compare(ctx, d, c)
}

// compareDirectly compares the base's version of each entry with the file in the folder.
func (f *Folder) compareDirectly(ctx context.Context, d *changes.Diff, entries []lookResult, c comparison) error {
	index, err := f.indexOf(entries)
	if err != nil {
		return err
	}
	path := f.aheadIndex()
	if c.out = c.early.result(index); c.out == nil {
		path = f.privateIndex()
		if err := os.WriteFile(path, index, 0o600); err != nil {
			return err
		}
	}
	c.args, c.env = []string{"diff"}, f.privateForDiff(path)
	return f.compare(ctx, d, c)
}

// lookResult is a path together with what lookAll found there.
type lookResult struct {
	path
	found bool // the path contains something that git can read
}

// lookAll checks what each path contains. It returns the paths to compare, and the paths that are left out.
// The result `direct` is true if git can compare the files without storing them first.
func (f *Folder) lookAll(paths []path) (entries []lookResult, left []changes.Left, direct bool) {
	direct = true
	in := &parents{files: f.files}
	for _, p := range paths {
		found, why := f.canBeRead(p, in, changes.MaxFile)
		switch {
		case why != "":
			left = append(left, changes.LeaveOut(p.name, why))
			continue
		case !found && p.mode == "":
			continue // there was no file, and there is none now
		case !found && f.isOdd(p.name, in), p.mode == "" && p.entry.Submodule:
			direct = false
		}
		entries = append(entries, lookResult{p, found})
	}
	return entries, left, direct
}

// hasVanished reports whether git shows a file as deleted or renamed although the base does not contain it.
// This happens if the file disappears after lookAll.
func hasVanished(files []changes.File, entries []lookResult) bool {
	made := map[string]bool{}
	for _, e := range entries {
		made[e.name] = e.mode == ""
	}
	return slices.ContainsFunc(files, func(f changes.File) bool {
		return f.Kind == changes.Deleted && made[f.Name()] || f.Kind == changes.Renamed && made[f.OldName()]
	})
}

// changedSince returns the files that may have changed since the commit `baseCommit`, sorted by name. The second
// result contains the files that the commits after `baseCommit` changed.
func (f *Folder) changedSince(ctx context.Context, baseCommit string,
	status changes.Status) ([]path, map[string]bool, error) {
	all := pathsOf(status)
	committed := map[string]bool{}
	if baseCommit != status.Head {
		out, err := f.repo.Output(ctx, "diff-tree", "-r", "--raw", "-z", "--no-renames", f.treeOf(baseCommit),
			f.treeOf(status.Head))
		if err != nil {
			return nil, nil, err
		}
		entries, _, _, err := changes.ParseRaw(out)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range entries {
			p := all[e.Path]
			p.name, p.mode, p.id = e.Path, e.OldMode, e.OldID
			if e.OldMode == "" {
				p.id = ""
			}
			all[e.Path], committed[e.Path] = p, true
		}
	}
	return sorted(all), committed, nil
}

// pathsOf returns the files in the output of git status, by their names.
func pathsOf(status changes.Status) map[string]path {
	all := map[string]path{}
	for _, e := range status.Entries {
		if old, twice := all[e.Path]; twice { // the index deletes the file, and an untracked file has the same path
			old.entry.Untracked = old.entry.Untracked || e.Untracked
			all[e.Path] = old
			continue
		}
		all[e.Path] = path{e.Path, e.Mode, e.ID, e}
	}
	return all
}

func sorted(all map[string]path) []path {
	paths := make([]path, 0, len(all))
	for _, p := range all {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(x, y path) int { return strings.Compare(x.name, y.name) })
	return paths
}

// treeOf returns a name for the tree of a commit. If `commit` is "", it returns the name of the empty tree.
func (f *Folder) treeOf(commit string) string {
	if commit == "" {
		return emptyTree[f.format]
	}
	return commit
}

// private returns environment variables that make git use this Folder's own index and object folder.
func (f *Folder) private() []string { return f.privateWith(f.privateIndex()) }

// privateIndex returns the path of this Folder's own index.
func (f *Folder) privateIndex() string { return filepath.Join(f.own, "index") }

// privateWith is like private, with another index.
func (f *Folder) privateWith(index string) []string {
	objects := filepath.Join(f.repo.Common, "objects")
	if f.main != nil { // f.repo is a clone, and an arm can write false objects into its clone
		objects = filepath.Join(f.main.Common, "objects")
	}
	return []string{"GIT_INDEX_FILE=" + index, "GIT_OBJECT_DIRECTORY=" + filepath.Join(f.own, "objects"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + alternate(objects)}
}

// alternate quotes a path for GIT_ALTERNATE_OBJECT_DIRECTORIES.
func alternate(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// smallTrees prepares a comparison of only the given paths. It writes a tree with the base's
// version of them, and an index with the folder's version. It returns the id of the tree.
func (f *Folder) smallTrees(ctx context.Context, entries []lookResult) (string, error) {
	if err := errors.Join(f.forgetIndex(), os.MkdirAll(filepath.Join(f.own, "objects"), 0o700)); err != nil {
		return "", err
	}
	var base, present, gone strings.Builder
	for _, e := range entries {
		if e.mode != "" {
			base.WriteString(indexLine(e.mode, e.id, e.name))
		}
		if e.found {
			present.WriteString(e.name + "\x00")
		} else {
			gone.WriteString(e.name + "\x00")
		}
	}
	if err := f.update(ctx, base.String(), "--index-info"); err != nil {
		return "", err
	}
	tree, err := f.repo.Run(ctx, git.Call{Args: []string{"write-tree"}, Env: f.private()})
	if err != nil {
		return "", err
	}
	if err := f.update(ctx, gone.String(), "--force-remove", "--stdin"); err != nil {
		return "", err
	}
	// With --remove, git accepts a file that has vanished. But git fails if the file vanishes
	// between git's check and git's opening of the file. In that case, git is run again.
	for range mostTries {
		err = f.update(ctx, present.String(), "--add", "--remove", "--replace", "--stdin")
		if said := (*git.Error)(nil); !errors.As(err, &said) || !strings.Contains(said.Stderr, "No such file or directory") {
			break
		}
	}
	return strings.TrimSpace(string(tree)), err
}

// mostTries is how often git is run again because a file vanished. The moment between git's check
// and git's opening is very short, so more failures must have another cause.
const mostTries = 10

// forgetIndex removes the index that an earlier diff of this Folder has left behind.
func (f *Folder) forgetIndex() error { return os.RemoveAll(f.privateIndex()) }

// update passes `list` to git update-index, which changes the index of this Folder.
func (f *Folder) update(ctx context.Context, list string, how ...string) error {
	if list == "" {
		return nil
	}
	_, err := f.repo.Run(ctx, git.Call{Args: append([]string{"update-index", "-z"}, how...), Env: f.private(),
		Stdin: strings.NewReader(list)})
	return err
}

func indexLine(mode, id, path string) string { return mode + " " + id + "\t" + path + "\x00" }
