package brain

import (
	"context"

	"coleo.dev"
	"coleo.dev/bus"
)

// Rename changes the name of an arm, first on the arm's host and then in the store. If
// Rename is interrupted between these steps, the caller can call it again. The host
// accepts a name that the arm already has.
//
// Rename returns ENotFound if there is no such arm. It returns EInvalid for a bad name.
// It returns EConflict if another arm has the name. After each of these errors, the arm
// has its old name. Rename returns EUnavailable or ETimeout if the host agent did not
// reply. In that case the arm has either the old name or the new name.
func (b *Brain) Rename(ctx context.Context, idOrName, name string) (coleo.Arm, error) {
	if err := coleo.CheckName(name); err != nil {
		return coleo.Arm{}, err
	}
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return arm, err
	}
	switch other, err := b.DB.Arm(ctx, name); {
	case err == nil && other.ID != arm.ID:
		return arm, coleo.Errorf(coleo.EConflict, "an arm called %q already exists: nothing was renamed", name)
	case err != nil && coleo.ErrorCode(err) != coleo.ENotFound:
		return arm, err
	}
	if arm.AgentID != "" {
		order := bus.RenameOrder{Arm: arm.ID, Name: name}
		if err := b.ask(ctx, arm, bus.OpRename, bus.DefaultTimeout, order, nil); err != nil {
			return arm, err
		}
	}
	if _, err := b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		row.Name = name
		return nil
	}); err != nil {
		return arm, err
	}
	b.publishArm(ctx, arm.ID)
	return b.Arm(ctx, arm.ID)
}
