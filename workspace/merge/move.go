package merge

import (
	"context"
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/workspace/git"
)

// move moves the branches of a merge. It returns errMoved if somebody else has moved one of them
// meanwhile.
//
// First, move writes the arm's index. A kill after this step leaves all of the arm's work staged,
// as after `git add -A`. Then one transaction moves both branches.
func (j *job) move(ctx context.Context, m changes.Merged, w work) error {
	if j.hooks.Before != nil {
		if err := j.hooks.Before(ctx, m); err != nil {
			return err
		}
	}
	if m.Before != "" {
		if err := j.checkFree(); err != nil { // somebody may have checked it out meanwhile
			return err
		}
	}
	ctx = context.WithoutCancel(ctx) // what follows takes no time worth mentioning
	if w.made != "" {
		if _, err := j.tree.Output(ctx, "read-tree", w.tree); err != nil {
			return coleo.Errorf(coleo.EBusy, "the index of arm %s could not be written: nothing was merged: %w", j.arm.Name, err)
		}
	}
	var b strings.Builder
	if w.made != "" {
		fmt.Fprintf(&b, "update %s%s %s %s\n", heads, m.Branch, w.made, w.head)
	} else {
		fmt.Fprintf(&b, "verify %s%s %s\n", heads, m.Branch, w.head)
	}
	before := m.Before
	if before == "" {
		before = strings.Repeat("0", len(m.After)) // the ref must not exist
	}
	fmt.Fprintf(&b, "update %s%s %s %s\n", heads, m.Into, m.After, before)
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
	return coleo.Errorf(coleo.EBusy, "the branch %s could not be moved: nothing was merged: %w", m.Into, err)
}

// reason returns the entry for the branch's reflog.
func reason(m changes.Merged, arm string) string {
	return fmt.Sprintf("coleo: %s %s of arm %s", m.Way, m.Branch, arm)
}
