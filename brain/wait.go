package brain

import (
	"context"
	"slices"

	"coleo.dev"
	"coleo.dev/store"
)

// WaitArm waits until the arm is in one of the states. Then it returns the arm. If the
// state is waiting_approval, WaitArm also waits for the dialog. WaitArm returns
// ENotFound if the arm does not exist or is removed. It returns ETimeout if ctx ends.
// It returns EExited if the arm stops in a state that is not in states.
func (b *Brain) WaitArm(ctx context.Context, idOrName string, states []coleo.State) (coleo.Arm, error) {
	news := b.news(ctx) // subscribes before the first look, so that nothing is missed
	arm, err := b.Arm(ctx, idOrName)
	if err != nil {
		return arm, err
	}
	reached := func() bool {
		return slices.Contains(states, arm.State) && (arm.State != coleo.WaitingApproval || arm.Dialog != nil)
	}
	if reached() {
		return arm, nil
	}
	if arm.Status == coleo.StatusStopped {
		return arm, stopped(arm)
	}
	for u := range news {
		if u.Removed == arm.ID {
			return arm, coleo.Errorf(coleo.ENotFound, "arm %s has been removed", arm.Name)
		}
		if u.Arm == nil || u.Arm.ID != arm.ID {
			continue
		}
		if arm = *u.Arm; reached() {
			return arm, nil
		}
		if arm.Status == coleo.StatusStopped {
			return arm, stopped(arm)
		}
	}
	if ctx.Err() == nil {
		return b.WaitArm(ctx, idOrName, states) // this subscriber was too slow and was cut off, so subscribe again
	}
	return arm, coleo.Errorf(coleo.ETimeout, "arm %s is still %s", arm.Name, arm.State)
}

func stopped(arm coleo.Arm) error {
	return coleo.Errorf(coleo.EExited, "arm %s has stopped: %s; 'coleo arm recover %s' starts it again",
		arm.Name, arm.Rule, arm.Name)
}

// WaitRun waits until a run has ended. Then it returns the end of the run. It returns
// ETimeout if ctx ends first. It returns ENotFound if there is no such run.
func (b *Brain) WaitRun(ctx context.Context, run string) (coleo.RunEnd, error) {
	news := b.news(ctx)
	ends, _, err := b.DB.RunEvents(ctx, store.EventFilter{Run: run, Kind: coleo.EventRunEnd, Limit: 1})
	if err != nil {
		return coleo.RunEnd{}, err
	}
	if len(ends) > 0 {
		return coleo.DecodeRunEnd(ends[0])
	}
	events, _, err := b.DB.RunEvents(ctx, store.EventFilter{Run: run, Limit: 1})
	if err != nil {
		return coleo.RunEnd{}, err
	}
	if len(events) == 0 {
		return coleo.RunEnd{}, coleo.Errorf(coleo.ENotFound, "no run %q", run)
	}
	for u := range news {
		if u.Event != nil && u.Event.Run == run && u.Event.Kind == coleo.EventRunEnd {
			return coleo.DecodeRunEnd(*u.Event)
		}
	}
	if ctx.Err() == nil {
		return b.WaitRun(ctx, run)
	}
	return coleo.RunEnd{}, coleo.Errorf(coleo.ETimeout, "the run has not ended yet")
}
