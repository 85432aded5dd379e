package merge

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace"
	"coleo.dev/workspace/git"
)

// work describes what the arm has committed and what it has not.
type work struct {
	head   string // the newest commit of the arm's branch
	commit string // the commit to merge: head, or a new commit on top of it
	made   string // the new commit; "" if there is none
	tree   string // the tree of the new commit, with all its files
	index  string // the hash of the arm's index when the commit was made
}

// work determines what the arm has done. If there is uncommitted work and the request has a message for it,
// work commits it. No ref points to this commit yet.
func (j *job) work(ctx context.Context) (work, error) {
	head, err := commitOf(ctx, j.repo, heads+j.branch)
	if j.arm.Clone && j.request.DryRun { // a dry run fetches nothing from the clone, so look into the clone itself
		head, err = commitOf(ctx, j.tree, "HEAD")
	}
	if err != nil {
		return work{}, coleo.Errorf(coleo.EConflict, "the branch %s of arm %s has no commit: nothing was merged", j.branch,
			j.arm.Name)
	}
	out := work{head: head, commit: head, index: indexOf(j.tree.Git)}
	if _, err := os.Lstat(j.arm.Path); err == nil && (git.Worktree{Path: j.arm.Path, Git: j.arm.Git}).Gone() {
		return out, coleo.Errorf(coleo.EConflict, "%s is no longer the worktree of arm %s, because its .git was changed: "+
			"nothing was merged", j.arm.Path, j.arm.Name)
	}
	u, err := j.trees.Uncommitted(ctx, j.arm)
	if err != nil {
		return out, err
	}
	if len(u.InProgress) > 0 {
		return out, coleo.Errorf(coleo.EConflict, "a %s is in progress in the worktree of arm %s: nothing was merged; "+
			"let the arm end it first", strings.Join(u.InProgress, " and a "), j.arm.Name)
	}
	u = workspace.Unsaved{Uncommitted: u.Uncommitted, Untracked: slices.DeleteFunc(u.Untracked, j.isOwnFile)}
	if u.Empty() {
		return out, nil
	}
	if j.request.Commit == "" {
		return out, coleo.Errorf(coleo.EConflict, "the worktree of arm %s has %s: nothing was merged; "+
			"--commit MESSAGE commits all of it first", j.arm.Name, u)
	}
	return out, j.commitAll(ctx, &out, append(u.Uncommitted, u.Untracked...))
}

// isOwnFile reports whether the agent CLI has written a file for its own use. `name` is a path below the
// worktree, with slashes.
func (j *job) isOwnFile(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		for _, pattern := range j.options.OwnFiles {
			if is, err := path.Match(pattern, part); err == nil && is {
				return true
			}
		}
	}
	return false
}

// commitAll commits the named files as they are now. It uses a separate index, because the arm's index may
// mark a changed file as unchanged.
func (j *job) commitAll(ctx context.Context, w *work, names []string) error {
	conflicts, err := j.checkIndex(ctx)
	if err != nil {
		return err
	}
	env := append([]string{"GIT_INDEX_FILE=" + filepath.Join(j.own, "index")}, j.env...)
	if _, err := j.tree.Run(ctx, git.Call{Args: []string{"read-tree", w.head}, Env: env}); err != nil {
		return err
	}
	if err := j.stage(ctx, env, names, conflicts); err != nil {
		return err
	}
	tree, err := j.tree.Run(ctx, git.Call{Args: []string{"write-tree"}, Env: env})
	if err != nil {
		return err
	}
	w.tree = strings.TrimSpace(string(tree))
	if same, err := j.sameTree(ctx, w.tree, w.head); err != nil || same {
		return err // if `same`, only the arm's index differs, and there is nothing to commit
	}
	// The arm's work was committed in the clone and then fetched. So these changes are newer than that commit.
	if j.arm.Clone && !j.within && !j.request.DryRun {
		return coleo.Errorf(coleo.EBusy, "the files of arm %s have changed since its work was committed: nothing was "+
			"merged; try again when the arm is idle", j.arm.Name)
	}
	w.made, err = j.commitTree(ctx, w.tree, j.request.Commit, nil, w.head)
	w.commit = w.made
	return err
}

