package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// undo removes a worktree in which nobody has worked yet. If the arm has had the worktree before, undo
// keeps the record.
func (s Workspaces) undo(ctx context.Context, w Workspace) error {
	if err := errors.Join(s.endScript(w), s.delete(w)); err != nil {
		return err
	}
	if w.MadeBranch {
		r, err := s.openCommon(ctx, w.Common)
		if err != nil {
			return err
		}
		defer r.Close()
		said, err := r.Output(ctx, "log", "-g", "-1", "--format=%gs", w.ref(), "--")
		if err == nil && strings.TrimSpace(string(said)) == madeMessage(w) {
			// If this fails, the branch has moved and must stay.
			_, _ = r.Output(ctx, "update-ref", "--no-deref", "-d", w.ref(), w.Start)
		}
	}
	return s.end(w)
}

// delete deletes the worktree's folder and git folder. It leaves a folder alone that does not belong to the worktree,
// or that is the clone of another arm. It renames the folder first, so that after a kill a later call recognizes the
// remains.
func (s Workspaces) delete(w Workspace) error {
	if isOthers(w) {
		return nil
	}
	at := git.Worktree{Path: w.Path, Git: w.Git}
	trash := filepath.Join(filepath.Dir(w.Path), ".coleo-removed-"+w.ID)
	entries, err := os.ReadDir(w.Path)
	if err == nil && (len(entries) == 0 || !at.Gone()) {
		if err := errors.Join(deleteAll(trash), os.Rename(w.Path, trash)); err != nil {
			return fmt.Errorf("delete the worktree %s: %w", w.Path, err)
		}
	}
	if err := deleteAll(trash); err != nil {
		return fmt.Errorf("delete the worktree %s: %w", w.Path, err)
	}
	if err := os.RemoveAll(w.Git); err != nil {
		return fmt.Errorf("delete the worktree's git folder: %w", err)
	}
	if w.Top != "" {
		os.Remove(w.Top) // os.Remove removes only an empty folder, so it succeeds after the last worktree
	}
	return nil
}

// checkNoLink returns EConflict if the worktree's folder, or the folder above the worktrees of several
// repositories, was replaced by a symbolic link. The link can lead to another repository of the user, and
// a removal would delete the .git there without keeping it.
func checkNoLink(w Workspace) error {
	for _, folder := range []string{w.Top, w.Path} {
		if info, err := os.Lstat(folder); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return coleo.Errorf(coleo.EConflict, "%s is a link, and no longer the folder that Coleo has made for arm %s: "+
				"nothing was done; put the folder back, or delete the link", folder, w.Name)
		}
	}
	return nil
}
