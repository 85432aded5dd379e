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
	"coleo.dev/workspace/git"
)

// move moves the branches of a merge. First it writes the arm's index. After a kill at this point, all of
// the arm's work is staged, as after `git add -A`. Then it moves both branches in one transaction. move
// returns errMoved if somebody else has moved one of them in the meantime.
func (j *job) move(ctx context.Context, m changes.Merged, w work) error {
	if j.options.Before != nil {
		if err := j.options.Before(ctx, m); err != nil {
			return err
		}
	}
	if m.Before != "" {
		if err := j.checkFree(ctx); err != nil { // somebody may have checked the branch out in the meantime
			return err
		}
	}
	if path, err := workspace.CheckedOut(j.repo, heads+m.Into, ""); err != nil || path != m.Updated {
		return errors.Join(err, errMoved)
	}
	ctx = context.WithoutCancel(ctx) // the following steps are fast, and must not be cut off
	if err := j.writeIndex(ctx, w); err != nil {
		return err
	}
	done, err := j.updateFolder(ctx, m)
	if err != nil {
		return err
	}
	err = j.moveBranches(ctx, m, w)
	return errors.Join(err, done(err == nil))
}

// writeIndex writes the new commit into the arm's index. It returns errMoved if the index has changed since
// the commit was made, because the arm may have staged something.
func (j *job) writeIndex(ctx context.Context, w work) error {
	if w.made == "" {
		return nil
	}
	if indexOf(j.tree.Git) != w.index {
		return errMoved
	}
	if j.arm.Clone {
		return j.writeIndexOfClone(ctx, w)
	}
	if _, err := j.tree.Output(ctx, "read-tree", w.tree); err != nil {
		return coleo.Errorf(coleo.EBusy, "the index of arm %s could not be written: nothing was merged: %w", j.arm.Name,
			leftLock(err, filepath.Join(j.tree.Git, "index")))
	}
	return nil
}

// mostIndex is how many bytes of an index are hashed. The index of two million files is smaller.
const mostIndex = 256 << 20

// indexOf returns the hash of the index in a git folder to which the arm can write.
func indexOf(gitDir string) string {
	sum, err := git.HashRegular(filepath.Join(gitDir, "index"), mostIndex)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sum)
}

// leftLock adds the path of the remaining lock file to git's error. The path in git's own error is in a
// temporary folder, which the user never sees.
func leftLock(err error, paths ...string) error {
	for _, path := range paths {
		if _, missing := os.Lstat(path + ".lock"); missing == nil {
			return coleo.Errorf(coleo.EBusy, "%s.lock exists: another git is working in the repository, or was killed; "+
				"if no git runs there, delete that file and try again", path)
		}
	}
	return err
}

func (j *job) moveBranches(ctx context.Context, m changes.Merged, w work) error {
	if j.tree.Common == j.repo.Common && j.arm.Clone {
		return j.moveInClone(ctx, w)
	}
	var b strings.Builder
	if w.made != "" {
		fmt.Fprintf(&b, "update %s%s %s %s\n", heads, m.Branch, w.made, w.head)
	} else {
		fmt.Fprintf(&b, "verify %s%s %s\n", heads, m.Branch, w.head)
	}
	before := m.Before
	if before == "" {
		before = strings.Repeat("0", len(m.After)) // zeros mean that the ref must not exist
	}
	if m.Into != m.Branch {
		fmt.Fprintf(&b, "update %s%s %s %s\n", heads, m.Into, m.After, before)
	}
	_, err := j.repo.Run(ctx, git.Call{Stdin: strings.NewReader(b.String()),
		Args: []string{"update-ref", "--no-deref", "--create-reflog", "-m", reason(m, j.arm.Name), "--stdin"}})
	if err == nil {
		return nil
	}
	now, _ := commitOf(ctx, j.repo, heads+m.Into)
	own, _ := commitOf(ctx, j.repo, heads+m.Branch)
	if now != m.Before || own != w.head {
		return errMoved
	}
	return coleo.Errorf(coleo.EBusy, "the branch %s could not be moved: nothing was merged: %w", m.Into,
		leftLock(err, filepath.Join(j.repo.Common, heads+m.Into), filepath.Join(j.repo.Common, heads+m.Branch),
			filepath.Join(j.repo.Common, "packed-refs")))
}

// reason returns the entry for the branch's reflog.
func reason(m changes.Merged, arm string) string {
	return fmt.Sprintf("coleo: %s %s of arm %s", m.Way, m.Branch, arm)
}
