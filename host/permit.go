package host

import (
	"context"

	"coleo.dev"
	"coleo.dev/boottime"
	"coleo.dev/bus"
	"coleo.dev/holder"
)

// permit passes serve's word on to the holders of arms that need it. It returns
// the clock of the next order.
func (h *Host) permit(_ context.Context, o bus.PermitOrder) (any, error) {
	now := boottime.Now()
	for _, of := range o.Arms {
		a, err := h.arm(of.Arm)
		if err != nil || o.Clock != h.instance {
			continue // an order to an earlier run of this host agent
		}
		if err := a.permit(of.Generation, o); err != nil {
			h.Log.Warn("permit keys", "arm", a.name(), "error", err)
		}
	}
	return bus.Clock{ID: h.instance, Now: now}, nil
}

// permit lets the arm's holder take keys, if the arm's present start is the one
// that is meant.
func (a *arm) permit(generation int, o bus.PermitOrder) error {
	a.mu.Lock()
	record := a.record
	a.mu.Unlock()
	if record.Generation != generation || record.Handle == nil || record.Spec.OnPartition != coleo.PartitionFreeze {
		return nil
	}
	client, err := holder.Dial(record.Handle.Dir, record.Handle.Nonce)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Permit(o.Until)
}
