// Package worktree gives an arm a git worktree, removes it, and tells the log about both. Package
// workspace makes and removes the worktree itself.
package worktree

import (
	"cmp"
	"context"

	"coleo.dev"
	"coleo.dev/workspace"
)

// Keeper makes and removes the worktree of one arm.
type Keeper struct {
	Trees workspace.Workspaces
	Arm   string // the arm's id
	// Tell appends an event about the worktree. It returns no error, because the worktree's own record is
	// the authority, and the event is only a notice.
	Tell func(ctx context.Context, kind coleo.EventKind, payload any)
	// WorksIn returns the name of another arm that works in a folder, or "".
	WorksIn func(folder string) string
}

// Take gives the arm a git worktree if the configuration asks for one, or a clone if the arm has a
// sandbox. It then sets the arm's work folder to a folder in the worktree. An arm that is started again
// keeps its worktree.
func (k Keeper) Take(ctx context.Context, c *coleo.SpawnConfig, name string) error {
	if c.Worktree == nil {
		return nil
	}
	from, id := cmp.Or(c.Worktree.From, c.Workdir), k.Arm
	_, known, _ := k.Trees.Of(id)
	if !known {
		made := coleo.WorkspaceChange{Status: string(workspace.Making), Branch: c.Worktree.Branch}
		k.Tell(ctx, coleo.EventWorkspaceChanged, made)
	}
	trees := k.Trees
	trees.Tell = func(w workspace.Workspace, s workspace.Status) {
		k.Tell(ctx, coleo.EventWorkspaceChanged, coleo.WorkspaceChange{Status: string(s), Path: w.Path,
			Branch: w.Branch})
	}
	w, err := trees.Make(ctx, workspace.Order{ID: id, Name: name, Folder: from, Branch: c.Worktree.Branch,
		Base: c.Worktree.Base, NoSetup: c.Worktree.NoSetup, Clone: c.Sandbox.On()})
	if err != nil {
		k.Tell(ctx, coleo.EventWorkspaceError, coleo.Note{Text: err.Error()})
		return err
	}
	if known {
		w.Notes = nil // the notes were reported when the worktree was made
	}
	c.Worktree = &coleo.Worktree{Branch: w.Branch, Path: w.Path, From: from, NoSetup: c.Worktree.NoSetup, Clone: w.Clone,
		Notes: w.Notes}
	c.Workdir = w.Workdir()
	if c.Sandbox.On() { // git in the sandbox needs all of the clone
		box := *c.Sandbox
		box.Folder = w.Path
		c.Sandbox = &box
	}
	k.Tell(ctx, coleo.EventWorkspaceReady, coleo.WorkspaceChange{Status: string(w.Status), Path: w.Path,
		Branch: w.Branch, Commit: w.Start, Notes: w.Notes})
	return nil
}

// Remove removes the arm's git worktree, if it has one. It returns EConflict if another arm
// works in the worktree. It also returns EConflict if there is unsaved work and force is false. If
// force is true, Remove keeps the unsaved work under a ref, and returns the ref.
func (k Keeper) Remove(ctx context.Context, force bool) (kept string, err error) {
	w, known, err := k.Trees.Of(k.Arm)
	if !known || err != nil {
		return "", err
	}
	if other := k.WorksIn(w.Path); other != "" {
		return "", coleo.Errorf(coleo.EConflict, "arm %s works in the worktree of arm %s: kill and remove it first",
			other, w.Name)
	}
	done, err := k.Trees.Remove(ctx, k.Arm, force)
	if err != nil {
		k.Tell(ctx, coleo.EventWorkspaceError, coleo.Note{Text: err.Error()})
		return "", err
	}
	k.Tell(ctx, coleo.EventWorkspaceChanged, coleo.WorkspaceChange{Status: "removed", Path: w.Path,
		Branch: w.Branch, Kept: done.Kept})
	return done.Kept, nil
}
