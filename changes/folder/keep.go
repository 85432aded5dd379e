package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// These constants bound a checkpoint, so that checkpoints do not fill the disk. A folder that exceeds
// MaxKept or MaxKeptBytes gets no checkpoint. A checkpoint leaves out and names each file that exceeds
// MaxKeptFile.
const (
	MaxKept      = 20_000    // files that differ from HEAD
	MaxKeptFile  = 50 << 20  // bytes of one file
	MaxKeptBytes = 500 << 20 // size of all files that differ from HEAD, in bytes
	// MaxCheckpoints is how many checkpoints of an arm are kept, in addition to the first one.
	MaxCheckpoints = 200
)

// Note is the reason for which a checkpoint is made.
type Note struct {
	Reason string // one of the reasons in package changes
	Run    string // the id of the run whose turn has ended; empty for any other reason
	From   *int   // the number of the checkpoint that a restore has restored; nil for any other reason
	Time   time.Time
}

// Keep makes a checkpoint for the arm with the given id. The checkpoint contains all files of the
// repository that git does not ignore. If nothing has changed since the arm's newest checkpoint,
// Keep returns that checkpoint and false. Keep returns EInvalid if the files exceed the bounds of a
// checkpoint.
func (f *Folder) Keep(ctx context.Context, arm string, n Note) (changes.Checkpoint, bool, error) {
	return f.keepWith(ctx, arm, n, nil)
}

// keepWith is like Keep, but also keeps the files in `extra`, even if git ignores them.
func (f *Folder) keepWith(ctx context.Context, arm string, n Note, extra []string) (changes.Checkpoint, bool, error) {
	list, err := f.Checkpoints(ctx, arm)
	if err != nil {
		return changes.Checkpoint{}, false, err
	}
	status, err := f.status(ctx)
	if err != nil {
		return changes.Checkpoint{}, false, err
	}
	c := changes.Checkpoint{Parent: status.Head, Time: n.Time.UTC().Truncate(time.Second), Reason: n.Reason, Run: n.Run,
		From: n.From}
	if c.Tree, c.Left, err = f.writeTree(ctx, status, extra); err != nil {
		return c, false, err
	}
	if len(list) > 0 {
		newest := list[len(list)-1]
		if c.N = newest.N + 1; newest.Tree == c.Tree && slices.EqualFunc(newest.Left, c.Left, sameLeft) {
			return newest, false, nil
		}
	}
	if err := f.writeCheckpoint(ctx, arm, &c); err != nil {
		return c, false, err
	}
	return c, true, f.prune(ctx, arm, list)
}

func sameLeft(x, y changes.Left) bool { return x.Name() == y.Name() }

// writeTree writes a tree with the exact bytes of the present files. It returns the tree's id and the
// files that the tree leaves out.
func (f *Folder) writeTree(ctx context.Context, status changes.Status, also []string) (string, []changes.Left, error) {
	paths, _, err := f.changedSince(ctx, status.Head, status)
	if err != nil {
		return "", nil, err
	}
	known := map[string]bool{}
	for _, p := range paths {
		known[p.name] = true
	}
	for _, name := range also {
		if !known[name] {
			paths = append(paths, path{name: name})
		}
	}
	if len(paths) > MaxKept {
		return "", nil, coleo.Errorf(coleo.EInvalid,
			"more than %d files of %s differ from the last commit: no checkpoint was made", MaxKept, f.Root())
	}
	k := checkpointFiles{f: f, in: &parents{files: f.files}}
	if err := k.all(ctx, paths); err != nil {
		return "", nil, err
	}
	env := f.private()[:1] // only the index is private, because the objects must go into the repository
	warned := false
	run := func(stdin string, args ...string) (string, error) {
		out, err := f.repo.Run(ctx, git.Call{Args: args, Env: env, Stdin: strings.NewReader(stdin),
			Warn: func(string) { warned = true }})
		return strings.TrimSpace(string(out)), err
	}
	if err := f.forgetIndex(); err != nil {
		return "", nil, err
	}
	if _, err := run("", "read-tree", f.treeOf(status.Head)); err != nil {
		return "", nil, err
	}
	if _, err := run(k.gone.String()+k.present.String(), "update-index", "-z", "--index-info"); err != nil {
		return "", nil, err
	}
	if warned { // git only warns about a name that it does not take, such as .GIT
		out, err := f.repo.Run(ctx, git.Call{Args: []string{"ls-files", "-z"}, Env: env, Most: mostIndex})
		if err != nil {
			return "", nil, err
		}
		k.leaveMissing(string(out))
	}
	if k.submodules.Len() > 0 {
		if _, err := run(k.submodules.String(), "update-index", "-z", "--add", "--remove", "--replace",
			"--stdin"); err != nil {
			return "", nil, err
		}
	}
	k.left = append(k.left, status.Unread...)
	for _, n := range status.Nested {
		k.left = append(k.left, changes.LeaveOut(n, "it is a separate repository"))
	}
	tree, err := run("", "write-tree")
	return tree, k.left, err
}

