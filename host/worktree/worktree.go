// Package worktree gives an arm a git worktree and removes it again. It writes an event each time.
// Package workspace creates and removes the worktree itself.
package worktree

import (
	"cmp"
	"context"

	"coleo.dev"
	"coleo.dev/workspace"
)

// Keeper creates and removes the worktree of one arm.
type Keeper struct {
	Trees workspace.Workspaces
	Arm   string // the arm's id
	// Tell appends an event about the worktree. It returns no error, because nothing depends on the
	// event: the worktree's own record says which worktree exists.
	Tell func(ctx context.Context, kind coleo.EventKind, payload any)
	// WorksIn returns the name of another arm that works in a folder, or "".
	WorksIn func(folder string) string
	// MakeRoom makes room for a removal on a full disk. It returns false if the disk is not full, or if it can make no
	// more room.
	MakeRoom func() bool
}

// Take gives the arm a git worktree if the configuration asks for one, or a clone if the arm has a
// sandbox. It sets the arm's work folder to a folder in the worktree. An arm that is started again
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
		Base: c.Worktree.Base, NoSetup: c.Worktree.NoSetup, Clone: c.Sandbox.On(),
		With: c.Worktree.With})
	if err != nil {
		k.Tell(ctx, coleo.EventWorkspaceError, coleo.Note{Text: err.Error()})
		return err
	}
	all, err := k.Trees.Group(id)
	if err != nil {
		return err
	}
	var notes []string
	if !known { // the notes about a known worktree were reported when it was created
		notes = notesOf(all)
	}
	c.Worktree = &coleo.Worktree{Branch: w.Branch, Path: cmp.Or(w.Top, w.Path), From: from, NoSetup: c.Worktree.NoSetup,
		Clone: w.Clone, With: c.Worktree.With, Notes: notes}
	c.Workdir = w.Workdir()
	if c.Sandbox.On() { // the sandbox contains the whole clone, because git needs all of it
		box := *c.Sandbox
		box.Folder = c.Worktree.Path
		c.Sandbox = &box
	}
	for _, one := range all {
		ready := coleo.WorkspaceChange{Status: string(one.Status), Path: one.Path, Branch: one.Branch, Commit: one.Start}
		if !known {
			ready.Notes = one.Notes
		}
		k.Tell(ctx, coleo.EventWorkspaceReady, ready)
	}
	return nil
}

// notesOf returns the notes about all worktrees of an arm. If there are several, each note names its
// repository.
func notesOf(all []workspace.Workspace) (notes []string) {
	for _, w := range all {
		for _, note := range w.Notes {
			if w.Repo != "" {
				note = w.Repo + ": " + note
			}
			notes = append(notes, note)
		}
	}
	return notes
}

// Remove removes the arm's git worktrees, if it has any. It returns EConflict if another arm works
// in one of them, or if there is unsaved work and `force` is false. If `force` is true, it keeps
// unsaved work under a ref of each repository, and returns the refs.
func (k Keeper) Remove(ctx context.Context, force bool) (done workspace.Removal, err error) {
	all, err := k.Trees.Group(k.Arm)
	if len(all) == 0 || err != nil {
		return done, err
	}
	if other := k.WorksIn(cmp.Or(all[0].Top, all[0].Path)); other != "" {
		return done, coleo.Errorf(coleo.EConflict, "arm %s works in the worktree of arm %s: kill and remove it first",
			other, all[0].Name)
	}
	done, err = k.Trees.Remove(ctx, k.Arm, force)
	for err != nil && k.MakeRoom() {
		done, err = k.Trees.Remove(ctx, k.Arm, force)
	}
	if err != nil {
		k.Tell(ctx, coleo.EventWorkspaceError, coleo.Note{Text: err.Error()})
		return done, err
	}
	for _, one := range append([]workspace.Removal{done}, done.With...) {
		k.Tell(ctx, coleo.EventWorkspaceChanged, coleo.WorkspaceChange{Status: "removed", Path: one.Workspace.Path,
			Branch: one.Workspace.Branch, Kept: one.Kept})
	}
	return done, nil
}
