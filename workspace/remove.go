package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
)

// Removal is the result of Remove.
type Removal struct {
	Workspace Workspace `json:"workspace"`
	// Kept is the ref that contains everything from the worktree. It is "" if nothing had to be kept.
	Kept string `json:"kept,omitempty"`
	// BranchDeleted means that Coleo has deleted the branch. It does so only if it has made the branch and
	// nobody has committed on it.
	BranchDeleted bool `json:"branch_deleted,omitempty"`
	// With contains the removals of the arm's worktrees in further repositories.
	With []Removal `json:"with,omitempty"`
	// Stays is the folder above the worktrees of several repositories, if it contains other files and so was
	// not removed. Otherwise it is "".
	Stays string `json:"stays,omitempty"`
}

// Check returns EConflict if Remove without force would refuse. The error describes what is unsaved. Check
// returns nil if the arm has no worktree.
func (s Workspaces) Check(ctx context.Context, id string) error {
	all, err := s.Group(id)
	if err != nil {
		return err
	}
	_, refusal, err := s.unsavedIn(ctx, all)
	if err != nil {
		return err
	}
	return refusal
}

func (u Unsaved) refuse(w Workspace) error {
	if u.Empty() {
		return nil
	}
	return coleo.Errorf(coleo.EConflict, "the worktree of arm %s at %s has %s: nothing was removed; "+
		"commit and push it, or --force keeps it under %s%s", w.Name, w.Path, u, keptRefs, w.Name)
}

// Remove removes all worktrees of the arm with the given id. If something in them is unsaved, Remove without
// force returns EConflict and removes nothing. With force, it first keeps everything under a ref of each
// repository. It deletes a branch only if Coleo has made it and nobody has committed on it. Nobody may work in
// the worktrees during the call. If the arm has no worktree, Remove does nothing.
//
// The id can also be that of a single worktree. A caller needs this if the record of an arm's first
// worktree is missing.
func (s Workspaces) Remove(ctx context.Context, id string, force bool) (Removal, error) {
	owner := id
	w, err := s.read(id)
	if err == nil {
		owner = w.ArmID()
	}
	s, unlock, err := s.lock(ctx, owner)
	if err != nil {
		return Removal{}, err
	}
	defer unlock()
	all, err := s.settleWorktrees(ctx, id)
	if err != nil || len(all) == 0 {
		return Removal{Workspace: w}, err
	}
	return s.removeAll(ctx, all, force)
}

// clear removes what is left of a worktree whose folder somebody has deleted. It first keeps unsaved work
// under a ref. It keeps the record, because the worktree will be made again. The caller must hold the lock.
func (s Workspaces) clear(ctx context.Context, w Workspace) error {
	w.Again = true
	_, err := s.removeAll(ctx, []Workspace{w}, true)
	return err
}

// takeAway removes a worktree whose contents are saved elsewhere.
func (s Workspaces) takeAway(ctx context.Context, w Workspace, out Removal) (Removal, error) {
	if err := giveBackLink(w); err != nil {
		return out, err
	}
	w.Status = Removing
	if err := s.write(w); err != nil {
		return out, err
	}
	var err error
	out.BranchDeleted, err = s.finish(ctx, w)
	return out, err
}

// giveBackLink restores the worktree's own file .git, which an arm may have replaced. Without it, Workspaces.delete
// would not recognize the worktree's folder. The arm's .git is deleted, but the kept ref contains it.
func giveBackLink(w Workspace) error {
	at := git.Worktree{Path: w.Path, Git: w.Git}
	if w.Clone || !exists(w.Path) || !at.Gone() {
		return nil
	}
	return errors.Join(deleteAll(filepath.Join(w.Path, ".git")), at.WriteLink())
}

