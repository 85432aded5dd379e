package merge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// doInClone carries out a request for an arm with a clone. If the request has a message for uncommitted work,
// doInClone first commits that work in the clone. Then it fetches the clone's commits into the arm's branch, and
// merges that branch. So if the merge has conflicts, the commit is still on the arm's branch. A dry run reads
// the objects in the clone and fetches nothing.
func doInClone(ctx context.Context, j job) (changes.Merged, error) {
	var made changes.Merged
	if j.request.Commit != "" && !j.request.DryRun {
		var err error
		own := job{trees: j.trees, arm: j.arm, within: true,
			request: changes.MergeRequest{Way: changes.WayCommit, Commit: j.request.Commit}}
		own.options.OwnFiles = j.options.OwnFiles
		if j.request.Way == changes.WayCommit {
			own.options = j.options
		}
		if made, err = own.carryOut(ctx); err != nil {
			return made, err
		}
	}
	if j.request.DryRun {
		return j.carryOut(ctx)
	}
	if _, err := j.trees.FetchWork(ctx, j.arm); err != nil {
		if made.Committed != "" {
			return made, fmt.Errorf("nothing was merged, and the clone has the work as the commit %.12s: %w",
				made.Committed, err)
		}
		return made, fmt.Errorf("nothing was merged: %w", err)
	}
	if j.request.Way == changes.WayCommit {
		return made, nil
	}
	m, err := j.carryOut(ctx)
	if m.Committed == "" {
		m.Committed = made.Committed
	}
	return m, err
}

// writeIndexOfClone writes the new commit into a clone's index. It does not use git, because git would follow a
// symbolic link in place of the index. The arm can make such a link at any moment.
func (j *job) writeIndexOfClone(ctx context.Context, w work) error {
	made := filepath.Join(j.own, "clone-index")
	_, err := j.tree.Run(ctx, git.Call{Args: []string{"read-tree", w.tree}, Env: []string{"GIT_INDEX_FILE=" + made}})
	if err != nil {
		return err
	}
	data, err := os.ReadFile(made)
	if err != nil {
		return err
	}
	return j.tree.ReplaceOwn("index", data, func() error {
		if indexOf(j.tree.Git) != w.index {
			return errMoved
		}
		return nil
	})
}

// moveInClone moves the branch of a clone to the new commit. It does not use git: the arm may have replaced a ref
// or a reflog by a symbolic link, which git would follow. It writes no reflog. moveInClone returns errMoved if the
// branch has moved in the meantime.
func (j *job) moveInClone(ctx context.Context, w work) error {
	ref := heads + j.branch
	return j.tree.ReplaceOwn(ref, []byte(w.made+"\n"), func() error {
		if now, err := commitOf(ctx, j.repo, ref); err != nil || now != w.head {
			return errMoved
		}
		return nil
	})
}