// stage adds the present versions of the named files to an index. `env` contains the variable that selects the index.
// stage refuses a changed file that is in conflict, such as after `git stash pop`. Such a file may contain git's marks
// of the conflict, and git commit refuses such a file too.
func (j *job) stage(ctx context.Context, env, names []string, conflicts map[string]bool) error {
	differing, err := j.changedFrom(ctx, env, names)
	if err != nil {
		return err
	}
	var gone, present []changes.Entry
	for _, e := range differing {
		if conflicts[e.Path] {
			return coleo.Errorf(coleo.EConflict, "the worktree of arm %s has a conflict in %s: nothing was merged; let the "+
				"arm resolve it and run 'git add' on the file", j.arm.Name, changes.Show(e.Path))
		}
		if e.Gone {
			gone = append(gone, e)
		} else {
			present = append(present, e)
		}
	}
	// A symbolic link can be in place of a deleted file's folder, and git examines no file beyond a link. So the deleted
	// files are removed from the index first, with an option that does not examine them.
	if err := j.update(ctx, j.tree, env, "--force-remove", gone); err != nil {
		return err
	}
	if j.within {
		var files []changes.Entry
		files, present = filesAndSubmodules(present)
		copies, err := j.cloneWithCopies(ctx, files)
		if err != nil {
			return fmt.Errorf("read the work of arm %s: %w; nothing was merged", j.arm.Name, err)
		}
		defer copies.Close()
		if err := j.update(ctx, copies, env, "--remove", files); err != nil {
			return err
		}
	}
	if err := j.update(ctx, j.tree, env, "--remove", present); err != nil {
		return err
	}
	return j.checkStaged(ctx, env, names)
}

// update adds the entries, as they are in the work folder of r, to an index. `env` contains the variable that selects
// the index.
func (j *job) update(ctx context.Context, r *git.Repo, env []string, how string, entries []changes.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	_, err := r.Run(ctx, git.Call{Args: []string{"update-index", "-z", "--add", how, "--replace", "--stdin"}, Env: env,
		Stdin: strings.NewReader(list(entries))})
	if err != nil {
		return coleo.Errorf(coleo.EConflict, "the work of arm %s could not be committed: nothing was merged: %w",
			j.arm.Name, err)
	}
	return nil
}

// checkStaged returns EConflict if the index lacks one of the named files. This happens because git skips names
// such as .GIT and only prints a warning.
func (j *job) checkStaged(ctx context.Context, env, names []string) error {
	left, err := j.changedFrom(ctx, env, names)
	if err != nil {
		return err
	}
	for _, e := range left {
		if e.Untracked {
			return coleo.Errorf(coleo.EConflict, "git takes no file with the name %s: nothing was merged; rename it, or let "+
				"git ignore it, and try again", changes.Show(e.Path))
		}
	}
	return nil
}

// changedFrom returns the named files that differ from an index. `env` contains the variable that selects the index.
// All other files are omitted, because Coleo has put them into the worktree.
func (j *job) changedFrom(ctx context.Context, env, names []string) ([]changes.Entry, error) {
	out, err := j.tree.Run(ctx, git.Call{Env: env,
		Args: []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames"}})
	if err != nil {
		return nil, err
	}
	status, err := changes.ParseStatus(out)
	if err != nil {
		return nil, err
	}
	if len(status.Nested) > 0 {
		return nil, coleo.Errorf(coleo.EConflict, "the worktree of arm %s has a repository of its own in %s, which cannot "+
			"be committed: nothing was merged; move it elsewhere, or let git ignore it", j.arm.Name,
			changes.Show(status.Nested[0]))
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	return slices.DeleteFunc(status.Entries, func(e changes.Entry) bool { return !wanted[e.Path] }), nil
}

// checkIndex refuses a worktree whose index marks files as left out of the worktree, because a commit of all files
// would delete them. It returns the files in conflict.
func (j *job) checkIndex(ctx context.Context) (conflicts map[string]bool, err error) {
	out, err := j.tree.Output(ctx, "ls-files", "-v", "-z")
	if err != nil {
		return nil, err
	}
	conflicts = map[string]bool{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		switch tag, name, _ := strings.Cut(entry, " "); strings.ToUpper(tag) {
		case "S":
			return nil, coleo.Errorf(coleo.EUnsupported, "the worktree of arm %s leaves "+
				"out files such as %s (git's sparse checkout): "+
				"nothing was merged; let the arm commit its work itself", j.arm.Name, changes.Show(name))
		case "M":
			conflicts[name] = true
		}
	}
	return conflicts, nil
}
