package brain

import (
	"context"
	"errors"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
	"coleo.dev/timelimit"
	"coleo.dev/wire"
)

// The functions in this file remove an arm permanently, first on the arm's host, and then from serve's
// database.

// Remove deletes a stopped arm and its files, including the journal and the queue. It returns the number of
// prompts that were in the queue.
//
// Remove returns ENotFound if there is no such arm, and EConflict if the arm is not stopped. `force` decides what
// happens if the arm's worktree contains unsaved work. If `force` is false, Remove returns EConflict. If `force`
// is true, Remove keeps the unsaved work under a git ref. Remove returns EUnavailable if the host agent cannot be
// asked.
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
		err := b.askAboutArm(ctx, arm, bus.OpRemove, timelimit.Remove, bus.ArmOrder{Arm: arm.ID, Force: force}, &gone)
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

// forget deletes an arm's row from the store. If the disk is full, forget first frees the reserve file, which
// keeps some room for this case.
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
