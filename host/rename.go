package host

import (
	"context"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// rename changes the name of an arm, in host.db and in the arm's folder.
func (h *Host) rename(ctx context.Context, o bus.RenameOrder) (any, error) {
	if err := coleo.CheckName(o.Name); err != nil {
		return nil, err
	}
	a, err := h.arm(o.Arm)
	if err != nil {
		return nil, err
	}
	if other, err := h.arm(o.Name); err == nil && other != a {
		return nil, coleo.Errorf(coleo.EConflict,
			"an arm called %q is on this host already: nothing was renamed", o.Name)
	}
	old := a.name()
	err = a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Name = o.Name
		return nil
	})
	if err != nil {
		a.mu.Lock()
		a.record.Name = old // the database does not have the new name
		a.mu.Unlock()
		return nil, err
	}
	a.fileOrLog()
	return nil, nil
}
