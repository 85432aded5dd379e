package folder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// path is a file that may have changed. The fields mode and id describe the file in the base. If
// the base does not contain the file, both fields are "".
type path struct {
	name     string
	mode, id string
	entry    changes.Entry
}

// Diff returns what changed in the folder since the commit base. If base is "", Diff compares the
// folder with a tree without files. Diff returns EInvalid if a path is outside of the repository.
//
// Diff first asks git which files changed. Then it makes a small tree and a small index with only
// these files, and compares those.
func (f *Folder) Diff(ctx context.Context, base string, w changes.Wish, now time.Time) (changes.Diff, error) {
	d := changes.Diff{Root: f.Root(), Alias: f.alias(), Base: base, Time: now, Files: []changes.File{}}
	only, err := f.within(w.Paths)
	if err != nil {
		return d, err
	}
	status, err := f.status(ctx)
	if err != nil {
		return d, err
	}
	if d.Head = status.Head; base == "" || d.Head == "" {
		if err := f.readFormat(ctx); err != nil {
			return d, err
		}
	}
	paths, committed, err := f.since(ctx, base, status)
	if err != nil {
		return d, err
	}
	paths = slices.DeleteFunc(paths, func(p path) bool { return !covers(only, p.name) })
	more := len(paths) > changes.MaxFiles
	paths = paths[:min(len(paths), changes.MaxFiles)]
	for _, n := range status.Nested {
		if covers(only, strings.TrimSuffix(n, "/")) {
			d.Left = append(d.Left, changes.LeaveOut(n, "it is a repository of its own"))
		}
	}
	before, err := f.smallTrees(ctx, &d, paths)
	if err != nil {
		return d, err
	}
	c := comparison{from: before, env: f.private(), wish: w, committed: committed, more: more,
		where: map[string]changes.Entry{}}
	for _, p := range paths {
		c.where[p.name] = p.entry
	}
	return d, f.compare(ctx, &d, c)
}

// since returns the files that may have changed since base, sorted. It also returns which
// files the commits after base changed.
func (f *Folder) since(ctx context.Context, base string, status changes.Status) ([]path, map[string]bool, error) {
	all := map[string]path{}
	for _, e := range status.Entries {
		if old, twice := all[e.Path]; twice { // the index deletes the file, and an untracked file has its place
			old.entry.Untracked = old.entry.Untracked || e.Untracked
			all[e.Path] = old
			continue
		}
		all[e.Path] = path{e.Path, e.Mode, e.ID, e}
	}
	committed := map[string]bool{}
	if base != status.Head {
		out, err := f.repo.Output(ctx, "diff-tree", "-r", "--raw", "-z", "--no-renames", f.treeOf(base),
			f.treeOf(status.Head))
		if err != nil {
			return nil, nil, err
		}
		entries, _, err := changes.ParseRaw(out)
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
	paths := make([]path, 0, len(all))
	for _, p := range all {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(x, y path) int { return strings.Compare(x.name, y.name) })
	return paths, committed, nil
}

// treeOf returns a name for the tree of a commit. For the commit "", it names the tree
// without files.
func (f *Folder) treeOf(commit string) string {
	if commit == "" {
		return emptyTree[f.format]
	}
	return commit
}

// private returns an environment in which git uses an index and a folder of objects that
// belong to this Folder alone.
func (f *Folder) private() []string {
	objects := filepath.Join(f.repo.Common, "objects")
	return []string{"GIT_INDEX_FILE=" + filepath.Join(f.own, "index"), "GIT_OBJECT_DIRECTORY=" +
		filepath.Join(f.own, "objects"), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + alternate(objects)}
}

// alternate quotes a path in the way in which git reads paths in a list of folders.
func alternate(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// smallTrees writes a tree and an index that contain only the given paths. The tree contains the
// files as they are in the base. The index contains the files as they are in the folder. smallTrees
// returns the id of the tree. It adds files that it cannot read to d.Left.
func (f *Folder) smallTrees(ctx context.Context, d *changes.Diff, paths []path) (string, error) {
	if err := errors.Join(f.forgetIndex(), os.MkdirAll(filepath.Join(f.own, "objects"), 0o700)); err != nil {
		return "", err
	}
	var base, present, gone strings.Builder
	in := &parents{files: f.files}
	for _, p := range paths {
		if p.mode != "" {
			base.WriteString(indexLine(p.mode, p.id, p.name))
		}
		switch found, why := f.look(p, in, changes.MaxFile); {
		case why != "":
			d.Left = append(d.Left, changes.LeaveOut(p.name, why))
		case found:
			present.WriteString(p.name + "\x00")
		default:
			gone.WriteString(p.name + "\x00")
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
	// With --remove, git accepts a file that vanishes before git reads it.
	err = f.update(ctx, present.String(), "--add", "--remove", "--replace", "--stdin")
	return strings.TrimSpace(string(tree)), err
}

// forgetIndex removes the index that an earlier diff of this Folder has left.
func (f *Folder) forgetIndex() error { return os.RemoveAll(filepath.Join(f.own, "index")) }

// update passes a list of entries to git update-index, for the index of this Folder.
func (f *Folder) update(ctx context.Context, list string, how ...string) error {
	if list == "" {
		return nil
	}
	_, err := f.repo.Run(ctx, git.Call{Args: append([]string{"update-index", "-z"}, how...), Env: f.private(),
		Stdin: strings.NewReader(list)})
	return err
}

func indexLine(mode, id, path string) string { return mode + " " + id + "\t" + path + "\x00" }

// comparison says what Folder.compare compares. Folder.compare compares the tree in the field from
// with the tree in the field to. If the field to is "", it compares the first tree with the index
// of this Folder.
type comparison struct {
	from, to  string
	env       []string
	wish      changes.Wish
	where     map[string]changes.Entry
	committed map[string]bool
	more      bool // more files changed than are compared
}

// compare adds the files and the patch to d. It asks git for both at the same time.
func (f *Folder) compare(ctx context.Context, d *changes.Diff, c comparison) error {
	args, trees := []string{"diff-index", "--cached"}, []string{c.from}
	if c.to != "" {
		args, trees = []string{"diff-tree", "-r"}, []string{c.from, c.to}
	}
	args = append(args, "--find-renames")
	ask := func(most int64, options ...string) ([]byte, error) {
		return f.repo.Run(ctx, git.Call{Args: slices.Concat(args, options, trees), Env: c.env, Most: most})
	}
	var patch []byte
	patched := make(chan error, 1)
	go func() {
		var err error
		if !c.wish.Stat {
			options := []string{"--patch", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"}
			if c.wish.Binary {
				options = append(options, "--binary")
			}
			patch, err = ask(changes.MaxPatch, options...)
		}
		patched <- err
	}()
	out, err := ask(0, "--raw", "--numstat", "--no-abbrev", "-z")
	patchErr := <-patched
	cut := errors.Is(patchErr, git.ErrTooLarge)
	if cut {
		patch, patchErr = changes.CutPatch(patch), nil
	}
	if err := errors.Join(err, patchErr); err != nil {
		return err
	}
	entries, lines, err := changes.ParseRaw(out)
	if err != nil {
		return err
	}
	d.Patch, d.Files = patch, changes.Assemble(entries, lines, patch, c.where, c.committed)
	without := 0
	for _, file := range d.Files {
		if file.Length == 0 {
			without++
		}
	}
	d.Cut = changes.CutNote(changes.MaxFiles, c.more, cut, without)
	return nil
}
