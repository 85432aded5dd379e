package merge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace"
)

// checkFree returns an error if a work folder has the branch checked out. After the merge, that
// folder's files and index would belong to an older commit. If the caller wants to update that
// folder, checkFree instead checks that no arm owns it and that it has no uncommitted work.
func (j *job) checkFree(ctx context.Context) error {
	path, err := workspace.CheckedOut(j.repo, heads+j.into, "")
	if err != nil || path == "" {
		return err
	}
	if !j.request.UpdateCheckout {
		return coleo.Errorf(coleo.EConflict, "the branch %s is checked out in %s, whose files would no longer fit it: "+
			"nothing was merged; --update-checkout updates the files there too, and "+
			"--into NEW puts the result on a new branch", j.into, path)
	}
	all, err := j.trees.List()
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.Path == path {
			return coleo.Errorf(coleo.EConflict, "the branch %s is checked out in the worktree of arm %s: nothing was merged; "+
				"--into NEW puts the result on a new branch", j.into, w.Name)
		}
	}
	u, err := j.trees.Changed(ctx, path)
	if err != nil {
		return err
	}
	if len(u.Uncommitted) > 0 {
		if err := j.checkNotSparse(ctx, path); err != nil {
			return err
		}
	}
	if len(u.InProgress) > 0 || len(u.Uncommitted) > 0 {
		return coleo.Errorf(coleo.EConflict, "%s, where the branch %s is checked out, has %s: nothing was merged; "+
			"commit or stash that first", path, j.into, workspace.Unsaved{InProgress: u.InProgress, Uncommitted: u.Uncommitted})
	}
	j.ignored = u.Ignored
	return nil
}

// checkNotSparse returns EConflict if a person's work folder leaves out files on purpose. Such files are missing, but
// they are no uncommitted work.
func (j *job) checkNotSparse(ctx context.Context, path string) error {
	r, err := j.trees.OpenFolder(ctx, path)
	if err != nil {
		return err
	}
	defer r.Close()
	out, err := r.Output(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if tag, name, _ := strings.Cut(entry, " "); tag == "S" {
			return coleo.Errorf(coleo.EConflict, "%s, where the branch %s is checked out, leaves out files such as %s "+
				"(git's sparse checkout): nothing was merged; 'git sparse-checkout disable' brings them back, and "+
				"--into NEW puts the result on a new branch", path, j.into, changes.Show(name))
		}
	}
	return nil
}

// updateFolder writes the merged files into the work folder that has the branch checked out. It does not overwrite
// files that somebody has changed in the meantime, or that git does not track.
//
// The caller must call `done`, with true after it has moved the branch, or with false if it could not move the
// branch. With false, `done` puts the old files back.
//
// The files change before the branch moves, and a record on the disk says so. After a kill in between, the next merge
// or prune puts the old files back.
func (j *job) updateFolder(ctx context.Context, m changes.Merged) (done func(moved bool) error, err error) {
	if m.Updated == "" {
		return func(bool) error { return nil }, nil
	}
	p := unfinishedMerge{Common: j.repo.Common, Folder: m.Updated, Into: m.Into, Before: m.Before, After: m.After}
	r, err := j.trees.OpenFolder(ctx, m.Updated)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := p.checkOwn(ctx, r, j.ignored); err != nil {
		return nil, err
	}
	path := pendingPath(j.trees, j.repo.Common)
	p.Log = len(p.readLog())
	if err := p.write(path); err != nil {
		return nil, fmt.Errorf("remember that the files in %s change: %w; nothing was merged", m.Updated, err)
	}
	done = func(moved bool) error {
		if moved {
			return os.Remove(path)
		}
		_, err := recoverLocked(ctx, j.trees, j.repo.Common)
		return err
	}
	// Git first compares files by their times. The refresh corrects the times in the index. Its exit
	// code does not matter, because it only reports that files differ.
	_, _ = r.Output(ctx, "update-index", "-q", "--refresh")
	_, err = r.Output(ctx, "read-tree", "-m", "-u", m.Before, m.After)
	if err == nil {
		return done, nil
	}
	index := filepath.Join(r.Git, "index")
	err = coleo.Errorf(coleo.EConflict, "the files in %s could not be updated: nothing was merged: %w", m.Updated,
		leftLock(err, index))
	if _, locked := os.Lstat(index + ".lock"); locked == nil {
		// While the index is locked, the files cannot be put back. A later merge or prune does that with
		// the help of the record.
		return nil, err
	}
	return nil, errors.Join(err, done(false))
}

// commitOnly commits the arm's uncommitted work on the arm's branch without merging anything.
func (j *job) commitOnly(ctx context.Context) (changes.Merged, error) {
	m := changes.Merged{MergeFrom: changes.MergeFrom{Way: j.request.Way, Branch: j.branch, Into: j.into}}
	work, err := j.work(ctx)
	if err != nil {
		return m, nothingMerged(err)
	}
	m.Before, m.After, m.Commit, m.Committed = work.head, work.commit, work.commit, work.made
	if m.Nothing = work.made == ""; m.Nothing {
		return m, nil
	}
	if j.options.Before != nil {
		if err := j.options.Before(ctx, m); err != nil {
			return m, err
		}
	}
	ctx = context.WithoutCancel(ctx)
	if err := j.writeIndex(ctx, work); err != nil {
		return m, err
	}
	return m, j.moveBranches(ctx, m, work)
}