// finish completes the removal of a worktree whose contents are saved elsewhere.
func (s Workspaces) finish(ctx context.Context, w Workspace) (branchDeleted bool, err error) {
	if err := s.delete(w); err != nil {
		return false, err
	}
	if w.MadeBranch && exists(w.Common) {
		r, err := s.openCommon(ctx, w.Common)
		if err != nil {
			return false, err
		}
		defer r.Close()
		if checkFree(r, w.ref()) == nil {
			_, err = r.Output(ctx, "update-ref", "--no-deref", "-d", w.ref(), w.Start)
			branchDeleted = err == nil // git does not delete the branch if it has new commits
		}
	}
	return branchDeleted, s.end(w)
}

// mend completes or undoes an interrupted creation, removal or restoration of a worktree.
func (s Workspaces) mend(ctx context.Context, w Workspace) error {
	switch w.Status {
	case Making:
		whole, err := s.isWhole(w)
		if err != nil {
			return err
		}
		if whole {
			w.Status, w.Again = Ready, false
			return s.write(w)
		}
		return s.undo(ctx, w)
	case Removing:
		_, err := s.finish(ctx, w)
		return err
	case Restoring:
		if err := s.delete(w); err != nil {
			return err
		}
		return s.end(w)
	case Ready, SettingUp:
	}
	return nil
}

// Pruned describes what Prune has done with a worktree.
type Pruned struct {
	Workspace Workspace `json:"workspace"`
	Mended    bool      `json:"mended,omitempty"` // Prune has completed or undone an interrupted change
	Removed   bool      `json:"removed,omitempty"`
	Kept      string    `json:"kept,omitempty"`
	Left      string    `json:"left,omitempty"` // why Prune has not removed the worktree; "" if it has removed it
}

// scratchAge is how old a temporary file of git must be before Prune deletes it. None of Coleo's git processes
// runs that long.
const scratchAge = 24 * time.Hour

// Prune completes or undoes interrupted calls, and removes unused worktrees that have no unsaved work. A worktree is
// used if `inUse` returns true: its own arm exists, or another arm works in it. If Prune cannot read some records, it
// handles the others and returns an error.
func (s Workspaces) Prune(ctx context.Context, inUse func(Workspace) bool) ([]Pruned, error) {
	s.pruneScratch()
	s.pruneOutputs()
	all, unread := s.List()
	var out []Pruned
	for _, w := range all {
		p, err := Pruned{Workspace: w}, error(nil)
		switch {
		case w.Status != Ready:
			p.Mended, err = s.mendLocked(ctx, w)
		case inUse(w), !exists(s.recordPath(w.ID)), w.Arm != "" && exists(s.recordPath(w.Arm)):
			// Skip a worktree that is in use. Also skip a further worktree of an arm: Prune removes it together with
			// the arm's first worktree, and may have done so already.
			continue
		default:
			var done Removal
			done, err = s.Remove(ctx, w.ID, false)
			p.Removed, p.Kept = err == nil, done.Kept
		}
		if err != nil {
			p.Left = err.Error()
		}
		out = append(out, p)
	}
	return out, unread
}

// mendLocked mends a worktree, unless another process has made it ready or removed it in the meantime. It
// reports whether it has called mend.
func (s Workspaces) mendLocked(ctx context.Context, w Workspace) (mended bool, err error) {
	s, unlock, err := s.lock(ctx, w.ArmID())
	if err != nil {
		return false, err
	}
	defer unlock()
	w, err = s.read(w.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // the worktree was removed together with another worktree of the arm
	}
	if err != nil || w.Status == Ready {
		return false, err
	}
	return true, s.mend(ctx, w)
}

// pruneScratch deletes the temporary files that killed processes have left.
func (s Workspaces) pruneScratch() {
	entries, _ := os.ReadDir(s.scratch())
	for _, e := range entries {
		if info, err := e.Info(); err == nil && s.Now().Sub(info.ModTime()) > scratchAge {
			os.RemoveAll(filepath.Join(s.scratch(), e.Name()))
		}
	}
}
