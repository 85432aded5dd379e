package brain

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
	"coleo.dev/wire"
)

// This file removes an arm for good: first on its host, then everything that serve stores about it.

// removeTimeout is the time limit for the removal of an arm. The arm's worktree can contain
// much work that must be kept.
const removeTimeout = 10 * time.Minute

// Remove deletes a stopped arm and its files, including the journal and the queue. It returns how
// many prompts were in the queue. It returns ENotFound if there is no such arm. It returns
// EConflict if the arm is not stopped. It also returns EConflict if the arm's worktree contains
// unsaved work and force is false. If force is true, Remove keeps the unsaved work under a git ref.
// It returns EUnavailable if the host agent cannot be asked.
func (b *Brain) Remove(ctx context.Context, idOrName string, force bool) (wire.Removed, error) {
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return wire.Removed{}, err
	}
	end, err := b.beginRemoval(arm)
	if err != nil {
		return wire.Removed{}, err
	}
	defer end()
	if arm, err = b.Arm(ctx, arm.ID); err != nil {
		return wire.Removed{}, err
	}
	if !b.isOver(ctx, arm) {
		return wire.Removed{}, coleo.Errorf(coleo.EConflict, "arm %s is %s: kill it first", arm.Name, arm.Status)
	}
	var gone bus.Removed
	if arm.AgentID != "" {
		err := b.askAboutArm(ctx, arm, bus.OpRemove, removeTimeout, bus.ArmOrder{Arm: arm.ID, Force: force}, &gone)
		if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
			return wire.Removed{}, err
		}
		b.roster.CatchUp(ctx, arm.AgentID)
	}
	if err := b.forget(ctx, arm.ID); err != nil {
		return wire.Removed{}, err
	}
	b.PublishRemoved(arm.ID)
	removed := wire.Removed{Dropped: gone.Dropped, Kept: gone.Kept, KeptToo: gone.KeptToo, Stays: gone.Stays}
	return removed, errors.Join(b.DB.SetSetting(ctx, generationKey(arm.ID), ""), b.ForgetMemo(ctx, arm.ID),
		b.ForgetComments(ctx, arm.ID))
}

// forget deletes an arm's row from the store. If the disk is full, forget uses the
// reserve file.
func (b *Brain) forget(ctx context.Context, id string) error {
	err := b.DB.DeleteArm(ctx, id)
	for store.NoRoom(err) && b.DB.GiveUpReserve() {
		err = b.DB.DeleteArm(ctx, id)
	}
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return nil
	}
	return err
}
