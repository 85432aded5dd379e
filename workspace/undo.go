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

// undo removes a worktree in which nobody has worked yet. If the arm has had it before, its record stays.
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
			_, _ = r.Output(ctx, "update-ref", "-d", w.ref(), w.Start) // it has moved if this fails
		}
	}
	return s.end(w)
}

// delete deletes the worktree's folder and its git folder. It leaves the folder alone if the folder
// is not the worktree's, or is the clone of another arm. It first renames the folder. So after a kill,
// a later call recognizes the rest of the folder.
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
		os.Remove(w.Top) // this works only if the folder is empty, so after the last worktree
	}
	return nil
}

// checkNoLink returns EConflict if a link is in place of the worktree's folder, or of the folder above the
// worktrees of several repositories. The link can lead to another repository of the user. A removal would
// delete the .git there, and nothing would have kept it.
func checkNoLink(w Workspace) error {
	for _, folder := range []string{w.Top, w.Path} {
		if info, err := os.Lstat(folder); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return coleo.Errorf(coleo.EConflict, "%s is a link, and no longer the folder that Coleo has made for arm %s: nothing "+
				"was done; put the folder back, or delete the link", folder, w.Name)
		}
	}
	return nil
}
