package host

import (
	"context"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
	"coleo.dev/bus"
	"coleo.dev/holder"
	"coleo.dev/holder/process"
)

// permitAnswer bounds how long serve waits for the holders to get a permit. A working
// holder replies within milliseconds. Serve itself gives up after 2.5 s.
const permitAnswer = time.Second

// permit passes a permit from serve to the holders of the arms that need the permit. It
// passes the permit to all holders at the same time, because otherwise a slow holder
// could let the permits of other arms expire. After at most permitAnswer, permit
// returns the clock for the next order. If a holder has not replied by that time, the
// attempt continues in the background. permit logs each failure.
func (h *Host) permit(_ context.Context, o bus.PermitOrder) (any, error) {
	now := boottime.Now()
	var passing sync.WaitGroup
	for _, of := range o.Arms {
		a, err := h.arm(of.Arm)
		if err != nil || o.Clock != h.instance {
			continue // the order was for an earlier process of this host agent
		}
		passing.Go(func() {
			if err := a.permit(of.Generation, o); err != nil {
				h.Log.Warn("permit keys", "arm", a.name(), "error", err)
			}
		})
	}
	passed := make(chan struct{})
	go func() { defer close(passed); passing.Wait() }()
	select {
	case <-passed:
	case <-time.After(permitAnswer):
	}
	return bus.Clock{ID: h.instance, Now: now}, nil
}

// permit lets the arm's holder accept keys until the time o.Until. If generation is not
// the arm's present generation, permit does nothing.
func (a *arm) permit(generation int, o bus.PermitOrder) error {
	a.mu.Lock()
	record := a.record
	a.mu.Unlock()
	if record.Generation != generation || record.Handle == nil || record.Spec.OnPartition != coleo.PartitionFreeze {
		return nil
	}
	if process.Look(record.Handle.Holder) == process.Stopped {
		return nil // the holder cannot reply, and accepts no keys
	}
	client, err := holder.Dial(record.Handle.Dir, record.Handle.Nonce)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Permit(o.Until); err != nil {
		return err
	}
	a.permitted() // a prompt of the queue may have waited for the permit
	return nil
}