// checkpointFiles stores the files of one checkpoint, and collects the input for git update-index.
type checkpointFiles struct {
	f     *Folder
	in    *parents
	store store
	bytes int64
	left  []changes.Left

	present, gone, submodules strings.Builder
}

func (k *checkpointFiles) all(ctx context.Context, paths []path) error {
	objects, err := os.OpenRoot(filepath.Join(k.f.repo.Common, "objects"))
	if err != nil {
		return err
	}
	defer objects.Close()
	k.store = store{objects, k.f.format}
	if err := k.checkSizes(paths); err != nil {
		return err
	}
	for _, p := range paths {
		if err := errors.Join(ctx.Err(), k.keepPath(p)); err != nil {
			return fmt.Errorf("keep %s: %w", changes.Show(p.name), err)
		}
	}
	return nil
}

// checkSizes returns EInvalid if the files are too large for a checkpoint. It runs before any file is
// stored, so that a refused checkpoint leaves no objects behind.
func (k *checkpointFiles) checkSizes(paths []path) error {
	size := int64(0)
	for _, p := range paths {
		if found, why := k.f.canBeRead(p, k.in, MaxKeptFile); why != "" || !found {
			continue
		}
		if info, err := k.in.lstat(p.name); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
	}
	return checkKept(size, k.f)
}

func checkKept(size int64, f *Folder) error {
	if size <= MaxKeptBytes {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "the files of %s that differ from the last commit have more than %d MB: no "+
		"checkpoint was made", f.Root(), MaxKeptBytes>>20)
}

func (k *checkpointFiles) keepPath(p path) error {
	found, why := k.f.canBeRead(p, k.in, MaxKeptFile)
	var info fs.FileInfo
	if why == "" && found {
		var err error
		if info, err = k.in.lstat(p.name); err != nil {
			return err
		}
	}
	switch {
	case why != "":
		k.left = append(k.left, changes.LeaveOut(p.name, why))
		return nil
	case info == nil:
		k.gone.WriteString(indexLine("0", k.f.noID(), p.name))
		return nil
	case info.IsDir():
		k.submodules.WriteString(p.name + "\x00")
		return nil
	}
	return k.file(p.name, info)
}

// leaveMissing adds those stored files to k.left that a list of the index's files lacks.
func (k *checkpointFiles) leaveMissing(list string) {
	there := map[string]bool{"": true}
	for name := range strings.SplitSeq(list, "\x00") {
		there[name] = true
	}
	for line := range strings.SplitSeq(k.present.String(), "\x00") {
		if _, name, _ := strings.Cut(line, "\t"); !there[name] {
			k.left = append(k.left, changes.LeaveOut(name, "git takes no file with this name"))
		}
	}
}

// file stores one file or symbolic link.
func (k *checkpointFiles) file(name string, info fs.FileInfo) error {
	mode, text := "100644", []byte(nil)
	var err error
	if info.Mode()&fs.ModeSymlink != 0 {
		var target string
		target, err = k.f.files.Readlink(name)
		mode, text = "120000", []byte(target)
	} else {
		if info.Mode()&0o100 != 0 {
			mode = "100755"
		}
		text, err = readFile(k.f.files, name, info)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.gone.WriteString(indexLine("0", k.f.noID(), name))
		return nil
	case err != nil:
		k.left = append(k.left, changes.LeaveOut(name, err.Error()))
		return nil
	}
	k.bytes += int64(len(text)) // the size is checked again, because the file may have grown since checkSizes
	if err := checkKept(k.bytes, k.f); err != nil {
		return err
	}
	id, err := k.store.storeText(text)
	if err == nil {
		k.present.WriteString(indexLine(mode, id, name))
	}
	return err
}
